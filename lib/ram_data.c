#include "lib/ram_data.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/page_alloc.h"

static size_t pages_in_use;

size_t ram_pages_in_use(void)
{
    return pages_in_use;
}

size_t ram_pages_limit(void)
{
    return page_total_count() / 2;
}

static uint8_t *page_new(void)
{
    uint8_t *page = pages_in_use < ram_pages_limit() ? page_take(1) : NULL;

    if (!page)
        return NULL;
    pages_in_use++;
    return memset(page, 0, PAGE_BYTES);
}

static void page_drop(uint8_t **page)
{
    if (!*page)
        return;
    page_give(*page, 1);
    pages_in_use--;
    *page = NULL;
}

static size_t pages_for(uint64_t bytes)
{
    return (size_t)((bytes + PAGE_BYTES - 1) / PAGE_BYTES);
}

/* Room in the list for pages up to `count`, as holes. */
static int list_grow(struct ram_data *d, size_t count)
{
    if (count <= d->page_count)
        return 0;
    if (count > ram_pages_limit() * RAM_DATA_SPARSE)
        return -ENOSPC;

    const size_t room = size_max(count, d->page_count + d->page_count / 2);
    uint8_t **pages = realloc(d->pages, room * sizeof *pages);

    if (!pages)
        return -ENOSPC;
    memset(pages + d->page_count, 0, (room - d->page_count) * sizeof *pages);
    d->pages = pages;
    d->page_count = room;
    return 0;
}

size_t ram_read(const struct ram_data *d, uint64_t at, void *to, size_t len)
{
    if (at >= d->size)
        return 0;

    const size_t whole = (size_t)(len < d->size - at ? len : d->size - at);
    uint8_t *out = to;

    for (size_t done = 0; done < whole;) {
        const size_t page = (size_t)((at + done) / PAGE_BYTES);
        const size_t offset = (size_t)((at + done) % PAGE_BYTES);
        const size_t part = size_min(PAGE_BYTES - offset, whole - done);

        if (page < d->page_count && d->pages[page])
            memcpy(out + done, d->pages[page] + offset, part);
        else
            memset(out + done, 0, part);
        done += part;
    }
    return whole;
}

ssize_t ram_write(struct ram_data *d, uint64_t at, const void *from, size_t len)
{
    if (len == 0)
        return 0;
    if (at >= RAM_DATA_SIZE_MAX || len > RAM_DATA_SIZE_MAX - at)
        return -EFBIG;
    if (list_grow(d, pages_for(at + len)))
        return -ENOSPC;

    const uint8_t *in = from;
    size_t done = 0;

    while (done < len) {
        const size_t page = (size_t)((at + done) / PAGE_BYTES);
        const size_t offset = (size_t)((at + done) % PAGE_BYTES);
        const size_t part = size_min(PAGE_BYTES - offset, len - done);

        if (!d->pages[page] && !(d->pages[page] = page_new()))
            break;
        memcpy(d->pages[page] + offset, in + done, part);
        done += part;
    }
    if (done == 0)
        return -ENOSPC;
    if (at + done > d->size)
        d->size = at + done;
    return (ssize_t)done;
}

/* Behind the end everything is zeros, so that growing again shows no old bytes. */
static void clear_tail(struct ram_data *d)
{
    const size_t keep = pages_for(d->size);
    const size_t offset = (size_t)(d->size % PAGE_BYTES);

    if (offset != 0 && keep <= d->page_count && d->pages[keep - 1])
        memset(d->pages[keep - 1] + offset, 0, PAGE_BYTES - offset);
    for (size_t i = keep; i < d->page_count; i++) {
        if (d->maps == 0)
            page_drop(&d->pages[i]);
        else if (d->pages[i])
            memset(d->pages[i], 0, PAGE_BYTES);
    }
}

int ram_resize(struct ram_data *d, uint64_t size)
{
    if (size > RAM_DATA_SIZE_MAX)
        return -EFBIG;

    const bool shorter = size < d->size;

    d->size = size;
    if (shorter)
        clear_tail(d);
    return 0;
}

/* Whether pages [first, first + count) lie behind each other. */
static bool is_run(const struct ram_data *d, size_t first, size_t count)
{
    if (first + count > d->page_count || !d->pages[first])
        return false;
    for (size_t i = 1; i < count; i++) {
        if (d->pages[first + i] != d->pages[first] + i * PAGE_BYTES)
            return false;
    }
    return true;
}

/* Move them into a run of their own. */
static int make_run(struct ram_data *d, size_t first, size_t count)
{
    if (pages_in_use + count > ram_pages_limit())
        return -ENOMEM;

    uint8_t *run = page_take(count);

    if (!run)
        return -ENOMEM;
    pages_in_use += count;
    for (size_t i = 0; i < count; i++) {
        uint8_t *page = run + i * PAGE_BYTES;

        if (d->pages[first + i])
            memcpy(page, d->pages[first + i], PAGE_BYTES);
        else
            memset(page, 0, PAGE_BYTES);
        page_drop(&d->pages[first + i]);
        d->pages[first + i] = page;
    }
    return 0;
}

static size_t count_holes(const struct ram_data *d, size_t first, size_t count)
{
    size_t holes = 0;

    for (size_t i = first; i < first + count; i++)
        holes += !d->pages[i];
    return holes;
}

static bool is_full(const struct ram_data *d, size_t pages)
{
    return pages <= d->page_count && count_holes(d, 0, pages) == 0;
}

/*
 * A file without holes becomes one run as a whole, so that other parts of it can be mapped, too, while this one is. Where
 * something is mapped already no page may move, but a hole can still be filled by a run.
 */
static int find_run(struct ram_data *d, size_t first, size_t count)
{
    const size_t whole = size_max(pages_for(d->size), first + count);

    if (d->maps == 0 && is_full(d, whole) && !is_run(d, 0, whole))
        (void)make_run(d, 0, whole); /* the part alone may still fit */
    if (is_run(d, first, count))
        return 0;
    if (d->maps > 0 && count_holes(d, first, count) < count)
        return -ENOMEM;
    return make_run(d, first, count);
}

int ram_map(struct ram_data *d, uint64_t at, size_t len, uint8_t **out)
{
    ASSERT(at % PAGE_BYTES == 0 && len > 0);
    const size_t first = (size_t)(at / PAGE_BYTES);

    if (at > RAM_DATA_SIZE_MAX || len > RAM_DATA_SIZE_MAX || list_grow(d, first + pages_for(len)))
        return -ENOMEM;
    const int err = find_run(d, first, pages_for(len));

    if (err)
        return err;
    d->maps++;
    *out = d->pages[first];
    return 0;
}

void ram_map_again(struct ram_data *d)
{
    ASSERT(d->maps > 0);
    d->maps++;
}

void ram_unmap(struct ram_data *d)
{
    ASSERT(d->maps > 0);
    if (--d->maps == 0)
        clear_tail(d);
}

void ram_free(struct ram_data *d)
{
    for (size_t i = 0; i < d->page_count; i++)
        page_drop(&d->pages[i]);
    free(d->pages);
    *d = (struct ram_data){0};
}
