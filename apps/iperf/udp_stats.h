/*
 * The books of one received UDP test, kept as iperf keeps them, so that both ends print the same numbers.
 *
 *   datagrams      the highest id seen
 *   lost           ids jumped over, less those that came late after all
 *   out of order   ids not above the highest seen before
 *   jitter         RFC 1889 §6.3.1 and appendix A.8: J += (|D| - J)/16 over in-order datagrams
 *   transit        arrival less sending time, by two clocks; only as good as these agree
 *
 * Pure arithmetic: any id, size and time is safe.
 */
#ifndef APPS_IPERF_UDP_STATS_H
#define APPS_IPERF_UDP_STATS_H

#include "apps/iperf/iperf2_wire.h"

struct udp_stats {
    uint64_t bytes;
    uint64_t received; /* datagrams that came, in any order */
    uint64_t highest_id;
    uint64_t skipped; /* ids jumped over; ≥ lost */
    uint64_t out_of_order;
    uint64_t start_us, last_us; /* arrival, wall clock */
    uint64_t jitter_16;         /* sixteenths of a microsecond */
    int64_t last_transit_us;
    uint64_t transit_count; /* in-order datagrams, over which: */
    int64_t transit_min_us, transit_max_us;
    double transit_sum_s, transit_mean_s, transit_m2; /* m2: summed squares of deviations, s² */
};

/* Start the books at a test's first datagram. */
void udp_stats_begin(struct udp_stats *s, uint64_t now_us);

/*
 * Enter one datagram. id > 0 (the absolute value of an end marker's). Times are wall clock in microseconds.
 * with_transit keeps the sums that only --trip-times needs.
 */
void udp_stats_add(struct udp_stats *s, uint64_t id, size_t len_bytes, uint64_t sent_us,
                   uint64_t now_us, bool with_transit);

uint64_t udp_stats_lost(const struct udp_stats *s);
uint64_t udp_stats_duration_us(const struct udp_stats *s); /* ≥ 1 */

/* Fill in the report that ends a test. Transit times go in when asked for and believable: never negative. */
void udp_stats_report(const struct udp_stats *s, bool with_transit, struct iperf2_report *out);

#endif
