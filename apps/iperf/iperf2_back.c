#include "apps/iperf/iperf2_back.h"

#include <stdlib.h>

#include "apps/iperf/iperf2_send.h"
#include "apps/iperf/iperf2_server.h"
#include "apps/iperf/service.h"
#include "lib/log.h"
#include "net/tcp_serve.h"
#include "net/tcp_window.h"
#include "port/clock.h"

/* A client may ask before it listens: its threads begin in any order. */
enum { CONNECT_TRIES = 20, CONNECT_GAP_US = 100000 };

struct back {
    ip_addr_t local, remote;
    unsigned tries;
    struct ticker again;
    struct iperf2_request req;
    struct iperf2_sender sender;
    char peer[SERVICE_ADDR_TEXT_MAX];
    uint16_t stalled_s;
};

static void back_free(struct back *b)
{
    sender_stop(&b->sender);
    ticker_stop(&b->again);
    if (b->sender.acked > 0)
        iperf2_log_stream(b->peer, "out", b->sender.acked, b->sender.last_us - b->sender.start_us);
    free(b);
}

/* The client has nothing to say here; its FIN, once we are through, ends the connection. */
static err_t back_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    (void)err;
    if (!p) {
        back_free(arg);
        return net_tcp_close(pcb);
    }
    const size_t len = p->tot_len;
    pbuf_free(p);
    tcp_window_opened(pcb, len);
    return ERR_OK;
}

static err_t back_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    struct back *b = arg;
    (void)pcb;
    b->stalled_s = 0;
    sender_acked(&b->sender, len);
    return ERR_OK;
}

static err_t back_poll(void *arg, struct tcp_pcb *pcb)
{
    struct back *b = arg;
    const bool waiting_for_rate =
        !sender_delivered(&b->sender) && b->sender.acked >= b->sender.queued;
    if (!waiting_for_rate && ++b->stalled_s > SERVICE_STALL_S) {
        back_free(b);
        return net_tcp_abort(pcb);
    }
    sender_fill(&b->sender);
    return ERR_OK;
}

static void back_err(void *arg, err_t err)
{
    struct back *b = arg;
    if (!b)
        return;
    if (!b->sender.started && b->tries < CONNECT_TRIES) {
        ticker_at(&b->again, clock_now_us() + CONNECT_GAP_US);
        return;
    }
    if (!b->sender.started)
        log_limited(LOG_WARN, "iperf", "%s: no connection back (%d)", b->peer, err);
    back_free(b);
}

static err_t back_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
    struct back *b = arg;
    (void)err; /* always ERR_OK: failures come by back_err() */
    sender_start(&b->sender, pcb, &b->req, false);
    return ERR_OK;
}

static void back_try(void *arg)
{
    struct back *b = arg;
    struct tcp_pcb *pcb = tcp_new_ip_type(IP_GET_TYPE(&b->remote));
    b->tries++;
    if (!pcb) {
        iperf2_count_failed();
        back_free(b);
        return;
    }
    tcp_arg(pcb, b);
    tcp_recv(pcb, back_recv);
    tcp_sent(pcb, back_sent);
    tcp_err(pcb, back_err);
    tcp_poll(pcb, back_poll, TCP_POLL_EACH_SECOND);
    if (tcp_bind(pcb, &b->local, 0) != ERR_OK ||
        tcp_connect(pcb, &b->remote, b->req.back_port, back_connected) != ERR_OK) {
        iperf2_count_failed();
        log_limited(LOG_WARN, "iperf", "%s: no connection back", b->peer);
        net_tcp_abort(pcb);
        back_free(b);
    }
}

void back_connect(const ip_addr_t *local, const ip_addr_t *remote, const struct iperf2_request *req)
{
    struct back *b = calloc(1, sizeof(*b));
    if (!b) {
        iperf2_count_failed();
        return;
    }
    b->local = *local;
    b->remote = *remote;
    b->req = *req;
    b->again.fn = back_try;
    b->again.arg = b;
    service_addr_text(b->peer, remote, req->back_port);
    back_try(b);
}
