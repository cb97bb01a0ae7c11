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
 *   ranges   usable RAM, any order; borrowed for the call. Ranges that touch or overlap become one,
 *            ranges without a whole page are ignored, and so is page 0: its address is NULL.
 *
 * Returns 0, or -ENOMEM when no range can hold the bitmap. Call once; host tests may call it again,
 * which forgets everything before, the shortage hook included.
 */
int page_init(const struct page_range *ranges, size_t range_count);

/*
 * Take `count` (≥ 1) pages in one run, or NULL. Contents are undefined. Gives the run to the caller.
 * One page costs a few dozen instructions; a longer run may scan the bitmap.
 */
void *page_take(size_t count);

/*
 * Take the `count` (≥ 1) pages at exactly `addr` (page aligned). Returns 0, or -ENOMEM if any is in
 * use or is not RAM; then none is taken. For the C heap.
 */
int page_take_at(uintptr_t addr, size_t count);

/*
 * Give back `count` (≥ 1) pages that page_take() or page_take_at() gave; parts of a run are welcome.
 * A page that is free already, or never was RAM, is our own bug: ASSERT.
 */
void page_give(void *addr, size_t count);

/* The first page of the longest free run (the lowest such run): where the C heap starts. 0: nothing is free. */
uintptr_t page_heap_start(void);

size_t page_free_count(void);  /* pages */
size_t page_total_count(void); /* pages given to page_init, less the bitmap */

/*
 * Whom to ask when a request can't be met: `spare` gives back with page_give() what it only keeps to be
 * quick, and says how many pages that was; the request is then tried once more. One hook; NULL for none.
 * Returns the hook that was there before.
 */
typedef size_t (*page_spare_fn)(void);
page_spare_fn page_on_shortage(page_spare_fn spare);

/* Show pages, pages_free and page_refused_total among the counters. Call once. */
void page_register_counters(void);

#endif
