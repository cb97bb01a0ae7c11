#include "apps/iperf/iperf2_back.h"

#include <stdlib.h>

#include "apps/iperf/iperf2_send.h"
#include "apps/iperf/iperf2_server.h"
#include "apps/iperf/service.h"
#include "lib/log.h"
#include "net/tcp_window.h"

struct back {
    struct iperf2_request req;
    struct iperf2_sender sender;
    char peer[SERVICE_ADDR_TEXT_MAX];
    uint16_t stalled_s;
};

static void back_free(struct back *b)
{
    sender_stop(&b->sender);
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
        return service_close(pcb);
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
        return service_abort(pcb);
    }
    sender_fill(&b->sender);
    return ERR_OK;
}

static void back_err(void *arg, err_t err)
{
    struct back *b = arg;
    if (!b)
        return;
    if (!b->sender.started)
        log_limited(LOG_WARN, "iperf", "%s: no connection back (%d)", b->peer, err);
    b->sender.pcb = NULL;
    back_free(b);
}

static err_t back_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
    struct back *b = arg;
    (void)err; /* always ERR_OK: failures come by back_err() */
    sender_start(&b->sender, pcb, &b->req, false);
    return ERR_OK;
}

void back_connect(const ip_addr_t *local, const ip_addr_t *remote, const struct iperf2_request *req)
{
    struct back *b = calloc(1, sizeof(*b));
    struct tcp_pcb *pcb = b ? tcp_new_ip_type(IP_GET_TYPE(remote)) : NULL;
    if (!pcb) {
        iperf2_count_failed();
        free(b);
        return;
    }
    b->req = *req;
    service_addr_text(b->peer, remote, req->back_port);
    tcp_arg(pcb, b);
    tcp_recv(pcb, back_recv);
    tcp_sent(pcb, back_sent);
    tcp_err(pcb, back_err);
    tcp_poll(pcb, back_poll, SERVICE_POLL_INTERVAL);
    const err_t err = tcp_bind(pcb, local, 0);
    if (err != ERR_OK || tcp_connect(pcb, remote, req->back_port, back_connected) != ERR_OK) {
        iperf2_count_failed();
        log_limited(LOG_WARN, "iperf", "%s: no connection back", b->peer);
        service_abort(pcb);
        free(b);
    }
}
