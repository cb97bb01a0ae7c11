/*
 * What senders send: one read-only pattern, written to lwIP by reference, never copied.
 *
 * It is chargen's (RFC 864): 95 lines of 72 printable characters and CR LF, each starting one character further;
 * repeated so often that nearly 64 KB lie in one piece. iperf's clients don't look at what they receive, so it
 * serves them too.
 */
#ifndef APPS_IPERF_PAYLOAD_H
#define APPS_IPERF_PAYLOAD_H

#include "lib/types.h"

enum {
    PAYLOAD_LINE_BYTES = 74,
    PAYLOAD_PERIOD_BYTES = 95 * PAYLOAD_LINE_BYTES,
    PAYLOAD_BYTES = 9 * PAYLOAD_PERIOD_BYTES, /* below 65,536: lwIP counts in 16 bits */
};
static_assert(PAYLOAD_BYTES == 63270, "one tcp_write() can take all of it");

/* Fill the pattern in. Call once at start. */
void payload_init(void);

/* The longest piece from stream position `pos` on: *len is 1 … PAYLOAD_BYTES. */
const uint8_t *payload_at(uint64_t pos, size_t *len);

#endif
