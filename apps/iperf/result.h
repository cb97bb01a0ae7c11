/* One line of text about a finished test: "10.0.0.1:53422 tcp in 1.2 GB 10.00 s 1.03 Gbit/s". */
#ifndef APPS_IPERF_RESULT_H
#define APPS_IPERF_RESULT_H

#include "lib/types.h"

enum { RESULT_TEXT_MAX = 192 };

struct result {
    const char *peer;      /* address and port */
    const char *proto;     /* "tcp", "udp" */
    const char *direction; /* seen from here: "in", "out" */
    uint64_t bytes;
    uint64_t us;
    bool datagrams; /* the rest counts */
    uint64_t lost, total, out_of_order, jitter_us;
};

/* Always NUL-terminated. */
void result_format(char *out, size_t size, const struct result *r);

/* "1.2 GB", "640 B": decimal units, two or three digits. */
void result_bytes(char *out, size_t size, uint64_t bytes);
/* "1.03 Gbit/s" */
void result_rate(char *out, size_t size, uint64_t bytes, uint64_t us);

#endif
