/* mmap() and what belongs to it under POSIX names, over lib/mapping.h. */
#include <errno.h>
#include <sys/mman.h>

#include "lib/fd.h"
#include "lib/mapping.h"
#include "lib/newlib/result.h"
#include "lib/page_alloc.h"

static int map(struct mapping_wish *wish, int fd, void **out)
{
    if (wish->flags & MAP_ANONYMOUS)
        return mapping_make(wish, out);
    wish->file = fd_get(fd);
    if (!wish->file)
        return -EBADF;
    const int err = mapping_make(wish, out);

    (void)file_put(wish->file);
    return err;
}

void *mmap(void *addr, size_t len, int prot, int flags, int fd, off_t offset)
{
    struct mapping_wish wish = {
        .addr = addr, .len = len, .prot = prot, .flags = flags, .offset = offset};
    void *start;

    return posix_result(map(&wish, fd, &start)) < 0 ? MAP_FAILED : start;
}

int munmap(void *addr, size_t len)
{
    return (int)posix_result(mapping_remove(addr, len));
}

static int page_aligned(const void *addr)
{
    return (uintptr_t)addr % PAGE_BYTES == 0 ? 0 : -EINVAL;
}

/* Protection isn't enforced. */
int mprotect(void *addr, size_t len, int prot)
{
    int err = page_aligned(addr);

    if (!err && (prot & PROT_WRITE))
        err = mapping_may_write(addr, len);
    return (int)posix_result(err);
}

/* ---- what changes nothing here ---- */

int msync(void *addr, size_t len, int flags)
{
    (void)len;
    if ((flags & ~(MS_ASYNC | MS_SYNC | MS_INVALIDATE)) ||
        ((flags & MS_ASYNC) && (flags & MS_SYNC)))
        return (int)posix_result(-EINVAL);
    return (int)posix_result(page_aligned(addr));
}

/* MADV_DONTNEED would have to bring zeros, or the file's bytes, back. */
int madvise(void *addr, size_t len, int advice)
{
    (void)len;
    return (int)posix_result(advice == MADV_DONTNEED ? -EINVAL : page_aligned(addr));
}

int posix_madvise(void *addr, size_t len, int advice)
{
    (void)len;
    (void)advice;
    return -page_aligned(addr);
}

/* Nothing is ever swapped out. */
int mlock(const void *addr, size_t len)
{
    (void)addr;
    (void)len;
    return 0;
}

int munlock(const void *addr, size_t len)
{
    (void)addr;
    (void)len;
    return 0;
}

int mlockall(int flags)
{
    (void)flags;
    return 0;
}

int munlockall(void)
{
    return 0;
}
