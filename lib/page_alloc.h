/*
 * Whole pages, from the ranges that boot found.
 *
 * One bit a page. Single pages and runs are taken from the highest addresses downwards; the C heap
 * grows from the lowest free page upwards with page_take_at(). So the two share all of memory, and
 * no split between them has to be guessed at boot.
 *
 * Not for the frame path: page_frag.h recycles what it once took.
 * Callable from anywhere but interrupt handlers. Never blocks.
 */
#ifndef LIB_PAGE_ALLOC_H
#define LIB_PAGE_ALLOC_H

#include "lib/types.h"

enum { PAGE_BYTES = 4096 };

struct page_range {
    uintptr_t start; /* bytes; rounded up to a page */
    uintptr_t end;   /* bytes, exclusive; rounded down */
};

/*
 * Learn the usable memory. The bitmap itself is placed at the start of the largest range.
 *
 *   ranges   usable RAM, non-overlapping, any order; borrowed. Ranges of less than a page are ignored.
 *
 * Returns 0, or -ENOMEM when no range can hold the bitmap. Call once; host tests may call it again,
 * which forgets everything before.
 */
int page_init(const struct page_range *ranges, size_t range_count);

/* Take `count` pages in one run, or NULL. Contents are undefined. Gives the run to the caller. */
void *page_take(size_t count);

/* Take the `count` pages at exactly `addr` (page aligned). Returns 0, or -ENOMEM if any is in use
 * or is not RAM. For the C heap. */
int page_take_at(uintptr_t addr, size_t count);

/* Give back `count` pages that page_take() or page_take_at() gave; parts of a run are welcome. */
void page_give(void *addr, size_t count);

/* The lowest page that is free and has the longest free run of low pages behind it: where the C heap starts. */
uintptr_t page_heap_start(void);

size_t page_free_count(void);  /* pages */
size_t page_total_count(void); /* pages given to page_init, less the bitmap */

#endif
