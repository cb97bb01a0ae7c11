#include "lib/page_alloc.h"

#include <errno.h>
#include <string.h>

#include "lib/check.h"
#include "lib/counters.h"
#include "lib/poison.h"

/*
 * Memory is a few regions with holes between them, each with its own bitmap, so that a hole (or, on the
 * host, the distance between two arenas) costs nothing. A set bit is a free page.
 */
struct region {
    uintptr_t start; /* page aligned */
    size_t page_count;
    uint64_t *free_bits; /* bits behind page_count are clear for ever */
};

enum { WORD_BITS = 64 };

static struct {
    struct region *regions; /* ascending, none touching the next; lies in the books */
    size_t region_count;
    uintptr_t books_start, books_end; /* pages that hold the regions and their bitmaps */
    size_t total_count, free_count;
    /* Nothing is free above this word: where page_take(1) looks first. */
    size_t hint_region, hint_word;
    page_spare_fn spare;
    uint64_t refused;
} pages;

static size_t word_count(const struct region *r)
{
    return (r->page_count + WORD_BITS - 1) / WORD_BITS;
}

static uintptr_t region_end(const struct region *r)
{
    return r->start + r->page_count * PAGE_BYTES;
}

/* The `count` ≤ 64 bits of a word from `first` on. */
static uint64_t bits_mask(size_t first, size_t count)
{
    return (count == WORD_BITS ? ~0ULL : (1ULL << count) - 1) << first;
}

/*
 * Walk the bits [idx, idx + count) word by word. Stops, and returns false, at the first word in which a bit
 * differs from `want_free`. With `flip`, every bit passed is inverted.
 */
static bool bits_walk(struct region *r, size_t idx, size_t count, bool want_free, bool flip)
{
    while (count > 0) {
        const size_t first = idx % WORD_BITS;
        const size_t n = size_min(count, WORD_BITS - first);
        const uint64_t mask = bits_mask(first, n);
        uint64_t *word = &r->free_bits[idx / WORD_BITS];
        if ((*word & mask) != (want_free ? mask : 0))
            return false;
        if (flip)
            *word ^= mask;
        idx += n;
        count -= n;
    }
    return true;
}

/* The region that holds all of [addr, addr + count pages), or NULL. */
static struct region *region_of(uintptr_t addr, size_t count)
{
    for (size_t i = 0; i < pages.region_count; i++) {
        struct region *r = &pages.regions[i];
        if (addr < r->start || addr >= region_end(r))
            continue;
        return count <= (region_end(r) - addr) / PAGE_BYTES ? r : NULL;
    }
    return NULL;
}

/* A range cut to whole pages; an empty one has start == end. */
static struct page_range whole_pages(struct page_range range)
{
    const struct page_range none = {0, 0};
    if (range.start > UINTPTR_MAX - PAGE_BYTES)
        return none;
    range.start = size_round_up(size_max(range.start, PAGE_BYTES), PAGE_BYTES);
    range.end &= ~(uintptr_t)(PAGE_BYTES - 1);
    return range.start < range.end ? range : none;
}

/* Put a range into the sorted table, joined with whatever it touches. */
static void region_insert(struct page_range range)
{
    struct region *const table = pages.regions;
    size_t i = 0;
    while (i < pages.region_count && region_end(&table[i]) < range.start)
        i++;

    size_t joined = i;
    while (joined < pages.region_count && table[joined].start <= range.end) {
        range.start = size_min(range.start, table[joined].start);
        range.end = size_max(range.end, region_end(&table[joined]));
        joined++;
    }
    memmove(&table[i + 1], &table[joined], (pages.region_count - joined) * sizeof(*table));
    pages.region_count += i + 1 - joined;
    table[i] = (struct region){range.start, (range.end - range.start) / PAGE_BYTES, NULL};
}

/* Bytes for the table and all bitmaps; a little more than needed when ranges join. */
static size_t books_bytes(const struct page_range *ranges, size_t range_count)
{
    size_t bytes = 0;
    for (size_t i = 0; i < range_count; i++) {
        const struct page_range r = whole_pages(ranges[i]);
        const size_t page_count = (r.end - r.start) / PAGE_BYTES;
        bytes += sizeof(struct region) + (page_count / WORD_BITS + 1) * sizeof(uint64_t);
    }
    return size_round_up(bytes, PAGE_BYTES);
}

/* Lay the bitmaps behind the table, with every page free. */
static void bitmaps_fill(void)
{
    uint64_t *bits = (uint64_t *)(void *)(pages.regions + pages.region_count);
    for (size_t i = 0; i < pages.region_count; i++) {
        struct region *r = &pages.regions[i];
        r->free_bits = bits;
        bits += word_count(r);
        memset(r->free_bits, 0, word_count(r) * sizeof(uint64_t));
        bits_walk(r, 0, r->page_count, false, true);
        pages.total_count += r->page_count;
    }
}

static void hint_raise(const struct region *r, size_t word_idx)
{
    const size_t region_idx = (size_t)(r - pages.regions);
    if (region_idx > pages.hint_region ||
        (region_idx == pages.hint_region && word_idx > pages.hint_word)) {
        pages.hint_region = region_idx;
        pages.hint_word = word_idx;
    }
}

static void poison_all(void)
{
    for (size_t i = 0; i < pages.region_count; i++) {
        const struct region *r = &pages.regions[i];
        for (uintptr_t at = r->start; at < region_end(r); at += PAGE_BYTES)
            if (at < pages.books_start || at >= pages.books_end)
                memory_poison((const void *)at, PAGE_BYTES);
    }
}

int page_init(const struct page_range *ranges, size_t range_count)
{
    struct page_range largest = {0, 0};
    for (size_t i = 0; i < range_count; i++) {
        const struct page_range r = whole_pages(ranges[i]);
        if (r.end - r.start > largest.end - largest.start)
            largest = r;
    }
    memset(&pages, 0, sizeof(pages));
    const size_t books = books_bytes(ranges, range_count);
    if (books >= largest.end - largest.start)
        return -ENOMEM;

    memory_unpoison((const void *)largest.start, books);
    pages.regions = (struct region *)largest.start;
    pages.books_start = largest.start;
    pages.books_end = largest.start + books;
    for (size_t i = 0; i < range_count; i++) {
        const struct page_range r = whole_pages(ranges[i]);
        if (r.start < r.end)
            region_insert(r);
    }
    bitmaps_fill();

    const size_t books_pages = books / PAGE_BYTES;
    struct region *home = region_of(pages.books_start, books_pages);
    bits_walk(home, (pages.books_start - home->start) / PAGE_BYTES, books_pages, true, true);
    pages.total_count -= books_pages;
    pages.free_count = pages.total_count;
    const struct region *top = &pages.regions[pages.region_count - 1];
    hint_raise(top, word_count(top) - 1);
    poison_all();
    return 0;
}

static void *run_taken(struct region *r, size_t idx, size_t count)
{
    bits_walk(r, idx, count, true, true);
    pages.free_count -= count;
    void *run = (void *)(r->start + idx * PAGE_BYTES);
    memory_unpoison(run, count * PAGE_BYTES);
    return run;
}

/* The highest free page. The caller knows that there is one. */
static void *take_one(void)
{
    struct region *r = &pages.regions[pages.hint_region];
    while (r->free_bits[pages.hint_word] == 0) {
        if (pages.hint_word > 0) {
            pages.hint_word--;
        } else {
            r = &pages.regions[--pages.hint_region];
            pages.hint_word = word_count(r) - 1;
        }
    }
    const size_t bit = WORD_BITS - 1 - (size_t)__builtin_clzll(r->free_bits[pages.hint_word]);
    return run_taken(r, pages.hint_word * WORD_BITS + bit, 1);
}

/* How many bits in a row are free just below bit `end`, at most `limit`; whole words at a step. */
static size_t free_below(const struct region *r, size_t end, size_t limit)
{
    size_t run = 0;
    while (run < limit && run < end) {
        const size_t at = end - run; /* bits [0, at) are still to be looked at */
        const size_t in_word = (at - 1) % WORD_BITS + 1;
        const uint64_t used = ~r->free_bits[(at - 1) / WORD_BITS] << (WORD_BITS - in_word);
        const size_t n = used ? (size_t)__builtin_clzll(used) : WORD_BITS;
        run += size_min(n, in_word);
        if (n < in_word)
            break;
    }
    return size_min(run, limit);
}

/* The highest run of `count` free pages in a region, looking below bit `end`; its first bit, or SIZE_MAX. */
static size_t find_run(const struct region *r, size_t end, size_t count)
{
    while (end >= count) {
        const uint64_t word = r->free_bits[(end - 1) / WORD_BITS];
        if (word == 0) {
            end = (end - 1) / WORD_BITS * WORD_BITS;
            continue;
        }
        const size_t run = free_below(r, end, count);
        if (run == count)
            return end - count;
        end -= run + 1;
    }
    return SIZE_MAX;
}

static void *take_run(size_t count)
{
    for (size_t i = pages.hint_region + 1; i-- > 0;) {
        struct region *r = &pages.regions[i];
        size_t end = r->page_count;
        if (i == pages.hint_region)
            end = size_min(end, (pages.hint_word + 1) * WORD_BITS);
        const size_t idx = find_run(r, end, count);
        if (idx != SIZE_MAX)
            return run_taken(r, idx, count);
    }
    return NULL;
}

static void *try_take(size_t count)
{
    if (count > pages.free_count)
        return NULL;
    return count == 1 ? take_one() : take_run(count);
}

void *page_take(size_t count)
{
    ASSERT(count > 0);
    void *run = try_take(count);
    if (!run && pages.spare && pages.spare() > 0)
        run = try_take(count);
    if (!run)
        pages.refused++;
    return run;
}

static bool try_take_at(uintptr_t addr, size_t count)
{
    struct region *r = region_of(addr, count);
    if (!r)
        return false;
    const size_t idx = (addr - r->start) / PAGE_BYTES;
    if (!bits_walk(r, idx, count, true, false))
        return false;
    run_taken(r, idx, count);
    return true;
}

int page_take_at(uintptr_t addr, size_t count)
{
    ASSERT(count > 0 && addr % PAGE_BYTES == 0);
    if (try_take_at(addr, count))
        return 0;
    if (pages.spare && region_of(addr, count) && pages.spare() > 0 && try_take_at(addr, count))
        return 0;
    pages.refused++;
    return -ENOMEM;
}

void page_give(void *addr, size_t count)
{
    const uintptr_t start = (uintptr_t)addr;
    ASSERT(count > 0 && start % PAGE_BYTES == 0);
    struct region *r = region_of(start, count);
    ASSERT(r != NULL);
    ASSERT(start >= pages.books_end || start + count * PAGE_BYTES <= pages.books_start);

    const size_t idx = (start - r->start) / PAGE_BYTES;
    const bool all_were_taken = bits_walk(r, idx, count, false, true);
    ASSERT(all_were_taken);
    pages.free_count += count;
    hint_raise(r, (idx + count - 1) / WORD_BITS);
    memory_poison(addr, count * PAGE_BYTES);
}

uintptr_t page_heap_start(void)
{
    uintptr_t best = 0;
    size_t best_count = 0;
    for (size_t i = 0; i < pages.region_count; i++) {
        const struct region *r = &pages.regions[i];
        for (size_t end = r->page_count; end > 0;) {
            const size_t run = free_below(r, end, end);
            const uintptr_t start = r->start + (end - run) * PAGE_BYTES;
            if (run > best_count || (run == best_count && run > 0 && start < best)) {
                best = start;
                best_count = run;
            }
            end -= size_min(end, run + 1);
        }
    }
    return best;
}

size_t page_free_count(void)
{
    return pages.free_count;
}

size_t page_total_count(void)
{
    return pages.total_count;
}

page_spare_fn page_on_shortage(page_spare_fn spare)
{
    const page_spare_fn before = pages.spare;
    pages.spare = spare;
    return before;
}

static uint64_t read_count(void *arg)
{
    return *(const size_t *)arg;
}

void page_register_counters(void)
{
    static struct counter total = {.name = "pages",
                                   .help = "Pages of 4096 bytes that the allocator manages.",
                                   .type = COUNTER_GAUGE,
                                   .read = read_count,
                                   .arg = &pages.total_count};
    static struct counter free_now = {.name = "pages_free",
                                      .help = "Pages that nobody holds now.",
                                      .type = COUNTER_GAUGE,
                                      .read = read_count,
                                      .arg = &pages.free_count};
    static struct counter refused = {.name = "page_refused_total",
                                     .help = "Requests for pages that could not be met.",
                                     .type = COUNTER_TOTAL,
                                     .value = &pages.refused};
    counters_add(&total);
    counters_add(&free_now);
    counters_add(&refused);
}
