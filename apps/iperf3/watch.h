/*
 * An eye on the iperf3 server's main loop, from outside its source.
 *
 * iperf3 notices a silent client only where it receives. In the other cases (-R, a client that stops between two steps,
 * one that never ends its test) it would be busy for good, and later clients hear only that it is. So the loop's
 * select() looks here: a session in which nothing moves for WATCH_QUIET_S, or which goes on for WATCH_LATE_S after its
 * end was due, loses its control connection, and iperf3 ends it as it ends any other.
 */
#ifndef APPS_IPERF3_WATCH_H
#define APPS_IPERF3_WATCH_H

#include <stdbool.h>

enum {
    WATCH_QUIET_S = 35,
    WATCH_LATE_S =
        30, /* less than iperf3's own 40, after which it frees streams whose threads still run */
};

/* Must this socket be reset rather than closed? What is queued for a peer that is gone would hold memory for minutes. */
bool watch_aborts(int fd);

/*
 * Is this the connection of a client that was just told that the server is busy? Its cookie is still to be read: closed
 * before that, the connection would be reset, and the word lost.
 */
bool watch_refuses(int fd);

#endif
