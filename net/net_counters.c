#include "net/net_counters.h"

#include "lib/counters.h"
#include "lib/types.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/stats.h"
#include "net/net_memory.h"

/* ---- lwIP's 32-bit statistics ---- */

enum { FIELDS = 6 };

struct proto_row {
    const char *labels;
    struct stats_proto *stats;
    struct counter counters[FIELDS];
};

static struct proto_row protos[] = {
    {.labels = "proto=\"arp\"", .stats = &lwip_stats.etharp},
    {.labels = "proto=\"ip4\"", .stats = &lwip_stats.ip},
    {.labels = "proto=\"ip4_frag\"", .stats = &lwip_stats.ip_frag},
    {.labels = "proto=\"icmp\"", .stats = &lwip_stats.icmp},
    {.labels = "proto=\"ip6\"", .stats = &lwip_stats.ip6},
    {.labels = "proto=\"ip6_frag\"", .stats = &lwip_stats.ip6_frag},
    {.labels = "proto=\"icmp6\"", .stats = &lwip_stats.icmp6},
    {.labels = "proto=\"nd6\"", .stats = &lwip_stats.nd6},
    {.labels = "proto=\"udp\"", .stats = &lwip_stats.udp},
    {.labels = "proto=\"tcp\"", .stats = &lwip_stats.tcp},
};

static uint64_t read_stat(void *arg)
{
    return *(STAT_COUNTER *)arg;
}

static void register_proto(struct proto_row *row)
{
    struct stats_proto *s = row->stats;
    const struct counter fields[FIELDS] = {
        {.name = "stack_received_total", .help = "Packets a protocol received", .arg = &s->recv},
        {.name = "stack_sent_total", .help = "Packets a protocol sent", .arg = &s->xmit},
        {.name = "stack_dropped_total", .help = "Packets a protocol dropped", .arg = &s->drop},
        {.name = "stack_checksum_errors_total",
         .help = "Packets with a wrong checksum",
         .arg = &s->chkerr},
        {.name = "stack_length_errors_total",
         .help = "Packets with an impossible length",
         .arg = &s->lenerr},
        {.name = "stack_no_memory_total",
         .help = "Times a protocol got no memory",
         .arg = &s->memerr},
    };

    for (size_t i = 0; i < FIELDS; i++) {
        row->counters[i] = fields[i];
        row->counters[i].labels = row->labels;
        row->counters[i].read = read_stat;
        counters_add(&row->counters[i]);
    }
}

/* ---- control blocks ---- */

static uint64_t count_pcbs(void *arg)
{
    uint64_t count = 0;

    for (const struct tcp_pcb *pcb = *(struct tcp_pcb **)arg; pcb; pcb = pcb->next)
        count++;
    return count;
}

static uint64_t count_listeners(void *arg)
{
    uint64_t count = 0;

    (void)arg;
    for (const struct tcp_pcb_listen *pcb = tcp_listen_pcbs.listen_pcbs; pcb; pcb = pcb->next)
        count++;
    return count;
}

static uint64_t read_window(void *arg)
{
    (void)arg;
    return TCP_WND;
}

static struct counter gauges[] = {
    {.name = "tcp_connections",
     .labels = "state=\"active\"",
     .help = "TCP control blocks",
     .type = COUNTER_GAUGE,
     .read = count_pcbs,
     .arg = &tcp_active_pcbs},
    {.name = "tcp_connections",
     .labels = "state=\"time_wait\"",
     .help = "TCP control blocks",
     .type = COUNTER_GAUGE,
     .read = count_pcbs,
     .arg = &tcp_tw_pcbs},
    {.name = "tcp_connections",
     .labels = "state=\"listen\"",
     .help = "TCP control blocks",
     .type = COUNTER_GAUGE,
     .read = count_listeners},
    {.name = "tcp_window_bytes",
     .labels = "",
     .help = "Receive window of a connection",
     .type = COUNTER_GAUGE,
     .read = read_window},
};

void net_counters_register(void)
{
    for (size_t i = 0; i < ARRAY_COUNT(protos); i++)
        register_proto(&protos[i]);
    for (size_t i = 0; i < ARRAY_COUNT(gauges); i++)
        counters_add(&gauges[i]);
}
