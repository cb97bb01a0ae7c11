#include <stdlib.h>

#include "apps/iperf/service.h"
#include "apps/iperf/services.h"
#include "lib/counters.h"
#include "net/tcp_serve.h"
#include "net/tcp_window.h"

struct chargen {
    uint64_t pos; /* in the payload */
    uint16_t stalled_s;
    bool ending; /* the client has sent FIN, and so have we */
};

static uint64_t bytes;
static struct counter counter = {
    .name = "chargen_tcp_bytes_total",
    .help = "Bytes that chargen's clients acknowledged.",
    .value = &bytes,
};

static err_t chargen_fill(struct chargen *c, struct tcp_pcb *pcb)
{
    if (!c->ending && service_send_payload(pcb, &c->pos, UINT64_MAX) > 0)
        tcp_output(pcb);
    return ERR_OK;
}

/*
 * What the client sends is dropped; its FIN is the wish to end. We keep the connection until what was
 * queued is acknowledged (lwIP then reports ERR_CLSD), so that a client which doesn't read can't leave it behind.
 */
static err_t chargen_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    struct chargen *c = arg;
    (void)err;
    if (!p) {
        c->ending = true;
        tcp_shutdown(pcb, 0, 1);
        return ERR_OK;
    }
    const size_t len = p->tot_len;
    pbuf_free(p);
    tcp_window_opened(pcb, len);
    return ERR_OK;
}

static err_t chargen_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    struct chargen *c = arg;
    bytes += len;
    c->stalled_s = 0;
    return chargen_fill(c, pcb);
}

static err_t chargen_poll(void *arg, struct tcp_pcb *pcb)
{
    struct chargen *c = arg;
    if (++c->stalled_s > SERVICE_STALL_S) {
        free(c);
        return net_tcp_abort(pcb);
    }
    return chargen_fill(c, pcb);
}

static void chargen_err(void *arg, err_t err)
{
    (void)err;
    free(arg);
}

static err_t chargen_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg;
    struct chargen *c = service_admit(pcb, err) ? calloc(1, sizeof(*c)) : NULL;
    if (!c)
        return service_refuse(pcb);
    tcp_arg(pcb, c);
    tcp_recv(pcb, chargen_recv);
    tcp_sent(pcb, chargen_sent);
    tcp_err(pcb, chargen_err);
    tcp_poll(pcb, chargen_poll, TCP_POLL_EACH_SECOND);
    return chargen_fill(c, pcb);
}

int svc_chargen_start(void)
{
    counters_add(&counter);
    return service_listen_tcp(PORT_CHARGEN, chargen_accept);
}
