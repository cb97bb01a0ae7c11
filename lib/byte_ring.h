/*
 * Bytes on their way inside the machine: what pipes and local sockets hold. Pages come as they are needed and go when they
 * are read, so that an idle pipe costs none.
 */
#ifndef LIB_BYTE_RING_H
#define LIB_BYTE_RING_H

#include "lib/fd.h"
#include "lib/page_alloc.h"

/* One page more than bytes: a full ring may begin in the middle of a page. */
enum { RING_PAGES_MAX = 64, RING_BYTES_MAX = (RING_PAGES_MAX - 1) * PAGE_BYTES };

struct byte_ring {
    uint8_t *page[RING_PAGES_MAX];
    size_t limit;         /* bytes, at most RING_BYTES_MAX */
    size_t read, written; /* counted from the beginning; they wrap */
};

void ring_init(struct byte_ring *ring, size_t limit);
void ring_clear(struct byte_ring *ring); /* empty; gives its pages back */

static inline size_t ring_bytes(const struct byte_ring *ring)
{
    return ring->written - ring->read;
}

static inline size_t ring_room(const struct byte_ring *ring)
{
    return ring->limit > ring_bytes(ring) ? ring->limit - ring_bytes(ring) : 0;
}

/* As much of pos as fits, at most max. Less than ring_room() only when no page is left. */
size_t ring_put(struct byte_ring *ring, struct iov_pos *pos, size_t max);

/* Make sure that the next `len` bytes (≤ ring_room()) can be put: for records that go whole or not at all. */
bool ring_reserve(struct byte_ring *ring, size_t len);

/* Up to max bytes into pos, from `offset` behind the first unread one; they stay. Returns how many. */
size_t ring_peek(const struct byte_ring *ring, size_t offset, struct iov_pos *pos, size_t max);

/* Forget the first len bytes (≤ ring_bytes()). */
void ring_drop(struct byte_ring *ring, size_t len);

/* Both at once. */
size_t ring_take(struct byte_ring *ring, struct iov_pos *pos, size_t max);

#endif
