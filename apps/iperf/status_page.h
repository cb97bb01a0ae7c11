/*
 * The status page, for people, and /metrics, for Prometheus: what every image with a web server shows of itself.
 * A page is one growing text on the C heap.
 */
#ifndef APPS_IPERF_STATUS_PAGE_H
#define APPS_IPERF_STATUS_PAGE_H

#include "lib/types.h"

/* Start with {0}. failed: memory ran out; the text is then useless. */
struct http_text {
    char *bytes;
    size_t len, capacity;
    bool failed;
};

void http_text_put(struct http_text *t, const char *bytes, size_t len);
__attribute__((format(printf, 2, 3))) void http_text_format(struct http_text *t, const char *fmt,
                                                            ...); /* 511 bytes at most */
void http_text_free(struct http_text *t);

/* `services`: a line of HTML that says what this image offers. Both return the media type. */
const char *status_page(struct http_text *t, const char *services);
const char *status_metrics(struct http_text *t);

#endif
