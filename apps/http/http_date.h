/* Dates as HTTP writes them (RFC 9110 §5.6.7). Pure. */
#ifndef APPS_HTTP_HTTP_DATE_H
#define APPS_HTTP_HTTP_DATE_H

#include <stddef.h>
#include <time.h>

enum { HTTP_DATE_BYTES = 30 }; /* "Sun, 06 Nov 1994 08:49:37 GMT" and a NUL */

void http_date_format(time_t when, char out[HTTP_DATE_BYTES]);

/* Seconds since 1970, or -1. All three forms that a recipient must take. */
time_t http_date_parse(const char *text, size_t len);

#endif
