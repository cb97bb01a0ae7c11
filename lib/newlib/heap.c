/*
 * sbrk(): the C heap grows upwards from the lowest free memory, page by page, while page_alloc hands out
 * from the top downwards. Where the next page is taken or isn't RAM the heap goes on in another stretch of
 * memory; newlib's malloc understands such a jump.
 */
#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/page_alloc.h"
#include "lib/types.h"

static struct {
    uintptr_t start; /* of the present stretch */
    uintptr_t brk;   /* what malloc has been given, */
    uintptr_t end;   /* and up to where we hold pages */
} heap;

static size_t pages_for(size_t bytes)
{
    return (bytes + PAGE_BYTES - 1) / PAGE_BYTES;
}

/* Make room for `bytes` at brk without moving it. */
static bool extend(size_t bytes)
{
    if (bytes > UINTPTR_MAX - PAGE_BYTES - heap.brk)
        return false;
    const uintptr_t wanted = heap.brk + bytes;
    if (wanted <= heap.end)
        return true;
    const size_t count = pages_for(wanted - heap.end);
    if (heap.end == 0 || page_take_at(heap.end, count))
        return false;
    heap.end += count * PAGE_BYTES;
    return true;
}

/* Go on in the longest free stretch. The rest of the old one's last page stays with malloc's old top. */
static bool jump(size_t bytes)
{
    const uintptr_t start = page_heap_start();
    if (start == 0 || bytes > UINTPTR_MAX - PAGE_BYTES - start ||
        page_take_at(start, pages_for(bytes)))
        return false;
    heap.start = start;
    heap.brk = start;
    heap.end = start + pages_for(bytes) * PAGE_BYTES;
    return true;
}

static void shrink(size_t bytes)
{
    heap.brk -= bytes;
    const uintptr_t keep = size_round_up(heap.brk, PAGE_BYTES);
    if (keep < heap.end) {
        page_give((void *)keep, (heap.end - keep) / PAGE_BYTES);
        heap.end = keep;
    }
}

void *sbrk(ptrdiff_t increment)
{
    const uintptr_t before = heap.brk;
    if (increment < 0) {
        const size_t less = (size_t)-increment;
        if (less > heap.brk - heap.start) {
            errno = EINVAL;
            return (void *)-1;
        }
        shrink(less);
        return (void *)before;
    }

    const size_t more = (size_t)increment;
    if (more > 0 && !extend(more) && !jump(more)) {
        errno = ENOMEM;
        return (void *)-1;
    }
    const uintptr_t given = heap.brk;
    heap.brk += more;
    return (void *)given;
}

/* POSIX.1-2017; the rest of malloc's family is newlib's. errno stays what it was. */
int posix_memalign(void **out, size_t align, size_t bytes)
{
    const int error = errno;

    if (align < sizeof(void *) || (align & (align - 1)))
        return EINVAL;
    void *const p = memalign(align, bytes);

    errno = error;
    if (!p)
        return ENOMEM;
    *out = p;
    return 0;
}
