#include "apps/iperf/udp_stats.h"

enum { MICRO = 1000000, TRANSIT_MAX_US = 600 * MICRO /* iperf ignores clocks further apart */ };

void udp_stats_begin(struct udp_stats *s, uint64_t now_us)
{
    *s = (struct udp_stats){.start_us = now_us, .last_us = now_us};
}

static void add_jitter(struct udp_stats *s, int64_t transit_us)
{
    if (s->transit_count > 0) {
        /* Unsigned: a lying clock may lie by more than a signed difference holds. */
        uint64_t abs_d = (uint64_t)transit_us - (uint64_t)s->last_transit_us;
        if (transit_us < s->last_transit_us)
            abs_d = 0 - abs_d;
        if (abs_d > TRANSIT_MAX_US)
            abs_d = TRANSIT_MAX_US; /* a stepped clock, not the network */
        s->jitter_16 += abs_d;
        s->jitter_16 -= (s->jitter_16 - abs_d + 8) >> 4;
    }
    s->last_transit_us = transit_us;
}

/* Welford's running mean and squares. transit_count already counts this one. */
static void add_transit(struct udp_stats *s, int64_t transit_us)
{
    const double t = (double)transit_us / (double)MICRO;
    const double delta = t - s->transit_mean_s;

    if (s->transit_count == 1 || transit_us < s->transit_min_us)
        s->transit_min_us = transit_us;
    if (s->transit_count == 1 || transit_us > s->transit_max_us)
        s->transit_max_us = transit_us;
    s->transit_sum_s += t;
    s->transit_mean_s += delta / (double)s->transit_count;
    s->transit_m2 += delta * (t - s->transit_mean_s);
}

void udp_stats_add(struct udp_stats *s, uint64_t id, size_t len_bytes, uint64_t sent_us,
                   uint64_t now_us, bool with_transit)
{
    s->bytes += len_bytes;
    s->received++;
    if (now_us > s->last_us)
        s->last_us = now_us;
    if (id <= s->highest_id) {
        s->out_of_order++;
        return;
    }
    s->skipped += id - s->highest_id - 1;
    s->highest_id = id;

    const int64_t transit_us = (int64_t)(now_us - sent_us);
    add_jitter(s, transit_us);
    s->transit_count++;
    if (with_transit)
        add_transit(s, transit_us);
}

uint64_t udp_stats_lost(const struct udp_stats *s)
{
    return s->skipped > s->out_of_order ? s->skipped - s->out_of_order : 0;
}

uint64_t udp_stats_duration_us(const struct udp_stats *s)
{
    return s->last_us > s->start_us ? s->last_us - s->start_us : 1;
}

/* Seconds as whole part and millionths. */
static void put_seconds(be32 out[2], double s)
{
    const uint64_t us = s > 0 ? (uint64_t)(s * (double)MICRO + 0.5) : 0;
    out[0] = be32_make((uint32_t)(us / MICRO));
    out[1] = be32_make((uint32_t)(us % MICRO));
}

static bool transit_believable(const struct udp_stats *s)
{
    return s->transit_count > 0 && s->transit_min_us >= 0 && s->transit_max_us < TRANSIT_MAX_US;
}

static void report_transit(const struct udp_stats *s, struct iperf2_report *out)
{
    put_seconds(out->min_transit, (double)s->transit_min_us / (double)MICRO);
    put_seconds(out->max_transit, (double)s->transit_max_us / (double)MICRO);
    put_seconds(out->sum_transit, s->transit_sum_s);
    put_seconds(out->mean_transit, s->transit_mean_s);
    /* This one travels in µs², whole and millionths; a sum beyond its 32 bits is cut off there. */
    const double m2 = s->transit_m2 * 1e12;
    put_seconds(out->m2_transit, m2 < 4e9 ? m2 : 4e9);
    put_seconds(out->vd_transit, s->transit_mean_s);
    out->transit_count = be32_make((uint32_t)s->transit_count);
}

void udp_stats_report(const struct udp_stats *s, bool with_transit, struct iperf2_report *out)
{
    const uint64_t lost = udp_stats_lost(s);
    const uint64_t us = udp_stats_duration_us(s);
    const uint64_t jitter_us = s->jitter_16 >> 4;
    const bool transit = with_transit && transit_believable(s);

    *out = (struct iperf2_report){
        .flags = be32_make((uint32_t)IPERF2_VERSION1 | IPERF2_SEQ64 |
                           (transit ? (uint32_t)IPERF2_EXTEND : 0)),
        .bytes_hi = be32_make((uint32_t)(s->bytes >> 32)),
        .bytes_lo = be32_make((uint32_t)s->bytes),
        .stop_sec = be32_make((uint32_t)(us / MICRO)),
        .stop_usec = be32_make((uint32_t)(us % MICRO)),
        .lost = be32_make((uint32_t)lost),
        .out_of_order = be32_make((uint32_t)s->out_of_order),
        .datagrams = be32_make((uint32_t)s->highest_id),
        .jitter_sec = be32_make((uint32_t)(jitter_us / MICRO)),
        .jitter_usec = be32_make((uint32_t)(jitter_us % MICRO)),
        .packets_per_sec = be32_make((uint32_t)((double)s->received * (double)MICRO / (double)us)),
        .ipg_sum = be32_make(1),
        .lost_hi = be32_make((uint32_t)(lost >> 32)),
        .out_of_order_hi = be32_make((uint32_t)(s->out_of_order >> 32)),
        .datagrams_hi = be32_make((uint32_t)(s->highest_id >> 32)),
    };
    if (transit)
        report_transit(s, out);
}
