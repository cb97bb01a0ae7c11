/*
 * The status server on port 80: one request a connection, GET and HEAD of "/" and "/metrics".
 *
 * A client gets HTTP_HEAD_WAIT_S for its request and SERVICE_STALL_S between two signs of life while it is answered.
 */
#ifndef APPS_IPERF_HTTP_H
#define APPS_IPERF_HTTP_H

enum { HTTP_PORT = 80, HTTP_HEAD_WAIT_S = 20 };

/* Register the counters and listen; returns 0 or a negative errno, logged. */
int http_start(void);

#endif
