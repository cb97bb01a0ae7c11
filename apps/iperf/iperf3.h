/* iperf3 on 5201: ESnet's own server, unmodified, on a thread beside the raw servers. */
#ifndef APPS_IPERF_IPERF3_H
#define APPS_IPERF_IPERF3_H

/*
 * Start it. One test at a time, as iperf3 does; a client that vanished keeps it for at most a minute. Each test gives one
 * log line. Its memory is taken when a test begins. Returns 0, or a negative errno, logged.
 */
int iperf3_start(void);

#endif
