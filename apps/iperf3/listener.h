/* iperf3's listening socket, kept from one test to the next: listener.c. */
#ifndef APPS_IPERF3_LISTENER_H
#define APPS_IPERF3_LISTENER_H

/*
 * Listen on `port` of both families before iperf3 does; its next call for that port gets this socket.
 * Returns 0 or a negative errno.
 */
int listener_open(int port);

#endif
