#include "lib/page_frag.h"

#include <string.h>

#include "lib/counters.h"
#include "lib/page_alloc.h"
#include "lib/poison.h"

/* Kept apart from the few instructions that every frame runs through. */
#define OUT_OF_LINE __attribute__((noinline))

/*
 * The size classes. A block is a run of pages: one cache line of bookkeeping, then slices, each a
 * struct frag and its data. Blocks come in three lengths only (1, 4 and 17 pages), so that what one
 * class returns fits the next one that asks, and memory doesn't splinter.
 *
 *     X(index, size of the class before, data bytes, slices, pages)
 */
#define FRAG_CLASSES(X)                                                                            \
    X(0, 0, 64, 31, 1)         /* headers and small control blocks, TCP ACKs */                    \
    X(1, 64, 128, 21, 1)       /* minimum frames with virtio header, segments, timers */           \
    X(2, 128, 256, 12, 1)      /* requests and answers, DNS, small copies */                       \
    X(3, 256, 384, 9, 1)       /* protocol control blocks, DHCP's 342 bytes */                     \
    X(4, 384, 512, 7, 1)       /* 4032 bytes split by seven without a rest */                      \
    X(5, 512, 1088, 14, 4)     /* between a small frame and a full one */                          \
    X(6, 1088, 1536, 10, 4)    /* MTU frame + header, 12 + 14 + 4 + 1500 (netdev 2013-11) */       \
    X(7, 1536, 2240, 7, 4)     /* MTU up to 2000, tunnels */                                       \
    X(8, 2240, 4224, 16, 17)   /* a page of data; rxbuf=page */                                    \
    X(9, 4224, 9856, 7, 17)    /* jumbo frame, 9000 + headers */                                   \
    X(10, 9856, 17280, 4, 17)  /* average of large frames: 16 KiB, */                              \
    X(11, 17280, 34688, 2, 17) /* 32 KiB, */                                                       \
    X(12, 34688, 69504, 1, 17) /* and 64 KiB + headers: a whole frame of GUEST_TSO (§5.1.6.3.1) */

enum {
    CLASS_COUNT = 13,
    BLOCK_HEAD_BYTES = 64,
    STEP = FRAG_ALIGN, /* class_of_size[] has an entry for each step of so many bytes */
    /* Empty blocks kept for reuse: one a class, and more while they are less than this share of memory. */
    KEEP_SHARE = 8,
};

/*
 * Head of a block, in its first cache line. A block with a free slice is in its class's ring; a full one
 * is in none.
 */
struct frag_block {
    struct frag_block *prev, *next;
    struct frag *free; /* slices nobody owns, linked by next */
    uint32_t used;     /* slices somebody owns */
    uint16_t class_idx;
    uint16_t page_count;
};
static_assert(sizeof(struct frag_block) <= BLOCK_HEAD_BYTES, "slices start behind it");

struct frag_class {
    uint32_t data_bytes;
    uint16_t slice_count, page_count;
};

static const struct frag_class classes[CLASS_COUNT] = {
#define X(idx, before, data, slices, pages) [idx] = {data, slices, pages},
    FRAG_CLASSES(X)
#undef X
};

static const uint8_t class_of_size[FRAG_MAX_BYTES / STEP + 1] = {
#define X(idx, before, data, slices, pages) [(before) / STEP + 1 ...(data) / STEP] = idx,
    FRAG_CLASSES(X)
#undef X
};

#define X(idx, before, data, slices, pages)                                                        \
    static_assert((data) % FRAG_ALIGN == 0, "the next slice must start on a cache line");          \
    static_assert(BLOCK_HEAD_BYTES + (slices) * (FRAG_HEAD_BYTES + (data)) <= (pages)*PAGE_BYTES,  \
                  "the slices must fit");                                                          \
    static_assert(BLOCK_HEAD_BYTES + ((slices) + 1) * (FRAG_HEAD_BYTES + (data)) >                 \
                      (pages)*PAGE_BYTES,                                                          \
                  "one more would fit");
FRAG_CLASSES(X)
#undef X

static struct {
    struct frag_block
        ring[CLASS_COUNT]; /* sentinels, with no free slice; next: where to take from */
    /* By urgency: refused just now. Worked out whenever a block starts, ends, comes or goes, so that the
     * take itself only looks. Pages that others take or give in between count from the next such event. */
    bool closed[FRAG_URGENCIES];
    uint64_t takes, gives;
    size_t pages_live, pages_empty;
    uint32_t blocks_live, blocks_empty;
    uint32_t empty_count[CLASS_COUNT];
    uint64_t refused[FRAG_URGENCIES];
    uint64_t blocks_new, blocks_released;
} frags = {
#define X(idx, before, data, slices, pages)                                                        \
    .ring[idx] = {.prev = &frags.ring[idx], .next = &frags.ring[idx]},
    FRAG_CLASSES(X)
#undef X
};

static void ring_unlink(struct frag_block *b)
{
    b->prev->next = b->next;
    b->next->prev = b->prev;
}

static void ring_link(struct frag_block *b, struct frag_block *after)
{
    b->prev = after;
    b->next = after->next;
    after->next->prev = b;
    after->next = b;
}

static uint32_t class_idx_for(size_t bytes)
{
    ASSERT(bytes - 1 < FRAG_MAX_BYTES);
    return class_of_size[(bytes + STEP - 1) / STEP];
}

/*
 * May a take of this urgency use `new_pages` more? What must stay is a share of all that frags can have:
 * a quarter, an eighth, a thirty-second, nothing.
 */
static bool level_allows(enum frag_urgency urgency, size_t new_pages)
{
    static const uint8_t share_shift[] = {[FRAG_BULK] = 2, [FRAG_SMALL] = 3, [FRAG_CONTROL] = 5};

    if (urgency == FRAG_ARRIVAL)
        return true;
    const size_t free_count = page_free_count();
    const size_t reserve = (free_count + frags.pages_live) >> share_shift[urgency];

    return free_count + frags.pages_empty >= reserve + new_pages;
}

static void levels_update(void)
{
    frags.closed[FRAG_BULK] = !level_allows(FRAG_BULK, 0);
    frags.closed[FRAG_SMALL] = !level_allows(FRAG_SMALL, 0);
    frags.closed[FRAG_CONTROL] = !level_allows(FRAG_CONTROL, 0);
}

static struct frag *block_slice(struct frag_block *b, size_t slice_idx)
{
    const size_t slice_bytes = FRAG_HEAD_BYTES + classes[b->class_idx].data_bytes;
    return (struct frag *)(void *)((uint8_t *)b + BLOCK_HEAD_BYTES + slice_idx * slice_bytes);
}

/* Cut a run of pages into slices, lowest first on the free list. What never changes in them is written now. */
static void block_cut(struct frag_block *b, uint32_t class_idx)
{
    const struct frag_class *class = &classes[class_idx];
    *b = (struct frag_block){.class_idx = (uint16_t)class_idx, .page_count = class->page_count};
    for (size_t i = class->slice_count; i-- > 0;) {
        struct frag *f = block_slice(b, i);
        f->block = b;
        f->class_idx = (uint16_t)class_idx;
        f->refs = 0;
        f->next = b->free;
        b->free = f;
        memory_poison(frag_start(f), class->data_bytes);
    }
}

/* A block without a frag in use leaves its ring for page_alloc. */
static void block_release(struct frag_block *b)
{
    const size_t page_count = b->page_count;
    ring_unlink(b);
    frags.pages_live -= page_count;
    frags.pages_empty -= page_count;
    frags.empty_count[b->class_idx]--;
    frags.blocks_live--;
    frags.blocks_empty--;
    frags.blocks_released++;
    page_give(b, page_count);
}

size_t frag_shrink(void)
{
    const size_t before = frags.pages_live;
    for (size_t i = 0; i < CLASS_COUNT; i++) {
        struct frag_block *const ring = &frags.ring[i];
        for (struct frag_block *b = ring->next, *next; b != ring; b = next) {
            next = b->next;
            if (b->used == 0)
                block_release(b);
        }
    }
    return before - frags.pages_live;
}

/* Add an empty block to the class. False when memory, or what this urgency may have of it, is used up. */
static bool class_grow(uint32_t class_idx, enum frag_urgency urgency)
{
    const size_t page_count = classes[class_idx].page_count;
    if (!level_allows(urgency, page_count))
        return false;
    page_on_shortage(frag_shrink); /* again each time: page_init() may have cleared it */
    struct frag_block *b = page_take(page_count);
    if (!b)
        return false;
    block_cut(b, class_idx);
    ring_link(b, &frags.ring[class_idx]);
    frags.pages_live += page_count;
    frags.pages_empty += page_count;
    frags.empty_count[class_idx]++;
    frags.blocks_live++;
    frags.blocks_empty++;
    frags.blocks_new++;
    return true;
}

/* The first frag of a block was taken; hands that frag on. */
static OUT_OF_LINE struct frag *block_starts(struct frag_block *b, struct frag *f)
{
    frags.pages_empty -= b->page_count;
    frags.empty_count[b->class_idx]--;
    frags.blocks_empty--;
    levels_update();
    return f;
}

/* Take the slice f, the first on the free list of b. */
static inline struct frag *slice_take(struct frag_block *b, struct frag *f)
{
    b->free = f->next;
    if (!f->next)
        ring_unlink(b);
    f->next = NULL;
    f->data = frag_start(f);
    f->len = 0;
    f->refs = 1;
    frags.takes++;
    memory_unpoison(frag_start(f), classes[f->class_idx].data_bytes);
    if (b->used++ == 0)
        return block_starts(b, f);
    return f;
}

/* The class has no free slice, or the urgency is refused; or so it seemed. */
static OUT_OF_LINE struct frag *take_slowly(uint32_t class_idx, enum frag_urgency urgency)
{
    const struct frag_block *ring = &frags.ring[class_idx];
    levels_update();
    if (frags.closed[urgency] || (ring->next == ring && !class_grow(class_idx, urgency))) {
        frags.refused[urgency]++;
        return NULL;
    }
    return slice_take(ring->next, ring->next->free);
}

struct frag *frag_take(size_t bytes, enum frag_urgency urgency)
{
    const uint32_t class_idx = class_idx_for(bytes);
    struct frag_block *b = frags.ring[class_idx].next;
    struct frag *f = b->free;

    /* Refused also when a slice is at hand: otherwise bulk would creep into blocks made from the reserve. */
    if (__builtin_expect(!f || frags.closed[urgency], 0))
        return take_slowly(class_idx, urgency);
    return slice_take(b, f);
}

/* The last frag of a block came back: keep the block, or let it go. */
static OUT_OF_LINE void block_ends(struct frag_block *b)
{
    struct frag_block *const ring = &frags.ring[b->class_idx];
    frags.pages_empty += b->page_count;
    frags.blocks_empty++;
    if (frags.empty_count[b->class_idx]++ > 0 &&
        frags.pages_empty > page_total_count() / KEEP_SHARE) {
        block_release(b);
        levels_update();
        return;
    }
    levels_update();
    /* To the end of the ring, so that blocks in use fill up first. Not where a block is one slice:
     * there the last one given is warm. */
    if (ring->prev != b && classes[b->class_idx].slice_count > 1) {
        ring_unlink(b);
        ring_link(b, ring->prev);
    }
}

void frag_give(struct frag *f)
{
    ASSERT(f->refs != 0);
    if (--f->refs != 0)
        return;
    memory_poison(frag_start(f), classes[f->class_idx].data_bytes);
    frags.gives++;

    struct frag_block *b = f->block;
    f->next = b->free;
    b->free = f;
    if (!f->next)
        ring_link(b, &frags.ring[b->class_idx]);
    if (--b->used == 0)
        block_ends(b);
}

void frag_give_list(struct frag *f)
{
    while (f) {
        struct frag *next = f->next;
        frag_give(f);
        f = next;
    }
}

uint32_t frag_capacity(const struct frag *f)
{
    return classes[f->class_idx].data_bytes;
}

uint32_t frag_capacity_for(size_t bytes)
{
    return classes[class_idx_for(bytes)].data_bytes;
}

bool frag_bulk_available(void)
{
    return level_allows(FRAG_BULK, 0);
}

void frag_stats_get(struct frag_stats *out)
{
    *out = (struct frag_stats){
        .takes = frags.takes,
        .gives = frags.gives,
        .blocks_new = frags.blocks_new,
        .blocks_released = frags.blocks_released,
        .blocks_live = frags.blocks_live,
        .blocks_empty = frags.blocks_empty,
        .pages_live = frags.pages_live,
        .pages_empty = frags.pages_empty,
    };
    memcpy(out->refused, frags.refused, sizeof(out->refused));
}

void frag_reset(void)
{
    ASSERT(frags.takes == frags.gives);
    /* The hook is gone when page_init() was called since, and then our blocks are not ours any more. */
    if (page_on_shortage(NULL) == frag_shrink)
        frag_shrink();
    memset(&frags, 0, sizeof(frags));
    for (size_t i = 0; i < CLASS_COUNT; i++)
        frags.ring[i].prev = frags.ring[i].next = &frags.ring[i];
}

static uint64_t read_outstanding(void *arg)
{
    (void)arg;
    return frags.takes - frags.gives;
}

static uint64_t read_size(void *arg)
{
    return *(const size_t *)arg;
}

void frag_register_counters(void)
{
    static struct counter list[] = {
        {.name = "frag_outstanding",
         .help = "Buffers that somebody owns now.",
         .type = COUNTER_GAUGE,
         .read = read_outstanding},
        {.name = "frag_takes_total", .help = "Buffers taken.", .value = &frags.takes},
        {.name = "frag_pages",
         .help = "Pages held by buffers, in use or kept for reuse.",
         .type = COUNTER_GAUGE,
         .read = read_size,
         .arg = &frags.pages_live},
        {.name = "frag_pages_kept",
         .help = "Pages kept for reuse, without a buffer in use.",
         .type = COUNTER_GAUGE,
         .read = read_size,
         .arg = &frags.pages_empty},
        {.name = "frag_blocks_new_total",
         .help = "Times that buffers needed pages from the page allocator.",
         .value = &frags.blocks_new},
#define REFUSED(label, urgency)                                                                    \
    {.name = "frag_refused_total",                                                                 \
     .labels = "urgency=\"" label "\"",                                                            \
     .help = "Buffers refused because memory, or this urgency's share of it, was used up.",        \
     .value = &frags.refused[urgency]}
        REFUSED("bulk", FRAG_BULK),
        REFUSED("small", FRAG_SMALL),
        REFUSED("control", FRAG_CONTROL),
        REFUSED("arrival", FRAG_ARRIVAL),
#undef REFUSED
    };
    for (size_t i = 0; i < ARRAY_COUNT(list); i++)
        counters_add(&list[i]);
}
