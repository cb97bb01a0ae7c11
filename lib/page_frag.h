/*
 * Counted slices of pages: the one buffer that the whole path shares.
 *
 * Receive buffers, lwIP's pbufs, control blocks and transmit copies all are `struct frag`s: a slice
 * of a block of pages, with its bookkeeping in front of the data, in the same slice (so a frame costs
 * one allocation, and what is touched together lies together). A freed slice goes back to the
 * free list of its block; a block whose slices are all free is kept for its size class, up to a
 * few, and only then returned to page_alloc. In steady state the page allocator is never called.
 *
 *   class     slices of one size. Sizes are cache-line multiples, chosen so that an MTU frame
 *             with virtio header and bookkeeping fits one class exactly (netdev 2013-11). The table
 *             is in page_frag.c.
 *   wearer    `room` is scratch for whoever owns the frag; net/frag_pbuf.c wears a pbuf there.
 *
 * Memory pressure is decided here and nowhere else: each take names its urgency, and the less
 * urgent ones fail first, so that received bulk data can never keep a FIN, an ARP reply or a control
 * block from getting memory, and data that waits to be acknowledged can't keep the acknowledgement out.
 *
 * Under AddressSanitizer the data of a frag that nobody owns is poisoned: use after give is reported.
 *
 * Not for interrupt handlers. Never blocks. Counts need no atomics: one core, one poll loop.
 */
#ifndef LIB_PAGE_FRAG_H
#define LIB_PAGE_FRAG_H

#include "lib/check.h"
#include "lib/types.h"

enum {
    FRAG_ALIGN = 64,      /* bytes; a cache line: data of two frags never shares one */
    FRAG_ROOM_BYTES = 32, /* scratch for the wearer; lwIP's struct pbuf_custom fits exactly */
    FRAG_HEAD_BYTES = 64, /* struct frag: one cache line in front of the data */
    FRAG_MAX_BYTES =
        69504 /* largest data size: 17 pages less two cache lines of bookkeeping. Holds the
                              65,601 bytes of virtio 1.2 §5.1.6.3.1, the largest receive buffer there is */
};

/*
 * Who may still take when memory runs low. The shares are of what frags can have at all: the pages that
 * they hold plus those that are free. What the C heap and the rings hold doesn't count, so a program
 * that fills its heap makes the buffers fewer, but never takes the last one.
 */
enum frag_urgency {
    FRAG_BULK,    /* full-size receive buffers: not the last quarter */
    FRAG_SMALL,   /* copies of small received frames: not the last eighth */
    FRAG_CONTROL, /* the stack's own needs: not the last thirty-second */
    FRAG_ARRIVAL, /* received frames that hold no more than an acknowledgement, which gives memory back: everything */
    FRAG_URGENCIES,
};

struct frag_block;

struct frag {
    struct frag *next;             /* list link for whoever owns the frag; NULL when alone */
    struct frag_block *block;      /* internal */
    uint8_t *data;                 /* first byte in use; anywhere in the data area */
    uint32_t len;                  /* bytes in use from data */
    uint16_t refs;                 /* 1 after frag_take */
    uint16_t class_idx;            /* internal; frag_capacity() reads it */
    uint8_t room[FRAG_ROOM_BYTES]; /* wearer's scratch, 8-byte aligned; not cleared */
};
static_assert(sizeof(struct frag) == FRAG_HEAD_BYTES, "the data starts right behind");

/* Bytes of the data area, from frag_start(): at least what was asked for; all of them may be used. */
uint32_t frag_capacity(const struct frag *f);

/* First byte of the data area; FRAG_ALIGN-aligned. */
static inline uint8_t *frag_start(struct frag *f)
{
    return (uint8_t *)f + FRAG_HEAD_BYTES;
}

/* The frag whose data area starts at p: the inverse of frag_start(). */
static inline struct frag *frag_of_start(void *p)
{
    return (struct frag *)(void *)((uint8_t *)p - FRAG_HEAD_BYTES);
}

/*
 * Take a frag of at least `bytes` of data (1 … FRAG_MAX_BYTES), refs = 1, next = NULL,
 * data = frag_start, len = 0.
 *
 * Returns NULL when memory at this urgency is used up; counted (frag_stats.refused[urgency]).
 * The caller owns it.
 */
struct frag *frag_take(size_t bytes, enum frag_urgency urgency);

/* One more owner; 65,535 at most. */
static inline void frag_ref(struct frag *f)
{
    ASSERT(f->refs != 0 && f->refs != UINT16_MAX);
    f->refs++;
}

/* One owner less; the last one gives the slice back. f->next is not followed. A frag that nobody owns: ASSERT. */
void frag_give(struct frag *f);

/* frag_give() on every frag of a list linked by next. NULL is fine. */
void frag_give_list(struct frag *f);

/* The capacity that frag_take(bytes) would bring: lets a ring owner use the whole class. */
uint32_t frag_capacity_for(size_t bytes);

/*
 * A cheap test before a refill. False: FRAG_BULK takes are refused now, don't try. True: they are not
 * refused for their urgency (one may still fail when its class needs a new block and that is too large).
 */
bool frag_bulk_available(void);

/*
 * Return every block without a frag in use to page_alloc. Gives the number of pages. page_alloc asks for it
 * by itself when pages run short (page_on_shortage()).
 */
size_t frag_shrink(void);

struct frag_stats {
    uint64_t takes, gives; /* outstanding = takes - gives */
    uint64_t refused[FRAG_URGENCIES];
    uint64_t blocks_new, blocks_released;
    uint32_t blocks_live, blocks_empty; /* now */
    size_t pages_live;                  /* pages held by blocks now, of them … */
    size_t pages_empty;                 /* … in blocks without any frag in use */
};
void frag_stats_get(struct frag_stats *out);

/*
 * Start over: return all blocks, clear the statistics. All frags must have been given back: ASSERTs that.
 * For host tests, at the end of one or at the start of the next; when page_init() has been called in
 * between, the blocks went with the memory that it forgot, and are forgotten here, too.
 */
void frag_reset(void);

/* Show frag_outstanding, frag_pages, frag_refused_total and others among the counters. Call once. */
void frag_register_counters(void);

#endif
