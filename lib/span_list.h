/*
 * A short sorted list of address ranges: add, cut out, take from the top.
 *
 * Boot uses it on what a loader said about memory. Spans never touch or overlap: adding merges.
 * A list that is full drops what would not fit and counts it; memory forgotten is memory not used, which is safe.
 */
#ifndef LIB_SPAN_LIST_H
#define LIB_SPAN_LIST_H

#include "lib/types.h"

enum { SPAN_LIST_MAX = 64 }; /* e820 maps of real machines stay below 40 entries */

struct span {
    uint64_t start, end; /* bytes, end exclusive; start < end */
};

struct span_list {
    struct span v[SPAN_LIST_MAX];
    size_t count;
    uint32_t dropped; /* spans that found no room */
};

/* Add [start, end). Empty and backward ranges are ignored. */
void span_add(struct span_list *list, uint64_t start, uint64_t end);

/* Cut [start, end) out of everything in the list. If a split finds no room the upper part is dropped. */
void span_remove(struct span_list *list, uint64_t start, uint64_t end);

/* Shrink every span to whole units (a power of two); those of less than one vanish. */
void span_align(struct span_list *list, uint64_t unit);

/*
 * Cut `bytes` off the top of the largest span that lies below `limit` (a span crossing it counts with its
 * lower part). Start stays as aligned as span ends and `bytes` are. Returns the start, or 0 when none is large enough.
 */
uint64_t span_take_top(struct span_list *list, uint64_t bytes, uint64_t limit);

/* True when one span holds all of [start, end). */
bool span_contains(const struct span_list *list, uint64_t start, uint64_t end);

uint64_t span_total(const struct span_list *list); /* bytes */

#endif
