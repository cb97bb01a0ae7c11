/* How large the next burst of an isochronous or periodic test is. */
#ifndef APPS_IPERF_BURST_H
#define APPS_IPERF_BURST_H

#include "apps/iperf/iperf2_wire.h"

enum { BURST_DEFAULT_BYTES = 128 << 10 }; /* iperf's TCP write */

/*
 * Around req->burst_mean with req->burst_variance (bytes²), or buf_len when there is no mean; at least `least`, at most
 * IPERF2_BURST_MAX. `random` is any number, new each time. The sum of four uniform numbers stands in for
 * iperf's log-normal distribution: the same mean and variance, no logarithms.
 */
uint32_t burst_size(const struct iperf2_request *req, uint32_t least, uint64_t random);

/* A fast generator for that purpose and no other (xorshift64*). *state ≠ 0. */
uint64_t burst_random(uint64_t *state);

#endif
