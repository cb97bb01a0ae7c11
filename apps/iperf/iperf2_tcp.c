/*
 * One client's TCP connection, from its first bytes to the close.
 *
 *   HEADER   collecting the client's header; HEADER_WAIT_S for it
 *   DATA     counting what comes, and sending where the client asked for that
 *   BOUNCE   requests and replies
 *   DRAIN    our FIN is out, waiting for the client's
 *
 * All received bytes are counted and freed at once; the window never closes.
 */
#include "apps/iperf/iperf2_back.h"
#include "apps/iperf/iperf2_bounce.h"
#include "apps/iperf/iperf2_send.h"
#include "apps/iperf/iperf2_server.h"
#include "apps/iperf/service.h"
#include "lib/log.h"
#include "net/tcp_serve.h"
#include "net/tcp_window.h"
#include "port/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEADER_WAIT_S = 60, /* iperf 2.2's own patience for the test exchange */
    DRAIN_WAIT_S = 30,  /* for the client's FIN after ours */
};

enum phase { HEADER, DATA, BOUNCE, DRAIN };

struct test {
    struct tcp_pcb *pcb;
    enum phase phase;
    uint16_t quiet_s; /* in this phase, without any progress that it waits for */
    bool sends;       /* sender is in use */
    bool client_done; /* its FIN has come */
    char peer[SERVICE_ADDR_TEXT_MAX];
    uint64_t accepted_wall_us;
    uint64_t start_us, last_us; /* first and last data */
    uint64_t received;          /* bytes */
    size_t have, need;          /* bytes of the header; need is 4 until its first word is known */
    uint8_t header[IPERF2_HEADER_MAX];
    struct iperf2_request req;
    struct iperf2_sender sender;
    struct bounce bounce;
};

static void log_test(struct test *t)
{
    const struct iperf2_sender *s = &t->sender;
    if (t->received > 0 && t->req.mode != IPERF2_REVERSE)
        iperf2_log_stream(t->peer, "in", t->received, t->last_us - t->start_us);
    if (t->sends && s->acked > 0)
        iperf2_log_stream(t->peer, "out", s->acked, s->last_us - s->start_us);
    if (t->phase == BOUNCE && t->bounce.replied > 0)
        iperf2_log_stream(t->peer, "out", t->bounce.replied, t->last_us - t->start_us);
}

static void test_free(struct test *t)
{
    sender_stop(&t->sender);
    bounce_stop(&t->bounce);
    free(t);
}

/* Close in order: FIN behind what is queued. */
static err_t test_close(struct test *t)
{
    struct tcp_pcb *pcb = t->pcb;
    log_test(t);
    test_free(t);
    return net_tcp_close(pcb);
}

static err_t test_abort(struct test *t)
{
    struct tcp_pcb *pcb = t->pcb;
    log_test(t);
    test_free(t);
    return net_tcp_abort(pcb);
}

static err_t refuse(struct test *t, const char *why)
{
    iperf2_count_refused();
    log_limited(LOG_WARN, "iperf", "%s refused: %s", t->peer, why);
    t->received = 0; /* no test, no result line */
    return test_close(t);
}

static void send_ack(struct test *t)
{
    struct iperf2_ack ack;
    const size_t len = iperf2_encode_ack(&ack, &t->req, t->accepted_wall_us, clock_wall_us());
    if (tcp_write(t->pcb, &ack, (u16_t)len, TCP_WRITE_FLAG_COPY) == ERR_OK)
        tcp_output(t->pcb);
}

/* The header is complete: act on it. Returns 0, or a negative errno to refuse with. */
static int begin_test(struct test *t)
{
    const int err = iperf2_decode_tcp(t->header, t->need, &t->req);
    if (err)
        return err;
    if (t->req.want_ack)
        send_ack(t);
    t->phase = DATA;
    t->quiet_s = 0;
    iperf2_count_test();
    if (t->req.mode == IPERF2_DUALTEST) {
        back_connect(&t->pcb->local_ip, &t->pcb->remote_ip, &t->req);
    } else if (t->req.mode == IPERF2_REVERSE || t->req.mode == IPERF2_FULL_DUPLEX) {
        t->sends = true;
        sender_start(&t->sender, t->pcb, &t->req, true);
    }
    return 0;
}

/* The header's first word is known. */
static int begin_header(struct test *t)
{
    be32 flags;
    memcpy(&flags, t->header, sizeof(flags));
    if (be32_get(flags) & IPERF2_BOUNCEBACK) {
        t->phase = BOUNCE;
        t->quiet_s = 0;
        iperf2_count_test();
        bounce_start(&t->bounce, t->pcb);
        return bounce_input(&t->bounce, t->header, t->have);
    }
    t->need = iperf2_tcp_header_len(be32_get(flags));
    if (t->need == 0) { /* plain data */
        t->phase = DATA;
        iperf2_count_test();
        return 0;
    }
    return t->need < sizeof(flags) ? -EPROTO : 0;
}

/* Returns how many of the bytes belong to the header, or a negative errno. */
static int take_header(struct test *t, const uint8_t *bytes, size_t len)
{
    const size_t take = size_min(len, t->need - t->have);
    memcpy(t->header + t->have, bytes, take);
    t->have += take;
    if (t->have < t->need)
        return (int)take;
    const int err = t->have == sizeof(be32) ? begin_header(t) : begin_test(t);
    return err ? err : (int)take;
}

/* Returns 0 or a negative errno. */
static int take_piece(struct test *t, const uint8_t *bytes, size_t len)
{
    while (t->phase == HEADER && len > 0) {
        const int taken = take_header(t, bytes, len);
        if (taken < 0)
            return taken;
        bytes += taken;
        len -= (size_t)taken;
    }
    if (t->phase == BOUNCE && len > 0)
        return bounce_input(&t->bounce, bytes, len);
    return 0;
}

static int take_data(struct test *t, const struct pbuf *p)
{
    if (t->received == 0)
        t->start_us = clock_now_us();
    t->received += p->tot_len;
    t->last_us = clock_now_us();
    if (t->phase == DATA || t->phase == DRAIN)
        return 0;
    for (const struct pbuf *q = p; q; q = q->next) {
        const int err = take_piece(t, q->payload, q->len);
        if (err)
            return err;
    }
    return 0;
}

/* The client's FIN. */
static err_t client_finished(struct test *t)
{
    t->client_done = true;
    if (t->phase == DATA && t->req.mode == IPERF2_FULL_DUPLEX && !sender_delivered(&t->sender))
        return ERR_OK; /* we are still sending */
    if (t->phase == DATA && t->req.mode == IPERF2_TRADEOFF)
        back_connect(&t->pcb->local_ip, &t->pcb->remote_ip, &t->req);
    return test_close(t);
}

static err_t test_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    struct test *t = arg;
    (void)err;
    t->quiet_s = 0;
    if (!p)
        return client_finished(t);
    const int bad = take_data(t, p);
    const size_t len = p->tot_len;
    pbuf_free(p);
    tcp_window_opened(pcb, len);
    if (bad == -EPERM)
        return refuse(t, "it brings a permit key");
    if (bad)
        return refuse(t, "its header contradicts itself");
    return ERR_OK;
}

/* Both directions are through: close. Only our own: wait for the client's FIN. */
static err_t sender_progress(struct test *t)
{
    if (t->phase != DATA || !t->sends || !t->sender.finished)
        return ERR_OK;
    if (!sender_delivered(&t->sender))
        return ERR_OK;
    if (t->client_done)
        return test_close(t);
    if (t->req.mode == IPERF2_REVERSE) {
        t->phase = DRAIN;
        t->quiet_s = 0;
    }
    return ERR_OK;
}

static err_t test_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    struct test *t = arg;
    (void)pcb;
    t->quiet_s = 0;
    if (t->phase == BOUNCE)
        bounce_fill(&t->bounce);
    if (t->sends)
        sender_acked(&t->sender, len);
    return sender_progress(t);
}

static bool patience_over(const struct test *t)
{
    switch (t->phase) {
    case HEADER:
        return t->quiet_s > HEADER_WAIT_S;
    case DRAIN:
        return t->quiet_s > DRAIN_WAIT_S;
    case BOUNCE:
    case DATA: /* a quiet client may have a low rate: keepalive asks whether it lives */
        return t->sends && t->sender.acked < t->sender.queued && t->quiet_s > SERVICE_STALL_S;
    }
    return false;
}

static err_t test_poll(void *arg, struct tcp_pcb *pcb)
{
    struct test *t = arg;
    (void)pcb;
    t->quiet_s++;
    if (patience_over(t))
        return t->phase == DRAIN ? test_close(t) : test_abort(t);
    if (t->sends)
        sender_fill(&t->sender);
    if (t->phase == BOUNCE)
        bounce_fill(&t->bounce);
    return sender_progress(t);
}

/* The connection is gone; lwIP has freed the pcb. */
static void test_err(void *arg, err_t err)
{
    struct test *t = arg;
    if (!t)
        return;
    if (t->phase != HEADER)
        log_test(t);
    log_debug("iperf", "%s: the connection ended early (%d)", t->peer, err);
    test_free(t);
}

static err_t test_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg;
    struct test *t = service_admit(pcb, err) ? calloc(1, sizeof(*t)) : NULL;
    if (!t)
        return service_refuse(pcb);
    t->pcb = pcb;
    service_addr_text(t->peer, &pcb->remote_ip, pcb->remote_port);
    t->need = sizeof(be32);
    t->accepted_wall_us = clock_wall_us();
    tcp_arg(pcb, t);
    tcp_recv(pcb, test_recv);
    tcp_sent(pcb, test_sent);
    tcp_err(pcb, test_err);
    tcp_poll(pcb, test_poll, TCP_POLL_EACH_SECOND);
    return ERR_OK;
}

int iperf2_tcp_start(void)
{
    return service_listen_tcp(IPERF2_PORT, test_accept);
}
