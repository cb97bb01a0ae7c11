/*
 * iperf 2 over UDP: flows, told apart by the client's address and port.
 *
 * A flow begins with the first datagram that has a positive id. It ends with an end marker, which our report answers;
 * then it stays for LINGER_S, so that every further end marker gets the same report again
 * and late datagrams don't begin a test of their own. A client that vanished is forgotten after IDLE_S; when there are
 * too many flows, the one that was silent longest makes room.
 */
#include <stdlib.h>
#include <string.h>

#include "apps/iperf/iperf2_server.h"
#include "apps/iperf/iperf2_udp_send.h"
#include "apps/iperf/service.h"
#include "apps/iperf/ticker.h"
#include "apps/iperf/udp_stats.h"
#include "lib/counters.h"
#include "lib/log.h"
#include "port/clock.h"

enum {
    BUCKETS = 64,         /* a power of two */
    FLOWS_MAX = 512,      /* of about 600 bytes */
    IDLE_S = 300,         /* -b 1k sends a datagram each 12 s; -b 100 each 2 min */
    LINGER_S = 5,         /* a client repeats its end marker for 2 s */
    RESTART_US = 1000000, /* a first datagram this much after the last is a new test, not a copy */
    SWEEP_US = 1000000,
    HEAD_BYTES = sizeof(struct iperf2_udp_header),
};

struct flow {
    struct flow *next;
    ip_addr_t peer, local;
    uint16_t port;
    bool ended;
    uint64_t heard_us; /* by clock_now_us() */
    uint64_t sent_us;  /* the newest datagram's own time */
    struct iperf2_request req;
    struct udp_stats stats;
    struct iperf2_report report; /* when ended */
    struct udp_sender *sender;
};

static struct flow *buckets[BUCKETS];
static size_t flow_count;
static struct udp_pcb *server;
static struct ticker sweeper;

static uint64_t datagrams, runts, strays;
static uint64_t read_flows(void *arg)
{
    (void)arg;
    return flow_count;
}
static struct counter counters[] = {
    {.name = "iperf_udp_datagrams_total", .help = "Datagrams on port 5001.", .value = &datagrams},
    {.name = "iperf_udp_runts_total",
     .help = "Datagrams too short for iperf 2's 16-byte header.",
     .value = &runts},
    {.name = "iperf_udp_strays_total",
     .help = "End markers and late datagrams of no running test.",
     .value = &strays},
    {.name = "iperf_udp_flows",
     .help = "UDP tests remembered now.",
     .type = COUNTER_GAUGE,
     .read = read_flows},
};

static struct flow **bucket_of(const ip_addr_t *addr, uint16_t port)
{
    const uint32_t h = IP_IS_V6(addr) ? ip_2_ip6(addr)->addr[3] ^ ip_2_ip6(addr)->addr[2]
                                      : ip4_addr_get_u32(ip_2_ip4(addr));
    return &buckets[(h ^ h >> 16 ^ h >> 24 ^ port ^ port >> 8) % BUCKETS];
}

static struct flow *flow_find(const ip_addr_t *addr, uint16_t port)
{
    struct flow *f = *bucket_of(addr, port);
    while (f && !(f->port == port && ip_addr_cmp(&f->peer, addr)))
        f = f->next;
    return f;
}

static void flow_log(const struct flow *f)
{
    char peer[SERVICE_ADDR_TEXT_MAX];
    service_addr_text(peer, &f->peer, f->port);
    if (f->stats.received > 0 && f->req.mode != IPERF2_REVERSE)
        iperf2_log_datagrams(peer, &f->stats);
}

static void flow_remove(struct flow **at)
{
    struct flow *f = *at;
    *at = f->next;
    flow_count--;
    udp_sender_cancel(f->sender);
    free(f);
}

static bool flow_expired(const struct flow *f, uint64_t now_us)
{
    const uint64_t patience_s = f->ended ? LINGER_S : IDLE_S;
    return !f->sender && now_us - f->heard_us > patience_s * 1000000;
}

static void sweep(void *arg)
{
    (void)arg;
    const uint64_t now_us = clock_now_us();
    for (size_t i = 0; i < BUCKETS; i++) {
        struct flow **at = &buckets[i];
        while (*at) {
            if (!flow_expired(*at, now_us)) {
                at = &(*at)->next;
                continue;
            }
            if (!(*at)->ended)
                flow_log(*at);
            flow_remove(at);
        }
    }
    if (flow_count > 0)
        ticker_at(&sweeper, now_us + SWEEP_US);
}

static void drop_quietest(void)
{
    struct flow **quietest = NULL;
    for (size_t i = 0; i < BUCKETS; i++)
        for (struct flow **at = &buckets[i]; *at; at = &(*at)->next)
            if (!quietest || (*at)->heard_us < (*quietest)->heard_us)
                quietest = at;
    if (quietest)
        flow_remove(quietest);
}

static struct flow *flow_new(const ip_addr_t *addr, uint16_t port)
{
    if (flow_count >= FLOWS_MAX)
        drop_quietest();
    struct flow *f = calloc(1, sizeof(*f));
    if (!f) {
        iperf2_count_failed();
        return NULL;
    }
    struct flow **bucket = bucket_of(addr, port);
    f->peer = *addr;
    f->port = port;
    f->next = *bucket;
    *bucket = f;
    flow_count++;
    if (!sweeper.armed)
        ticker_at(&sweeper, clock_now_us() + SWEEP_US);
    return f;
}

static void sender_done(void *arg)
{
    struct flow *f = arg;
    f->sender = NULL;
    f->heard_us = clock_now_us();
    if (f->req.mode == IPERF2_REVERSE)
        f->ended = true;
}

static void log_left_out(const struct flow *f)
{
    if (f->req.no_l2_check)
        log_limited(LOG_WARN, "iperf", "--l2checks isn't done here; the test goes on without");
    if (f->req.no_l4s)
        log_limited(LOG_WARN, "iperf",
                    "--udp-l4s isn't done here; the test goes on without feedback");
}

/* Begin the test that a first datagram asks for. `head` is what there is of its header. */
static void flow_begin(struct flow *f, const void *head, size_t head_len)
{
    f->ended = false;
    f->local = *ip_current_dest_addr();
    if (iperf2_decode_udp(head, head_len, &f->req))
        f->req = (struct iperf2_request){0};
    udp_stats_begin(&f->stats, clock_wall_us());
    iperf2_count_test();
    log_left_out(f);
    if (f->req.mode == IPERF2_REVERSE || f->req.mode == IPERF2_FULL_DUPLEX) {
        f->sender = udp_sender_start(server, &f->local, &f->peer, f->port, &f->req, sender_done, f);
        if (!f->sender)
            iperf2_count_failed();
    } else if (f->req.mode == IPERF2_DUALTEST) {
        udp_back_start(&f->local, &f->peer, &f->req);
    }
}

static void send_report(const struct flow *f)
{
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, sizeof(f->report), PBUF_RAM);
    if (!p)
        return; /* the client asks again */
    memcpy(p->payload, &f->report, sizeof(f->report));
    service_reply_udp(server, p, &f->peer, f->port);
    pbuf_free(p);
}

static void flow_end(struct flow *f)
{
    f->ended = true;
    udp_stats_report(&f->stats, f->req.trip_times, &f->report);
    flow_log(f);
    if (!f->req.no_udp_fin)
        send_report(f);
    if (f->req.mode == IPERF2_TRADEOFF)
        udp_back_start(&f->local, &f->peer, &f->req);
}

/* A test's first datagram on a flow that has seen one already: new test, or a copy? */
static bool begins_anew(const struct flow *f, int64_t id, uint64_t sent_us)
{
    if (id != 1 || f->sender)
        return false;
    if (f->ended && f->req.mode != IPERF2_REVERSE)
        return sent_us > f->sent_us;
    return sent_us > f->sent_us + RESTART_US;
}

static void take_datagram(struct flow *f, int64_t id, size_t len, uint64_t sent_us)
{
    if (f->ended) {
        if (id < 0 && !f->req.no_udp_fin)
            send_report(f);
        else
            strays++;
        return;
    }
    const uint64_t absolute = id < 0 ? -(uint64_t)id : (uint64_t)id;
    udp_stats_add(&f->stats, absolute, len, sent_us, clock_wall_us(), f->req.trip_times);
    if (id < 0 && f->req.mode != IPERF2_REVERSE)
        flow_end(f);
}

static void take(struct pbuf *p, const ip_addr_t *addr, u16_t port)
{
    uint8_t copy[HEAD_BYTES];
    const size_t head_len = size_min(p->tot_len, HEAD_BYTES);
    const uint8_t *head = p->payload;
    if (p->len < head_len) {
        pbuf_copy_partial(p, copy, (u16_t)head_len, 0);
        head = copy;
    }
    const int64_t id = iperf2_datagram_id(head, head_len);
    const uint64_t sent_us = iperf2_datagram_sent_us(head);

    struct flow *f = flow_find(addr, port);
    if (f && begins_anew(f, id, sent_us)) {
        if (!f->ended)
            flow_log(f);
        flow_begin(f, head, head_len);
    } else if (!f) {
        f = id > 0 ? flow_new(addr, port) : NULL;
        if (!f) {
            strays++;
            return;
        }
        flow_begin(f, head, head_len);
    }
    f->heard_us = clock_now_us();
    if (sent_us > f->sent_us)
        f->sent_us = sent_us;
    take_datagram(f, id, p->tot_len, sent_us);
}

static void server_recv(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *addr,
                        u16_t port)
{
    (void)arg;
    (void)pcb;
    datagrams++;
    if (p->tot_len >= sizeof(struct iperf2_datagram))
        take(p, addr, port);
    else
        runts++;
    pbuf_free(p);
}

int iperf2_udp_start(void)
{
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
    sweeper.fn = sweep;
    return service_listen_udp(IPERF2_PORT, server_recv, &server);
}
