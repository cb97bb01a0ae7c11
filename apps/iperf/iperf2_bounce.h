/*
 * --bounceback: requests of one size, each answered with a reply of one size that carries its header back,
 * stamped with our times.
 */
#ifndef APPS_IPERF_IPERF2_BOUNCE_H
#define APPS_IPERF_IPERF2_BOUNCE_H

#include "apps/iperf/iperf2_wire.h"
#include "apps/iperf/ticker.h"
#include "lwip/tcp.h"

struct bounce {
    struct tcp_pcb *pcb;
    struct iperf2_bounce_request req; /* as the first request said */
    struct iperf2_bounce header;      /* of the present request, raw */
    struct ticker hold;
    uint64_t have;       /* bytes of the present request */
    uint64_t pos;        /* in the payload */
    uint64_t reply_left; /* bytes of the present reply after its header */
    uint64_t replied;    /* bytes of all replies */
    bool replying;       /* a whole request has arrived, its reply isn't all queued */
    bool begun;
};

void bounce_start(struct bounce *b, struct tcp_pcb *pcb);

/*
 * Take in received bytes. Returns 0; -EPROTO when the client isn't one that waits for its replies.
 * May queue the reply.
 */
int bounce_input(struct bounce *b, const uint8_t *bytes, size_t len);

/* Queue more of a reply; from sent and poll callbacks. */
void bounce_fill(struct bounce *b);
void bounce_stop(struct bounce *b);

#endif
