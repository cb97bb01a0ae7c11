/*
 * A pbuf that wears a part of another's memory, so that data is cut without being copied.
 *
 * Poll loop only.
 */
#ifndef NET_PBUF_SLICE_H
#define NET_PBUF_SLICE_H

#include "lwip/pbuf.h"

/*
 * `len` bytes at `payload`, which belong to `of` or to a pbuf of its chain. It holds a reference to `of` until it is freed.
 * Nothing can be put in front of it. NULL: no memory.
 */
struct pbuf *pbuf_slice(struct pbuf *of, void *payload, u16_t len);

#endif
