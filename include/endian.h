/* Byte orders (glibc's <endian.h>, POSIX.1-2024). The machine is little-endian. */
#ifndef RINGLET_ENDIAN_H
#define RINGLET_ENDIAN_H

#include <sys/endian.h>

#ifndef LITTLE_ENDIAN
#define LITTLE_ENDIAN 1234
#define BIG_ENDIAN 4321
#define PDP_ENDIAN 3412
#define BYTE_ORDER LITTLE_ENDIAN
#endif

#define __LITTLE_ENDIAN LITTLE_ENDIAN
#define __BIG_ENDIAN BIG_ENDIAN
#define __BYTE_ORDER BYTE_ORDER

#endif
