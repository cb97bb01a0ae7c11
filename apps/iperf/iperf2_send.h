/*
 * The sending half of a TCP test: -R, --full-duplex, and the way back of -d and -r.
 *
 * Sends the payload by reference for the time or amount asked for, at a rate or as fast as it goes, cut in bursts where
 * the client wants them, and then FIN. It owns neither the pcb nor the request.
 */
#ifndef APPS_IPERF_IPERF2_SEND_H
#define APPS_IPERF_IPERF2_SEND_H

#include "apps/iperf/iperf2_wire.h"
#include "apps/iperf/ticker.h"
#include "lwip/tcp.h"

struct iperf2_sender {
    struct tcp_pcb *pcb;
    const struct iperf2_request *req;
    struct ticker ticker;
    uint64_t start_us, end_us; /* by clock_now_us(); end 0: by amount */
    uint64_t last_us;          /* of the last acknowledgement */
    uint64_t start_wall_us;
    uint64_t queued, acked; /* bytes */
    uint64_t pos;           /* in the payload */
    uint64_t burst_left;    /* bytes of the present burst */
    uint64_t next_burst_us;
    uint32_t burst_id;
    bool bursts, headed;    /* cut in bursts; the leading header is written */
    bool started, finished; /* finished: FIN is queued */
};

/*
 * Begin now, or at the client's --txstart-time. Borrows both until sender_stop(). with_header: on the
 * client's own connection, where it may expect bursts; not on the way back.
 */
void sender_start(struct iperf2_sender *s, struct tcp_pcb *pcb, const struct iperf2_request *req,
                  bool with_header);

/* From the pcb's sent callback. */
void sender_acked(struct iperf2_sender *s, size_t len);

/* Queue what may be queued; from poll callbacks too. Does nothing before start and after finish. */
void sender_fill(struct iperf2_sender *s);

/* Forget the pcb; call before freeing. A sender never started is fine. */
void sender_stop(struct iperf2_sender *s);

/* True when FIN is queued and all before it acknowledged. */
bool sender_delivered(const struct iperf2_sender *s);

#endif
