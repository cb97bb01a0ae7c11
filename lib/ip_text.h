/*
 * IPv4 and IPv6 addresses as text, both ways. Strict: what is not exactly an address is refused.
 *
 * Addresses are bytes in network order. Texts are NUL-terminated.
 */
#ifndef LIB_IP_TEXT_H
#define LIB_IP_TEXT_H

#include "lib/types.h"

enum {
    IP4_TEXT_BYTES = 16, /* "255.255.255.255" and NUL */
    IP6_TEXT_BYTES = 46, /* eight groups, or "::ffff:255.255.255.255", and NUL */
};

/* Four decimal numbers 0 … 255 without leading zeros. False: `addr` is untouched. */
bool ip4_parse(uint8_t addr[4], const char *text);

/* Any of the three forms of RFC 4291 §2.2; no zone, no brackets, no prefix. False: `addr` is untouched. */
bool ip6_parse(uint8_t addr[16], const char *text);

/*
 * ADDRESS/PREFIX, the prefix a decimal number up to 32 or 128 without leading zeros.
 * False: `addr` and `prefix` are untouched.
 */
bool ip4_parse_cidr(uint8_t addr[4], uint8_t *prefix, const char *text);
bool ip6_parse_cidr(uint8_t addr[16], uint8_t *prefix, const char *text);

/* Write the address and a NUL. Returns the length without NUL. */
size_t ip4_format(char text[IP4_TEXT_BYTES], const uint8_t addr[4]);

/* The one form of RFC 5952 §4; IPv4-mapped addresses in mixed notation (§5). */
size_t ip6_format(char text[IP6_TEXT_BYTES], const uint8_t addr[16]);

#endif
