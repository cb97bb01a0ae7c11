#include "apps/iperf/service.h"
#include "apps/iperf/services.h"
#include "lib/counters.h"
#include "net/tcp_serve.h"
#include "net/tcp_window.h"

static uint64_t bytes;
static struct counter counter = {
    .name = "discard_tcp_bytes_total",
    .help = "Bytes received for discard over TCP.",
    .value = &bytes,
};

static err_t discard_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    (void)arg;
    (void)err;
    if (!p)
        return net_tcp_close(pcb);
    const size_t len = p->tot_len;
    bytes += len;
    pbuf_free(p);
    tcp_window_opened(pcb, len);
    return ERR_OK;
}

static err_t discard_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg;
    if (!service_admit(pcb, err))
        return service_refuse(pcb);
    tcp_recv(pcb, discard_recv);
    return ERR_OK;
}

int svc_discard_start(void)
{
    counters_add(&counter);
    return service_listen_tcp(PORT_DISCARD, discard_accept);
}
