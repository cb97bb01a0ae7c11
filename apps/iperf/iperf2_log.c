#include "apps/iperf/iperf2_server.h"
#include "apps/iperf/result.h"
#include "apps/iperf/udp_stats.h"
#include "lib/counters.h"
#include "lib/log.h"

enum { SHORT_TEST = 8 }; /* datagrams; fewer are a test only in name */

static uint64_t tests, refused, failed;
static uint64_t bytes_in, bytes_out;
static struct counter counters[] = {
    {.name = "iperf_tests_total", .help = "iperf 2 tests begun.", .value = &tests},
    {.name = "iperf_refused_total",
     .help = "iperf 2 clients refused: permit key, or a header that contradicts itself.",
     .value = &refused},
    {.name = "iperf_failed_total",
     .help = "iperf 2 tests that failed here: no memory, or no connection back.",
     .value = &failed},
    {.name = "iperf_bytes_total",
     .labels = "direction=\"in\"",
     .help = "Bytes of finished iperf 2 tests.",
     .value = &bytes_in},
    {.name = "iperf_bytes_total",
     .labels = "direction=\"out\"",
     .help = "Bytes of finished iperf 2 tests.",
     .value = &bytes_out},
};

void iperf2_counters_init(void)
{
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
}

void iperf2_count_test(void)
{
    tests++;
}

void iperf2_count_refused(void)
{
    refused++;
}

void iperf2_count_failed(void)
{
    failed++;
}

static void count_result(const struct result *r)
{
    if (r->direction[0] == 'i')
        bytes_in += r->bytes;
    else
        bytes_out += r->bytes;
}

static void log_result(const struct result *r)
{
    char text[RESULT_TEXT_MAX];
    count_result(r);
    result_format(text, sizeof(text), r);
    log_info("iperf", "%s", text);
}

/* What a few stray datagrams can bring about, from as many made-up addresses as somebody likes. */
static void log_short_result(const struct result *r)
{
    char text[RESULT_TEXT_MAX];
    count_result(r);
    result_format(text, sizeof(text), r);
    log_limited(LOG_INFO, "iperf", "%s", text);
}

void iperf2_log_stream(const char *peer, const char *direction, uint64_t bytes, uint64_t us)
{
    log_result(&(struct result){
        .peer = peer, .proto = "tcp", .direction = direction, .bytes = bytes, .us = us});
}

void iperf2_log_datagrams(const char *peer, const struct udp_stats *stats)
{
    const struct result result = {
        .peer = peer,
        .proto = "udp",
        .direction = "in",
        .bytes = stats->bytes,
        .us = udp_stats_duration_us(stats),
        .datagrams = true,
        .lost = udp_stats_lost(stats),
        .total = stats->highest_id,
        .out_of_order = stats->out_of_order,
        .jitter_us = stats->jitter_16 >> 4,
    };
    if (stats->received < SHORT_TEST)
        log_short_result(&result);
    else
        log_result(&result);
}

void iperf2_log_sent_datagrams(const char *peer, uint64_t bytes, uint64_t us)
{
    log_result(&(struct result){
        .peer = peer, .proto = "udp", .direction = "out", .bytes = bytes, .us = us});
}
