/*
 * How many connections may stand in TIME-WAIT. lwIP keeps each for 2 MSL and looks through all of them for every SYN: after some
 * thousand short connections most of the time goes there. RFC 9293 §3.6.1 wants the wait so that late segments meet
 * somebody; the youngest TIME_WAIT_MAX have that, and 2 MSL if nobody pushes them out.
 */
#ifndef NET_TCP_TIME_WAIT_H
#define NET_TCP_TIME_WAIT_H

enum {
    TIME_WAIT_MAX = 256,
    TIME_WAIT_SLACK = 64, /* SYNs between two looks */
};

/* A SYN for a listener has come: from time to time, let go of the oldest beyond TIME_WAIT_MAX. */
void net_tcp_time_wait_trim(void);

/* Show tcp_time_wait_recycled_total. Once. */
void net_tcp_time_wait_init(void);

#endif
