#include "net/tcp_serve.h"

#include <errno.h>

enum { BACKLOG = 255 }; /* lwIP counts in 8 bits */

int net_tcp_listen(uint16_t port, tcp_accept_fn accept)
{
    struct tcp_pcb *pcb = tcp_new_ip_type(IPADDR_TYPE_ANY);

    if (!pcb)
        return -ENOMEM;
    if (tcp_bind(pcb, IP_ANY_TYPE, port) != ERR_OK) {
        tcp_close(pcb);
        return -EADDRINUSE;
    }
    struct tcp_pcb *listener = tcp_listen_with_backlog(pcb, BACKLOG);

    if (!listener) {
        tcp_close(pcb);
        return -ENOMEM;
    }
    tcp_accept(listener, accept);
    return 0;
}

static void forget_callbacks(struct tcp_pcb *pcb)
{
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_sent(pcb, NULL);
    tcp_err(pcb, NULL);
    tcp_poll(pcb, NULL, 0);
}

err_t net_tcp_close(struct tcp_pcb *pcb)
{
    forget_callbacks(pcb);
    return tcp_close(pcb) == ERR_OK ? ERR_OK : net_tcp_abort(pcb);
}

err_t net_tcp_abort(struct tcp_pcb *pcb)
{
    forget_callbacks(pcb);
    tcp_abort(pcb);
    return ERR_ABRT;
}
