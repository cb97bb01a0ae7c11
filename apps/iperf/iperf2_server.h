/*
 * iperf 2's server on port 5001. iperf2_wire.h has the protocol.
 *
 *   iperf2_tcp.c      a client's TCP connection: header, receive, reverse, both
 *   iperf2_bounce.c   the same when it wants requests answered (--bounceback)
 *   iperf2_back.c     our connection to a -d or -r client
 *   iperf2_udp.c      datagram flows: receive, report, and who sends
 *   iperf2_udp_send.c the datagram sender
 *
 * Not served, and ended at once with a log line: a client with --permit-key, and headers that contradict themselves.
 * Served without what we can't do, which is logged: --l2checks, --udp-l4s.
 */
#ifndef APPS_IPERF_IPERF2_SERVER_H
#define APPS_IPERF_IPERF2_SERVER_H

#include "lib/types.h"

int iperf2_tcp_start(void);
int iperf2_udp_start(void);

/* For the files above: result lines and counters. */
void iperf2_counters_init(void);
void iperf2_log_stream(const char *peer, const char *direction, uint64_t bytes, uint64_t us);
void iperf2_count_test(void);    /* a test began */
void iperf2_count_refused(void); /* a client we don't serve, or nonsense */
void iperf2_count_failed(void);  /* no memory, no connection back */

struct udp_stats;
void iperf2_log_datagrams(const char *peer, const struct udp_stats *stats);
void iperf2_log_sent_datagrams(const char *peer, uint64_t bytes, uint64_t us);

#endif
