#include "lib/byte_ring.h"

#include "lib/check.h"

static size_t slot_of(size_t at)
{
    return at / PAGE_BYTES % RING_PAGES_MAX;
}

void ring_init(struct byte_ring *ring, size_t limit)
{
    ASSERT(limit <= RING_BYTES_MAX);
    *ring = (struct byte_ring){.limit = limit};
}

void ring_clear(struct byte_ring *ring)
{
    for (size_t i = 0; i < RING_PAGES_MAX; i++) {
        if (ring->page[i])
            page_give(ring->page[i], 1);
        ring->page[i] = NULL;
    }
    ring->read = ring->written;
}

/* The page that byte number `at` lies in. */
static bool need_page(struct byte_ring *ring, size_t at)
{
    uint8_t **page = &ring->page[slot_of(at)];

    if (!*page)
        *page = page_take(1);
    return *page != NULL;
}

bool ring_reserve(struct byte_ring *ring, size_t len)
{
    for (size_t done = 0; done < len; done += PAGE_BYTES - (ring->written + done) % PAGE_BYTES) {
        if (!need_page(ring, ring->written + done))
            return false;
    }
    return true;
}

size_t ring_put(struct byte_ring *ring, struct iov_pos *pos, size_t max)
{
    size_t done = 0;

    max = size_min(max, ring_room(ring));
    while (done < max && need_page(ring, ring->written)) {
        const size_t offset = ring->written % PAGE_BYTES;
        const size_t step = iov_take(pos, ring->page[slot_of(ring->written)] + offset,
                                     size_min(max - done, PAGE_BYTES - offset));

        if (step == 0)
            break;
        ring->written += step;
        done += step;
    }
    return done;
}

size_t ring_peek(const struct byte_ring *ring, size_t offset, struct iov_pos *pos, size_t max)
{
    const size_t there = ring_bytes(ring) > offset ? ring_bytes(ring) - offset : 0;
    size_t done = 0;

    max = size_min(max, there);
    while (done < max) {
        const size_t at = ring->read + offset + done;
        const size_t step = iov_put(pos, ring->page[slot_of(at)] + at % PAGE_BYTES,
                                    size_min(max - done, PAGE_BYTES - at % PAGE_BYTES));

        if (step == 0)
            break;
        done += step;
    }
    return done;
}

static void give_page(struct byte_ring *ring, size_t at)
{
    uint8_t **page = &ring->page[slot_of(at)];

    if (*page)
        page_give(*page, 1);
    *page = NULL;
}

void ring_drop(struct byte_ring *ring, size_t len)
{
    ASSERT(len <= ring_bytes(ring));
    const size_t end = ring->read + len;

    while (ring->read / PAGE_BYTES != end / PAGE_BYTES) {
        give_page(ring, ring->read);
        ring->read += PAGE_BYTES - ring->read % PAGE_BYTES;
    }
    ring->read = end;
    if (ring_bytes(ring) == 0)
        ring_clear(ring);
}

size_t ring_take(struct byte_ring *ring, struct iov_pos *pos, size_t max)
{
    const size_t done = ring_peek(ring, 0, pos, max);

    ring_drop(ring, done);
    return done;
}
