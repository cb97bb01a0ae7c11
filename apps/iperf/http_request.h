/*
 * The head of an HTTP request, as far as a status page needs it. RFC 9112 §2–3.
 *
 * Pure: no connection, no memory of its own. Fuzzed and unit-tested on the host.
 */
#ifndef APPS_IPERF_HTTP_REQUEST_H
#define APPS_IPERF_HTTP_REQUEST_H

#include "lib/types.h"

enum {
    HTTP_HEAD_MAX = 8192, /* bytes of request line and fields together; more is 431 */
    HTTP_TARGET_MAX = 256,
};

struct http_request {
    bool head;                    /* HEAD: the answer has no body */
    char target[HTTP_TARGET_MAX]; /* path without query; NUL-terminated */
};

/*
 * Look at the `len` bytes received so far.
 *
 * Returns 0 while the head isn't complete; 200 with *out filled when it is; otherwise the status to answer: 400 malformed, 405
 * a method other than GET and HEAD, 414 target too long, 431 head too long, 505 not HTTP/1.x.
 */
int http_parse(const char *bytes, size_t len, struct http_request *out);

#endif
