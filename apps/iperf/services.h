/*
 * The small services of RFC 862, 863, 864, and the datagram counter. Each start function registers its
 * counters and listens; returns 0 or a negative errno, logged.
 */
#ifndef APPS_IPERF_SERVICES_H
#define APPS_IPERF_SERVICES_H

enum { PORT_ECHO = 7, PORT_DISCARD = 9, PORT_CHARGEN = 19 };

/*
 * Echo. TCP returns what it was sent by reference to the received buffers. It takes in up to 4 MiB a connection that
 * its client hasn't read, less when all connections together hold a quarter of free memory, but always
 * 64 KiB; beyond that the window closes until the client reads. The client's FIN is answered with ours
 * once everything is delivered.
 * UDP sends the received buffer itself back. Datagrams from ports 7 and 19 are dropped: two echoing machines would
 * never stop.
 */
int svc_echo_start(void);

/* Discard, TCP: reads until the client's FIN. */
int svc_discard_start(void);

/* Chargen, TCP: sends until the client closes; what it is sent is dropped. */
int svc_chargen_start(void);

/*
 * Counter on 9/UDP. A datagram of the single byte '?' is answered with "DATAGRAMS BYTES" in decimal
 * (payload bytes; '?' itself doesn't count) and both start from 0 again. Anything else is counted
 * and dropped.
 */
int svc_counter_start(void);

#endif
