/*
 * What the status server says: a page for people and /metrics for Prometheus.
 *
 * An answer is one growing text on the C heap: head and body together.
 */
#ifndef APPS_IPERF_HTTP_PAGE_H
#define APPS_IPERF_HTTP_PAGE_H

#include "lib/types.h"

/* Start with {0}. failed: memory ran out; the text is then useless. */
struct http_text {
    char *bytes;
    size_t len, capacity;
    bool failed;
};

void http_text_free(struct http_text *t);

/* The whole answer to GET (or HEAD: head only) of `target`, or to a request that failed with `status`. */
void http_answer(struct http_text *t, int status, const char *target, bool head_only);

#endif
