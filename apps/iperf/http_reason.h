/* What HTTP's status codes are called (RFC 9110 §15). */
#ifndef APPS_IPERF_HTTP_REASON_H
#define APPS_IPERF_HTTP_REASON_H

/* "Not Found" for 404; "Unknown" for one that no server here sends. */
const char *http_reason(int status);

#endif
