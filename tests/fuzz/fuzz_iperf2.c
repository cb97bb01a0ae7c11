/*
 * Any bytes as a client's first words, by TCP, UDP, as a bounce request, and as HTTP: what is understood stays within
 * the limits that the headers promise.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "apps/iperf/burst.h"
#include "apps/iperf/http_request.h"
#include "apps/iperf/iperf2_wire.h"
#include "apps/iperf/udp_stats.h"
#include "lib/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_request(const struct iperf2_request *req)
{
    ASSERT(req->duration_us <= (uint64_t)IPERF2_DURATION_MAX_S * 1000000);
    ASSERT(req->duration_us == 0 || req->amount_bytes == 0);
    ASSERT(req->burst_mean <= IPERF2_BURST_MAX);
    ASSERT(req->pacing == IPERF2_STREAM || req->burst_period_us >= 1000000 / IPERF2_FPS_MAX);
    const uint32_t size = burst_size(req, sizeof(struct iperf2_burst), req->sent_wall_us);
    ASSERT(size >= sizeof(struct iperf2_burst) && size <= IPERF2_BURST_MAX);
}

static void as_tcp(const uint8_t *data, size_t size)
{
    struct iperf2_request req;
    be32 flags;
    memcpy(&flags, data, sizeof(flags));
    const size_t len = iperf2_tcp_header_len(be32_get(flags));
    ASSERT(len <= IPERF2_HEADER_MAX);
    if (len >= sizeof(flags) && len <= size && iperf2_decode_tcp(data, len, &req) == 0)
        check_request(&req);
}

static void as_bounce(const uint8_t *data, size_t size)
{
    struct iperf2_bounce_request req;
    if (iperf2_decode_bounce(data, size, &req))
        return;
    ASSERT(req.size >= IPERF2_BOUNCE_MIN && req.size <= IPERF2_BOUNCE_MAX);
    ASSERT(req.reply_size >= IPERF2_BOUNCE_MIN && req.reply_size <= IPERF2_BOUNCE_MAX);
    ASSERT(req.hold_us <= IPERF2_HOLD_MAX_US);
}

/* The first datagram as the head of a test, then all of them, 24 bytes each, as its data. */
static void as_udp(const uint8_t *data, size_t size)
{
    enum { STEP = 24 };
    struct iperf2_request req;
    struct udp_stats stats;
    struct iperf2_report report;

    if (iperf2_decode_udp(data, size, &req))
        return;
    check_request(&req);
    ASSERT(req.buf_len <= IPERF2_UDP_MAX);
    udp_stats_begin(&stats, 1000000);
    for (; size >= STEP; data += STEP, size -= STEP) {
        const int64_t id = iperf2_datagram_id(data, STEP);
        const uint64_t absolute = id < 0 ? -(uint64_t)id : (uint64_t)id;
        be32 late;
        memcpy(&late, data + 20, sizeof(late));
        udp_stats_add(&stats, absolute, STEP, iperf2_datagram_sent_us(data),
                      1000000 + (uint64_t)be32_get(late), true);
    }
    udp_stats_report(&stats, true, &report);
    ASSERT(udp_stats_lost(&stats) <= stats.highest_id);
    ASSERT(be32_get(report.jitter_usec) < 1000000 && be32_get(report.stop_usec) < 1000000);
}

static void as_http(const uint8_t *data, size_t size)
{
    struct http_request request;
    const int status = http_parse((const char *)data, size_min(size, HTTP_HEAD_MAX), &request);
    if (status == 200)
        ASSERT(request.target[0] == '/' && strlen(request.target) < HTTP_TARGET_MAX);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    /* Exactly its size, so that a read beyond it is seen. */
    uint8_t *copy = malloc(size ? size : 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    if (size >= sizeof(be32)) {
        as_tcp(copy, size);
        as_bounce(copy, size);
    }
    as_udp(copy, size);
    as_http(copy, size);
    free(copy);
    return 0;
}
