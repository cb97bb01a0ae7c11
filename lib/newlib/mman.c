/*
 * mmap() without a memory management unit's help: memory is mapped one to one, so a mapping is a run of pages, and its
 * protection is not enforced.
 *
 * Anonymous and private mappings are pages of their own (a private one of a file: a copy, made now). A shared mapping of a
 * file in memory is the file's own pages; of a file in an archive, its bytes where they lie, if they begin on a page.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/fd.h"
#include "lib/newlib/result.h"
#include "lib/page_alloc.h"
#include "lib/ram_data.h"
#include "lib/vfs.h"

struct mapping {
    struct mapping *next;
    uint8_t *start;
    size_t pages;
    size_t unmapped;   /* of pages: a mapping may be given back in pieces */
    struct file *file; /* shared: the file whose pages these are; else NULL, and they are our own */
};

static struct mapping *mappings;

static size_t pages_of(size_t len)
{
    return (len + PAGE_BYTES - 1) / PAGE_BYTES;
}

static int remember(uint8_t *start, size_t pages, struct file *file)
{
    struct mapping *m = malloc(sizeof *m);

    if (!m)
        return -ENOMEM;
    *m = (struct mapping){.next = mappings, .start = start, .pages = pages, .file = file};
    mappings = m;
    return 0;
}

static int map_own(size_t pages, uint8_t **out)
{
    uint8_t *run = page_take(pages);

    if (!run)
        return -ENOMEM;
    if (remember(run, pages, NULL)) {
        page_give(run, pages);
        return -ENOMEM;
    }
    memset(run, 0, pages * PAGE_BYTES);
    *out = run;
    return 0;
}

static int map_copy(struct file *f, size_t len, off_t offset, uint8_t **out)
{
    const int err = map_own(pages_of(len), out);

    if (err)
        return err;
    const struct iovec iov = {.iov_base = *out, .iov_len = len};
    const ssize_t got = vfs_pread(f, &iov, 1, offset);

    if (got >= 0)
        return 0;
    munmap(*out, len);
    return (int)got;
}

static int map_shared(struct file *f, struct inode *node, size_t len, off_t offset, uint8_t **out)
{
    if (node->file.fixed) {
        uint8_t *in_place = (uint8_t *)(uintptr_t)(node->file.fixed + offset);

        if ((uintptr_t)in_place % PAGE_BYTES != 0 || (uint64_t)offset + len > node->file.fixed_size)
            return map_copy(f, len, offset, out); /* nobody can write to the file, so nobody sees */
        *out = in_place;
        return remember(in_place, pages_of(len), file_ref(f));
    }
    int err = ram_map(&node->file.ram, (uint64_t)offset, len, out);

    if (err)
        return err;
    err = remember(*out, pages_of(len), file_ref(f));
    if (err) {
        ram_unmap(&node->file.ram);
        file_put(f);
    }
    return err;
}

static int map_file(struct file *f, size_t len, int prot, int flags, off_t offset, uint8_t **out)
{
    struct inode *node = vfs_inode_of(f);
    const int access = f->flags & O_ACCMODE;

    if (!node || node->kind != INODE_FILE)
        return -ENODEV;
    if (access == O_WRONLY)
        return -EACCES;
    if (flags & MAP_PRIVATE)
        return map_copy(f, len, offset, out);
    if ((prot & PROT_WRITE) && access != O_RDWR)
        return -EACCES;
    return map_shared(f, node, len, offset, out);
}

static int map(void *wish, size_t len, int prot, int flags, int fd, off_t offset, uint8_t **out)
{
    const int kind = flags & (MAP_SHARED | MAP_PRIVATE);

    (void)wish; /* a hint */
    if (len == 0 || offset < 0 || offset % PAGE_BYTES != 0 ||
        (kind != MAP_SHARED && kind != MAP_PRIVATE))
        return -EINVAL;
    if (flags & MAP_FIXED)
        return -ENOMEM;
    if (len > SIZE_MAX - PAGE_BYTES)
        return -ENOMEM;
    if (flags & MAP_ANONYMOUS)
        return map_own(pages_of(len), out);
    struct file *f = fd_get(fd);

    if (!f)
        return -EBADF;
    const int err = map_file(f, len, prot, flags, offset, out);

    file_put(f);
    return err;
}

void *mmap(void *wish, size_t len, int prot, int flags, int fd, off_t offset)
{
    uint8_t *start = NULL;

    if (posix_result(map(wish, len, prot, flags, fd, offset, &start)) < 0)
        return MAP_FAILED;
    return start;
}

/* ---- unmap ---- */

static void forget(struct mapping **place)
{
    struct mapping *m = *place;

    *place = m->next;
    if (m->file) {
        struct inode *node = vfs_inode_of(m->file);

        if (!node->file.fixed)
            ram_unmap(&node->file.ram);
        file_put(m->file);
    }
    free(m);
}

/* The pages of m that lie in [start, end) are given back; they must not have been before. */
static void unmap_part(struct mapping **place, uint8_t *start, const uint8_t *end)
{
    struct mapping *m = *place;
    uint8_t *from = start > m->start ? start : m->start;
    const uint8_t *m_end = m->start + m->pages * PAGE_BYTES;
    const size_t pages = (size_t)((end < m_end ? end : m_end) - from) / PAGE_BYTES;

    if (!m->file)
        page_give(from, pages);
    m->unmapped += pages;
    if (m->unmapped == m->pages)
        forget(place);
}

int munmap(void *addr, size_t len)
{
    uint8_t *start = addr;

    if ((uintptr_t)start % PAGE_BYTES != 0 || len == 0 || len > SIZE_MAX - PAGE_BYTES)
        return (int)posix_result(-EINVAL);
    const uint8_t *end = start + pages_of(len) * PAGE_BYTES;

    for (struct mapping **place = &mappings; *place;) {
        struct mapping *m = *place;

        if (m->start < end && start < m->start + m->pages * PAGE_BYTES)
            unmap_part(place, start, end);
        if (*place == m)
            place = &m->next;
    }
    return 0;
}

/* ---- what changes nothing here ---- */

static int page_aligned(const void *addr)
{
    return (int)posix_result((uintptr_t)addr % PAGE_BYTES == 0 ? 0 : -EINVAL);
}

int mprotect(void *addr, size_t len, int prot)
{
    (void)len;
    (void)prot;
    return page_aligned(addr);
}

int msync(void *addr, size_t len, int flags)
{
    (void)len;
    (void)flags;
    return page_aligned(addr);
}

int madvise(void *addr, size_t len, int advice)
{
    (void)len;
    (void)advice;
    return page_aligned(addr);
}

int posix_madvise(void *addr, size_t len, int advice)
{
    (void)len;
    (void)advice;
    return (uintptr_t)addr % PAGE_BYTES == 0 ? 0 : EINVAL;
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
