#include "apps/iperf/service.h"

#include <errno.h>
#include <stdio.h>

#include "apps/iperf/payload.h"
#include "lib/counters.h"
#include "lib/log.h"
#include "lib/page_alloc.h"
#include "net/tcp_serve.h"

enum {
    KEEPALIVE_IDLE_MS = 30000,
    KEEPALIVE_INTERVAL_MS = 5000,
    KEEPALIVE_COUNT = 6,
    ADMIT_SHARE = 16, /* of all memory: what new connections leave to the old ones */
};

static uint64_t connections_accepted, connections_refused;
static struct counter counters[] = {
    {.name = "service_connections_total",
     .help = "TCP connections accepted by the services of this image.",
     .value = &connections_accepted},
    {.name = "service_connections_refused_total",
     .help = "TCP connections refused for want of memory.",
     .value = &connections_refused},
};

void service_counters_init(void)
{
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
}

size_t service_memory_free(void)
{
    return page_free_count() * PAGE_BYTES;
}

int service_listen_tcp(uint16_t port, tcp_accept_fn accept)
{
    const int err = net_tcp_listen(port, accept);

    if (err)
        log_error("iperf",
                  err == -ENOMEM ? "no memory to listen on port %u/tcp" : "port %u/tcp is in use",
                  port);
    return err;
}

int service_listen_udp(uint16_t port, udp_recv_fn recv, struct udp_pcb **out)
{
    struct udp_pcb *pcb = udp_new_ip_type(IPADDR_TYPE_ANY);
    if (!pcb) {
        log_error("iperf", "no memory to listen on port %u/udp", port);
        return -ENOMEM;
    }
    if (udp_bind(pcb, IP_ANY_TYPE, port) != ERR_OK) {
        udp_remove(pcb);
        log_error("iperf", "port %u/udp is in use", port);
        return -EADDRINUSE;
    }
    udp_recv(pcb, recv, NULL);
    if (out)
        *out = pcb;
    return 0;
}

bool service_admit(struct tcp_pcb *pcb, err_t err)
{
    if (err != ERR_OK || !pcb)
        return false;
    if (page_free_count() < page_total_count() / ADMIT_SHARE) {
        log_limited(LOG_WARN, "iperf", "a connection was refused: memory is short");
        return false;
    }
    connections_accepted++;
    ip_set_option(pcb, SOF_KEEPALIVE);
    pcb->keep_idle = KEEPALIVE_IDLE_MS;
#if LWIP_TCP_KEEPALIVE
    pcb->keep_intvl = KEEPALIVE_INTERVAL_MS;
    pcb->keep_cnt = KEEPALIVE_COUNT;
#endif
    tcp_nagle_disable(pcb);
    return true;
}

err_t service_refuse(struct tcp_pcb *pcb)
{
    connections_refused++;
    return pcb ? net_tcp_abort(pcb) : ERR_VAL;
}

uint64_t service_send_payload(struct tcp_pcb *pcb, uint64_t *pos, uint64_t want)
{
    const size_t least = TCP_SND_BUF / 16;
    uint64_t queued = 0;

    while (queued < want) {
        size_t len;
        const uint8_t *bytes = payload_at(*pos, &len);
        if (len > want - queued)
            len = (size_t)(want - queued);
        const size_t room = tcp_sndbuf(pcb);
        if (room < len && room < least)
            break;
        len = size_min(len, room);
        if (len == 0 || tcp_write(pcb, bytes, (u16_t)len, TCP_WRITE_FLAG_MORE) != ERR_OK)
            break;
        *pos += len;
        queued += len;
    }
    return queued;
}

err_t service_reply_udp(struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *addr, u16_t port)
{
    const ip_addr_t *to = ip_current_dest_addr();
    struct netif *netif = ip_current_input_netif();

    /* A datagram sent to a group or to everybody is answered from our own address. */
    if (ip_addr_ismulticast(to) || ip_addr_isbroadcast(to, netif))
        return udp_sendto_if(pcb, p, addr, port, netif);
    return udp_sendto_if_src(pcb, p, addr, port, netif, to);
}

void service_addr_text(char out[SERVICE_ADDR_TEXT_MAX], const ip_addr_t *addr, uint16_t port)
{
    char text[IPADDR_STRLEN_MAX];
    if (!ipaddr_ntoa_r(addr, text, sizeof(text)))
        text[0] = '\0';
    snprintf(out, SERVICE_ADDR_TEXT_MAX, IP_IS_V6(addr) ? "[%s]:%u" : "%s:%u", text,
             (unsigned)port);
}
