/*
 * Connections: requests in, answers out, over lwIP's raw API. A file's bytes go to the device from where they lie.
 *
 * A connection is a few hundred bytes while it waits, so what limits their number is memory (connection.h). Requests that come
 * together are answered together. Who doesn't read his answers gets no more of them, and then his window closes.
 *
 *   a head that is not whole after    10 s    408, and closed: also one that trickles in
 *   a connection kept, and idle       30 s    closed
 *   no progress while we send         60 s    reset
 *   a client that must still close     5 s    reset
 */
#ifndef APPS_HTTP_SERVER_H
#define APPS_HTTP_SERVER_H

#include <stdint.h>

/* Listen on both families. Returns 0, -EADDRINUSE or -ENOMEM. Call with the network locked. */
int server_start(uint16_t port);

#endif
