/*
 * What lwIP needs to know of compiler and machine.
 *
 * Byte order, integer types and format strings come from the C library's own headers; only what differs
 * stands here.
 */
#ifndef NET_LWIP_PORT_CC_H
#define NET_LWIP_PORT_CC_H

#include <limits.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "lib/check.h"
#include "lib/log.h"
#include "lib/random.h"

/* newlib leaves SSIZE_MAX to POSIX feature macros; without it lwIP would define its own ssize_t. */
#ifndef SSIZE_MAX
#define SSIZE_MAX LONG_MAX
#endif

#define LWIP_RAND() random_u32()

/* lwIP's diagnostics (all off by default) are pieces of lines, so they can't pass through the log. */
#define LWIP_PLATFORM_DIAG(x)                                                                      \
    do {                                                                                           \
    } while (0)
#define LWIP_PLATFORM_ASSERT(x) panic("lwIP: %s", x)

/* One's complement sum over any alignment and length: net/csum.c. */
uint16_t csum_lwip(const void *data, int len);
#define LWIP_CHKSUM csum_lwip

#endif
