#include "net/tcp_time_wait.h"

#include "lib/counters.h"
#include "lwip/priv/tcp_priv.h"

static uint64_t recycled;
static struct counter counter = {.name = "tcp_time_wait_recycled_total",
                                 .help = "Connections that left TIME-WAIT early, for younger ones.",
                                 .value = &recycled};

/* The youngest are in front. */
void net_tcp_time_wait_trim(void)
{
    static unsigned syns;

    if (++syns % TIME_WAIT_SLACK != 0)
        return;
    struct tcp_pcb *pcb = tcp_tw_pcbs;

    for (unsigned i = 0; pcb && i < TIME_WAIT_MAX; i++)
        pcb = pcb->next;
    while (pcb) {
        struct tcp_pcb *next = pcb->next;

        tcp_abandon(pcb, 0); /* from TIME-WAIT: no RST, no callback */
        recycled++;
        pcb = next;
    }
}

void net_tcp_time_wait_init(void)
{
    counters_add(&counter);
}
