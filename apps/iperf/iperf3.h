/*
 * iperf3 on 5201: ESnet's own library, unmodified, in a thread beside the services of this image.
 *
 * One test at a time, as everywhere; another client hears that the server is busy. A client that vanishes makes room
 * within 60 s (apps/iperf3/watch.h). One line on the console a test and direction; buffers exist while a test runs.
 */
#ifndef APPS_IPERF_IPERF3_H
#define APPS_IPERF_IPERF3_H

enum { PORT_IPERF3 = 5201 };

/* Registers its counters, listens, starts the thread. Returns 0 or a negative errno, logged. */
int iperf3_start(void);

#endif
