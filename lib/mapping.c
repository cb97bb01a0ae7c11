#include "lib/mapping.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/fd.h"
#include "lib/page_alloc.h"
#include "lib/vfs.h"

struct mapping {
    struct mapping *next;
    uint8_t *start, *end; /* whole pages */
    struct file *file;    /* whose bytes these are; NULL: pages of our own */
};

static struct mapping *mappings;

static size_t pages_of(size_t len)
{
    return (len + PAGE_BYTES - 1) / PAGE_BYTES;
}

size_t mapping_count(void)
{
    size_t count = 0;

    for (const struct mapping *m = mappings; m; m = m->next)
        count++;
    return count;
}

/* ---- the list ---- */

static bool in_archive(const struct mapping *m)
{
    return m->file && vfs_inode_of(m->file)->file.fixed;
}

/* One more owner of what m maps. */
static void hold(const struct mapping *m)
{
    if (!m->file)
        return;
    (void)file_ref(m->file);
    if (!in_archive(m))
        ram_map_again(&vfs_inode_of(m->file)->file.ram);
}

static void let_go(const struct mapping *m)
{
    if (!m->file)
        return;
    if (!in_archive(m))
        ram_unmap(&vfs_inode_of(m->file)->file.ram);
    (void)file_put(m->file);
}

static struct mapping *remember(uint8_t *start, size_t pages, struct file *file)
{
    struct mapping *m = malloc(sizeof *m);

    if (!m)
        return NULL;
    *m = (struct mapping){
        .next = mappings, .start = start, .end = start + pages * PAGE_BYTES, .file = file};
    mappings = m;
    return m;
}

/* ---- make ---- */

static int make_own(size_t pages, uint8_t **out)
{
    uint8_t *run = page_take(pages);

    if (!run)
        return -ENOMEM;
    if (!remember(run, pages, NULL)) {
        page_give(run, pages);
        return -ENOMEM;
    }
    *out = run;
    return 0;
}

/* The file's bytes, and zeros behind its end. */
static int fill(const struct mapping_wish *wish, uint8_t *to)
{
    const struct iovec iov = {.iov_base = to, .iov_len = wish->len};
    const ssize_t got = wish->file ? vfs_pread(wish->file, &iov, 1, wish->offset) : 0;

    if (got < 0)
        return (int)got;
    memset(to + got, 0, pages_of(wish->len) * PAGE_BYTES - (size_t)got);
    return 0;
}

static int make_copy(const struct mapping_wish *wish, uint8_t **out)
{
    int err = make_own(pages_of(wish->len), out);

    if (err)
        return err;
    err = fill(wish, *out);
    if (err)
        (void)mapping_remove(*out, wish->len);
    return err;
}

/* True: an archive's bytes can be shown where they are, with nothing foreign behind them. */
static bool fits_in_place(const struct mapping_wish *wish, const struct inode *node)
{
    const uint64_t offset = (uint64_t)wish->offset;

    return node->file.fixed && !(wish->prot & PROT_WRITE) && offset < node->file.fixed_size &&
           ((uintptr_t)node->file.fixed + offset) % PAGE_BYTES == 0 &&
           pages_of(wish->len) <= (node->file.fixed_size - offset) / PAGE_BYTES;
}

static int make_in_place(const struct mapping_wish *wish, const struct inode *node, uint8_t **out)
{
    *out = (uint8_t *)(uintptr_t)(node->file.fixed + wish->offset);
    if (!remember(*out, pages_of(wish->len), wish->file))
        return -ENOMEM;
    (void)file_ref(wish->file);
    return 0;
}

static int make_shared(const struct mapping_wish *wish, struct inode *node, uint8_t **out)
{
    const int err = ram_map(&node->file.ram, (uint64_t)wish->offset, wish->len, out);

    if (err)
        return err;
    if (!remember(*out, pages_of(wish->len), wish->file)) {
        ram_unmap(&node->file.ram);
        return -ENOMEM;
    }
    (void)file_ref(wish->file);
    return 0;
}

static int may_map(const struct mapping_wish *wish, const struct inode *node)
{
    const int access = wish->file->flags & O_ACCMODE;

    if (!node || node->kind != INODE_FILE)
        return -ENODEV;
    if (access == O_WRONLY)
        return -EACCES;
    if ((wish->flags & MAP_SHARED) && (wish->prot & PROT_WRITE) && access != O_RDWR)
        return -EACCES;
    return 0;
}

static int make_of_file(const struct mapping_wish *wish, uint8_t **out)
{
    struct inode *node = vfs_inode_of(wish->file);
    const int err = may_map(wish, node);

    if (err)
        return err;
    if (fits_in_place(wish, node))
        return make_in_place(wish, node, out);
    if ((wish->flags & MAP_PRIVATE) || node->file.fixed) /* nobody can write to the latter */
        return make_copy(wish, out);
    return make_shared(wish, node, out);
}

/* New contents for a part of a mapping that has pages of its own. */
static int make_over(const struct mapping_wish *wish, uint8_t **out)
{
    uint8_t *start = wish->addr;
    const struct mapping *m = mappings;

    while (m && !(m->start <= start && start < m->end))
        m = m->next;
    if (!m || m->file || pages_of(wish->len) * PAGE_BYTES > (size_t)(m->end - start))
        return -ENOMEM;
    if (wish->file) {
        const int err =
            wish->flags & MAP_SHARED ? -ENOMEM : may_map(wish, vfs_inode_of(wish->file));

        if (err)
            return err;
    }
    *out = start;
    return fill(wish, start);
}

int mapping_make(const struct mapping_wish *wish, void **out)
{
    const int kind = wish->flags & (MAP_SHARED | MAP_PRIVATE);
    const bool fixed = wish->flags & MAP_FIXED;
    uint8_t *start = NULL;
    int err;

    if (wish->len == 0 || wish->offset < 0 || wish->offset % PAGE_BYTES != 0 ||
        (fixed && (uintptr_t)wish->addr % PAGE_BYTES != 0) ||
        (kind != MAP_SHARED && kind != MAP_PRIVATE))
        return -EINVAL;
    if (wish->len > PTRDIFF_MAX)
        return -ENOMEM;
    if (fixed)
        err = make_over(wish, &start);
    else
        err = wish->file ? make_of_file(wish, &start) : make_copy(wish, &start);
    *out = start;
    return err;
}

/* ---- remove ---- */

static void forget(struct mapping **place)
{
    struct mapping *m = *place;

    *place = m->next;
    let_go(m);
    free(m);
}

/* Take [from, to) out of *place. Returns where to go on. */
static struct mapping **cut(struct mapping **place, uint8_t *from, uint8_t *to)
{
    struct mapping *m = *place;

    if (!m->file)
        page_give(from, (size_t)(to - from) / PAGE_BYTES);
    if (from == m->start && to == m->end) {
        forget(place);
        return place;
    }
    if (from == m->start)
        m->start = to;
    else
        m->end = from;
    return &m->next;
}

/* A hole in the middle makes two of one: the second part, at the list's head. */
static int split(struct mapping *m, uint8_t *at)
{
    const struct mapping *second = remember(at, (size_t)(m->end - at) / PAGE_BYTES, m->file);

    if (!second)
        return -ENOMEM;
    hold(second);
    m->end = at;
    return 0;
}

int mapping_remove(void *addr, size_t len)
{
    uint8_t *start = addr;

    if ((uintptr_t)start % PAGE_BYTES != 0 || len == 0 || len > PTRDIFF_MAX)
        return -EINVAL;
    uint8_t *end = start + pages_of(len) * PAGE_BYTES;

    for (struct mapping *m = mappings; m; m = m->next) {
        if (m->start < start && end < m->end && split(m, end)) /* there is one such at most */
            return -ENOMEM;
    }
    for (struct mapping **place = &mappings; *place;) {
        struct mapping *m = *place;

        if (m->start < end && start < m->end)
            place = cut(place, start > m->start ? start : m->start, end < m->end ? end : m->end);
        else
            place = &m->next;
    }
    return 0;
}

int mapping_may_write(const void *addr, size_t len)
{
    const uint8_t *start = addr;

    for (const struct mapping *m = mappings; m; m = m->next) {
        if (in_archive(m) && m->start < start + len && start < m->end)
            return -EACCES;
    }
    return 0;
}
