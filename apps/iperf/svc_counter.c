#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "apps/iperf/service.h"
#include "apps/iperf/services.h"
#include "lib/counters.h"

static uint64_t datagrams, bytes; /* since the last question */
static uint64_t datagrams_total, bytes_total;
static struct counter counters[] = {
    {.name = "discard_udp_datagrams_total",
     .help = "Datagrams counted and dropped on port 9.",
     .value = &datagrams_total},
    {.name = "discard_udp_bytes_total", .help = "Payload bytes of them.", .value = &bytes_total},
};

static void answer(struct udp_pcb *pcb, const ip_addr_t *addr, u16_t port)
{
    char text[48];
    const int len = snprintf(text, sizeof(text), "%" PRIu64 " %" PRIu64, datagrams, bytes);
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, (u16_t)len, PBUF_RAM);
    if (!p)
        return; /* the numbers stay for the next question */
    memcpy(p->payload, text, (size_t)len);
    if (service_reply_udp(pcb, p, addr, port) == ERR_OK)
        datagrams = bytes = 0;
    pbuf_free(p);
}

static void count(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *addr, u16_t port)
{
    (void)arg;
    if (p->tot_len == 1 && *(const uint8_t *)p->payload == '?') {
        answer(pcb, addr, port);
    } else {
        datagrams++;
        datagrams_total++;
        bytes += p->tot_len;
        bytes_total += p->tot_len;
    }
    pbuf_free(p);
}

int svc_counter_start(void)
{
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
    return service_listen_udp(PORT_DISCARD, count, NULL);
}
