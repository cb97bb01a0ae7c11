#include "apps/iperf/iperf2_udp_send.h"

#include <stdlib.h>
#include <string.h>

#include "apps/iperf/burst.h"
#include "apps/iperf/iperf2_server.h"
#include "apps/iperf/payload.h"
#include "apps/iperf/service.h"
#include "apps/iperf/ticker.h"
#include "port/clock.h"

enum {
    LEN_DEFAULT_V4 = 1470, /* as iperf's own: one MTU frame with room for options */
    LEN_DEFAULT_V6 = 1450,
    SENDERS_MAX = 128,    /* at once: a client's -P, and no more for an amplifier */
    BATCH_MAX = 256,      /* datagrams a tick, of all: nobody else waits longer than these take */
    RETRY_US = 1000,      /* after a full transmit ring */
    LATE_MAX_US = 100000, /* what is later than this isn't made up for */
    FIN_TRIES = 40,
    FIN_GAP_US = 50000,
    LINGER_US = 1000000,
    FIN_COPIES = 3, /* where no report comes back to tell that it was lost */
};

struct udp_sender {
    struct udp_pcb *pcb;
    ip_addr_t local, peer;
    uint16_t port;
    bool back; /* the pcb is ours, and a report is due */
    struct iperf2_request req;
    struct ticker ticker;
    void (*done)(void *arg);
    void *arg;
    size_t len;
    uint64_t start_us, end_us; /* by clock_now_us(); end 0: by amount */
    uint64_t due_ns;           /* when the next datagram is due, from start_us */
    uint64_t gap_ns;
    int64_t id;
    uint64_t sent_bytes;
    unsigned fin_sent;
    uint64_t random;
    uint32_t burst_id, burst_size, burst_left;
    struct iperf2_udp_header header;
};

static void run(void *arg);

static unsigned active; /* senders that there are */

static size_t datagram_len(const struct iperf2_request *req, const ip_addr_t *peer)
{
    const size_t len = req->buf_len     ? req->buf_len
                       : IP_IS_V6(peer) ? LEN_DEFAULT_V6
                                        : LEN_DEFAULT_V4;
    return size_max(len, sizeof(struct iperf2_datagram));
}

/* Add `len` bytes of payload behind the header, by reference. */
static bool chain_payload(struct pbuf *head, size_t len)
{
    for (uint64_t pos = 0; len > 0;) {
        size_t piece;
        const uint8_t *bytes = payload_at(pos, &piece);
        piece = size_min(piece, len);
        struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)piece, PBUF_ROM);
        if (!p)
            return false;
        p->payload = (void *)(uintptr_t)bytes;
        pbuf_cat(head, p);
        pos += piece;
        len -= piece;
    }
    return true;
}

/* Returns false when it could not go out now; nothing has changed then. */
static bool send_datagram(struct udp_sender *s, int64_t id, size_t len)
{
    const size_t head_len = size_min(len, sizeof(s->header));
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, (u16_t)head_len, PBUF_RAM);
    if (!p)
        return false;
    iperf2_datagram_put(&s->header.datagram, id, clock_wall_us());
    memcpy(p->payload, &s->header, head_len);
    struct netif *netif = ip_route(&s->local, &s->peer);
    const bool sent = chain_payload(p, len - head_len) && netif &&
                      udp_sendto_if_src(s->pcb, p, &s->peer, s->port, netif, &s->local) == ERR_OK;
    pbuf_free(p);
    if (sent)
        s->sent_bytes += len;
    return sent;
}

static void sender_free(struct udp_sender *s)
{
    ticker_stop(&s->ticker);
    if (s->back)
        udp_remove(s->pcb);
    active--;
    free(s);
}

static void log_sent(const struct udp_sender *s)
{
    char peer[SERVICE_ADDR_TEXT_MAX];
    service_addr_text(peer, &s->peer, s->port);
    const uint64_t now_us = clock_now_us();
    const uint64_t end_us = s->end_us && s->end_us < now_us ? s->end_us : now_us;
    iperf2_log_sent_datagrams(peer, s->sent_bytes, end_us - s->start_us);
}

static void sender_end(struct udp_sender *s)
{
    void (*done)(void *) = s->done;
    void *arg = s->arg;
    log_sent(s);
    sender_free(s);
    if (done)
        done(arg);
}

static bool over(const struct udp_sender *s, uint64_t now_us)
{
    return s->end_us ? now_us >= s->end_us : s->sent_bytes >= s->req.amount_bytes;
}

/* The end marker: the next id, negative; the same one again where only a copy could be lost. */
static void send_fin(struct udp_sender *s)
{
    const unsigned tries = s->back && !s->req.no_udp_fin   ? FIN_TRIES
                           : s->req.mode == IPERF2_REVERSE ? FIN_COPIES
                                                           : 1;
    if (s->fin_sent >= tries) {
        sender_end(s);
        return;
    }
    const int64_t further = s->back ? (int64_t)s->fin_sent : 0;
    send_datagram(s, -(s->id + further), s->len);
    s->fin_sent++;
    ticker_at(&s->ticker, clock_now_us() + FIN_GAP_US);
}

/* The isoch fields lie four bytes earlier for clients before 2.2. */
static void put_isoch(struct udp_sender *s)
{
    const struct iperf2_isoch isoch = {
        .period_us = be32_make(s->req.burst_period_us),
        .start_sec = s->header.start.sec,
        .start_usec = s->header.start.usec,
        .prev_frame = be32_make(s->burst_id - 1),
        .frame = be32_make(s->burst_id),
        .size = be32_make(s->burst_size),
        .remaining = be32_make(s->burst_left),
    };
    uint8_t *at = (uint8_t *)&s->header.isoch;
    memcpy(s->req.short_ext ? at - sizeof(be32) : at, &isoch, sizeof(isoch));
}

/* Length of the next datagram; opens the next burst. */
static size_t next_len(struct udp_sender *s)
{
    if (s->req.pacing == IPERF2_STREAM)
        return s->len;
    const uint32_t least = (uint32_t)offsetof(struct iperf2_udp_header, start);
    if (s->burst_left == 0) {
        s->burst_size = s->burst_left = burst_size(&s->req, least, burst_random(&s->random));
        s->burst_id++;
    }
    put_isoch(s);
    return size_min(s->len, s->burst_left);
}

static void sent_one(struct udp_sender *s, size_t len)
{
    s->id++;
    if (s->req.pacing == IPERF2_STREAM) {
        s->due_ns += s->gap_ns;
        return;
    }
    s->burst_left -= (uint32_t)len;
    const uint32_t least = (uint32_t)offsetof(struct iperf2_udp_header, start);
    if (s->burst_left == 0)
        s->due_ns += (uint64_t)s->req.burst_period_us * 1000;
    else if (s->burst_left < least)
        s->burst_left = least; /* the last datagram must hold the isoch fields, as iperf does it */
}

static void run(void *arg)
{
    struct udp_sender *s = arg;
    const uint64_t now_us = clock_now_us();
    if (over(s, now_us)) {
        send_fin(s);
        return;
    }
    const uint64_t now_ns = (now_us - s->start_us) * 1000;
    const uint64_t late_ns = (uint64_t)LATE_MAX_US * 1000;
    if (now_ns > s->due_ns + late_ns)
        s->due_ns = now_ns - late_ns;
    const unsigned batch = BATCH_MAX / active;
    uint64_t next_us = 0;
    for (unsigned n = 0; n < batch && s->due_ns <= now_ns && !over(s, now_us); n++) {
        const size_t len = next_len(s);
        if (!send_datagram(s, s->id, len)) {
            next_us = now_us + RETRY_US;
            break;
        }
        sent_one(s, len);
    }
    if (!next_us)
        next_us = s->start_us + s->due_ns / 1000;
    if (s->end_us && next_us > s->end_us)
        next_us = s->end_us;
    ticker_at(&s->ticker, next_us);
}

static struct udp_sender *sender_new(const ip_addr_t *local, const ip_addr_t *peer, uint16_t port,
                                     const struct iperf2_request *req)
{
    struct udp_sender *s = active < SENDERS_MAX ? calloc(1, sizeof(*s)) : NULL;
    if (!s)
        return NULL;
    active++;
    s->local = *local;
    s->peer = *peer;
    s->port = port;
    s->req = *req;
    s->len = datagram_len(req, peer);
    s->id = 1;
    if (req->rate_bit_s)
        s->gap_ns = (uint64_t)((double)s->len * 8e9 / (double)req->rate_bit_s);
    if (req->pacing != IPERF2_STREAM)
        s->len = size_max(s->len, offsetof(struct iperf2_udp_header, start));
    s->start_us = clock_now_us();
    s->end_us = req->duration_us ? s->start_us + req->duration_us : 0;
    s->random = s->start_us | 1;
    iperf2_encode_first_udp(&s->header, req, clock_wall_us());
    s->ticker.fn = run;
    s->ticker.arg = s;
    return s;
}

struct udp_sender *udp_sender_start(struct udp_pcb *pcb, const ip_addr_t *local,
                                    const ip_addr_t *peer, uint16_t port,
                                    const struct iperf2_request *req, void (*done)(void *arg),
                                    void *arg)
{
    struct udp_sender *s = sender_new(local, peer, port, req);
    if (!s)
        return NULL;
    s->pcb = pcb;
    s->done = done;
    s->arg = arg;
    ticker_at(&s->ticker, s->start_us);
    return s;
}

void udp_sender_cancel(struct udp_sender *s)
{
    if (s)
        sender_free(s);
}

static void linger_over(void *arg)
{
    sender_free(arg);
}

/*
 * The client's report: the test is over for us too. The port stays for a moment: an end marker that was repeated on
 * the report's way makes the client repeat that, and it takes an unreachable port for a failure.
 */
static void back_report(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *addr,
                        u16_t port)
{
    struct udp_sender *s = arg;
    (void)pcb;
    const bool from_client = port == s->port && ip_addr_cmp(addr, &s->peer);
    pbuf_free(p);
    if (!from_client || s->fin_sent == 0 || s->ticker.fn == linger_over)
        return;
    log_sent(s);
    s->ticker.fn = linger_over;
    ticker_at(&s->ticker, clock_now_us() + LINGER_US);
}

void udp_back_start(const ip_addr_t *local, const ip_addr_t *peer, const struct iperf2_request *req)
{
    struct udp_sender *s = sender_new(local, peer, req->back_port, req);
    struct udp_pcb *pcb = s ? udp_new_ip_type(IP_GET_TYPE(peer)) : NULL;
    if (!pcb || udp_bind(pcb, local, 0) != ERR_OK) {
        if (pcb)
            udp_remove(pcb);
        if (s)
            sender_free(s);
        iperf2_count_failed();
        return;
    }
    s->back = true;
    s->pcb = pcb;
    /* A listening client of this kind reads ids and times, and no header. */
    memset(&s->header.base, 0, sizeof(s->header) - sizeof(s->header.datagram));
    udp_recv(pcb, back_report, s);
    ticker_at(&s->ticker, s->start_us);
}
