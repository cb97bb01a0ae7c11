/* The status server's answers: head and body as one text. */
#ifndef APPS_IPERF_HTTP_PAGE_H
#define APPS_IPERF_HTTP_PAGE_H

#include "apps/iperf/status_page.h"

/* The whole answer to GET (or HEAD: head only) of `target`, or to a request that failed with `status`. */
void http_answer(struct http_text *t, int status, const char *target, bool head_only);

#endif
