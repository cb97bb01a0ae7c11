#include "lib/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/ioctl.h>

#include "lib/check.h"
#include "lib/epoll.h"
#include "lib/page_alloc.h"

enum { BYTES_PER_FD = 16 * 1024, BITS = 64 };

struct slot {
    struct file *file; /* NULL: free */
    bool close_on_exec;
};

static struct {
    struct slot *slots;
    size_t slot_count; /* room in slots; doubled as needed, never shrunk */
    size_t open_count;
    uint64_t
        used[FD_LIMIT_MAX / BITS]; /* one bit a descriptor: finds the lowest free one quickly */
} table;

/* ---- files ---- */

void file_init(struct file *f, const struct file_ops *ops, int flags)
{
    *f = (struct file){.ops = ops, .refs = 1, .flags = flags};
}

int file_put(struct file *f)
{
    ASSERT(f->refs > 0);
    if (--f->refs > 0)
        return 0;
    epoll_forget(f);
    return f->ops->close ? f->ops->close(f) : 0;
}

/* ---- the table ---- */

size_t fd_limit(void)
{
    const size_t by_memory = page_total_count() / (BYTES_PER_FD / PAGE_BYTES);

    return size_min(size_max(by_memory, FD_LIMIT_MIN), FD_LIMIT_MAX);
}

size_t fd_open_count(void)
{
    return table.open_count;
}

static struct slot *slot_of(int fd)
{
    if (fd < 0 || (size_t)fd >= table.slot_count || !table.slots[fd].file)
        return NULL;
    return &table.slots[fd];
}

/* Make slots for descriptors up to fd. */
static int table_grow(size_t fd)
{
    size_t count = size_max(table.slot_count, PAGE_BYTES / sizeof(struct slot));

    while (count <= fd)
        count *= 2;
    if (count == table.slot_count)
        return 0;

    const size_t pages = count * sizeof(struct slot) / PAGE_BYTES;
    struct slot *slots = page_take(pages);

    if (!slots)
        return -ENOMEM;
    memset(slots, 0, pages * PAGE_BYTES);
    if (table.slots) {
        memcpy(slots, table.slots, table.slot_count * sizeof(struct slot));
        page_give(table.slots, table.slot_count * sizeof(struct slot) / PAGE_BYTES);
    }
    table.slots = slots;
    table.slot_count = count;
    return 0;
}

static size_t lowest_free(size_t at_least)
{
    size_t word = at_least / BITS;
    uint64_t free_bits = ~table.used[word] & (UINT64_MAX << (at_least % BITS));

    while (!free_bits) {
        if (++word == FD_LIMIT_MAX / BITS)
            return FD_LIMIT_MAX;
        free_bits = ~table.used[word];
    }
    return word * BITS + (size_t)__builtin_ctzll(free_bits);
}

static void slot_fill(size_t fd, struct file *f, bool close_on_exec)
{
    table.slots[fd] = (struct slot){f, close_on_exec};
    table.used[fd / BITS] |= (uint64_t)1 << (fd % BITS);
    table.open_count++;
}

static struct file *slot_empty(size_t fd)
{
    struct file *f = table.slots[fd].file;

    table.slots[fd].file = NULL;
    table.used[fd / BITS] &= ~((uint64_t)1 << (fd % BITS));
    table.open_count--;
    return f;
}

int fd_install(struct file *f, int at_least, bool close_on_exec)
{
    if (at_least < 0 || (size_t)at_least >= fd_limit())
        return -EMFILE;
    const size_t fd = lowest_free((size_t)at_least);

    if (fd >= fd_limit())
        return -EMFILE;
    const int err = table_grow(fd);

    if (err)
        return err;
    slot_fill(fd, f, close_on_exec);
    return (int)fd;
}

struct file *fd_get(int fd)
{
    const struct slot *slot = slot_of(fd);

    return slot ? file_ref(slot->file) : NULL;
}

int fd_close(int fd)
{
    if (!slot_of(fd))
        return -EBADF;
    return file_put(slot_empty((size_t)fd));
}

void fd_close_all(void)
{
    for (size_t fd = 0; fd < table.slot_count; fd++)
        (void)fd_close((int)fd);
}

int fd_dup(int fd, int at_least, bool close_on_exec)
{
    if (at_least < 0 || (size_t)at_least >= fd_limit())
        return -EINVAL;
    struct file *f = fd_get(fd);

    if (!f)
        return -EBADF;
    const int copy = fd_install(f, at_least, close_on_exec);

    if (copy < 0)
        (void)file_put(f);
    return copy;
}

int fd_dup2(int fd, int target)
{
    struct file *f = fd_get(fd);

    if (!f || target < 0 || (size_t)target >= fd_limit()) {
        if (f)
            (void)file_put(f);
        return -EBADF;
    }
    const int err = fd == target ? 0 : table_grow((size_t)target);

    if (fd == target || err) {
        (void)file_put(f);
        return err ? err : target;
    }
    struct file *old = slot_of(target) ? slot_empty((size_t)target) : NULL;

    slot_fill((size_t)target, f, false);
    if (old)
        (void)file_put(old);
    return target;
}

int fd_get_flags(int fd)
{
    const struct slot *slot = slot_of(fd);

    return slot ? slot->file->flags : -EBADF;
}

int fd_set_flags(int fd, int flags)
{
    const struct slot *slot = slot_of(fd);
    const int changeable = O_NONBLOCK | O_APPEND;

    if (!slot)
        return -EBADF;
    slot->file->flags = (slot->file->flags & ~changeable) | (flags & changeable);
    return 0;
}

int fd_get_cloexec(int fd)
{
    const struct slot *slot = slot_of(fd);

    return slot ? slot->close_on_exec : -EBADF;
}

int fd_set_cloexec(int fd, bool close_on_exec)
{
    struct slot *slot = slot_of(fd);

    if (!slot)
        return -EBADF;
    slot->close_on_exec = close_on_exec;
    return 0;
}

/* ---- use ---- */

/* POSIX readv(): EINVAL when the count or the sum of lengths is out of range. */
static int iov_check(const struct iovec *iov, int iov_count)
{
    size_t sum = 0;

    if (iov_count <= 0 || iov_count > FD_IOV_MAX)
        return -EINVAL;
    for (int i = 0; i < iov_count; i++) {
        if (iov[i].iov_len > (size_t)PTRDIFF_MAX - sum)
            return -EINVAL;
        sum += iov[i].iov_len;
    }
    return 0;
}

ssize_t fd_readv(int fd, const struct iovec *iov, int iov_count)
{
    struct file *f = fd_get(fd);
    ssize_t got;

    if (!f)
        return -EBADF;
    if (!f->ops->read || (f->flags & O_ACCMODE) == O_WRONLY)
        got = -EBADF;
    else
        got = iov_check(iov, iov_count);
    if (got == 0)
        got = f->ops->read(f, iov, (size_t)iov_count);
    (void)file_put(f);
    return got;
}

ssize_t fd_writev(int fd, const struct iovec *iov, int iov_count)
{
    struct file *f = fd_get(fd);
    ssize_t put;

    if (!f)
        return -EBADF;
    if (!f->ops->write || (f->flags & O_ACCMODE) == O_RDONLY)
        put = -EBADF;
    else
        put = iov_check(iov, iov_count);
    if (put == 0)
        put = f->ops->write(f, iov, (size_t)iov_count);
    (void)file_put(f);
    return put;
}

ssize_t fd_read(int fd, void *buf, size_t len)
{
    const struct iovec iov = {buf, size_min(len, PTRDIFF_MAX)};

    return fd_readv(fd, &iov, 1);
}

ssize_t fd_write(int fd, const void *buf, size_t len)
{
    const struct iovec iov = {(void *)(uintptr_t)buf, size_min(len, PTRDIFF_MAX)};

    return fd_writev(fd, &iov, 1);
}

off_t fd_seek(int fd, off_t offset, int whence)
{
    struct file *f = fd_get(fd);

    if (!f)
        return -EBADF;
    const off_t at = f->ops->seek ? f->ops->seek(f, offset, whence) : -ESPIPE;

    (void)file_put(f);
    return at;
}

static int ioctl_file(struct file *f, unsigned long request, void *arg)
{
    if (request == FIONBIO) {
        f->flags = *(const int *)arg ? f->flags | O_NONBLOCK : f->flags & ~O_NONBLOCK;
        return 0;
    }
    return f->ops->ioctl ? f->ops->ioctl(f, request, arg) : -ENOTTY;
}

int fd_ioctl(int fd, unsigned long request, void *arg)
{
    struct file *f = fd_get(fd);

    if (!f)
        return -EBADF;
    const int result = ioctl_file(f, request, arg);

    (void)file_put(f);
    return result;
}

int fd_stat(int fd, struct stat *st)
{
    struct file *f = fd_get(fd);
    int err = 0;

    if (!f)
        return -EBADF;
    memset(st, 0, sizeof(*st));
    if (f->ops->stat)
        err = f->ops->stat(f, st);
    else
        st->st_mode = S_IFCHR | S_IRUSR | S_IWUSR;
    (void)file_put(f);
    return err;
}

int fd_isatty(int fd)
{
    const struct slot *slot = slot_of(fd);

    if (!slot)
        return -EBADF;
    return slot->file->ops->is_tty ? 1 : -ENOTTY;
}

/* ---- bytes and iovecs ---- */

size_t iov_bytes(const struct iovec *iov, size_t count)
{
    size_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum += iov[i].iov_len;
    return sum;
}

size_t iov_piece(struct iov_pos *pos, void **piece, size_t max)
{
    while (pos->count > 0 && pos->offset == pos->iov->iov_len) {
        pos->iov++;
        pos->count--;
        pos->offset = 0;
    }
    if (pos->count == 0)
        return 0;
    const size_t len = size_min(pos->iov->iov_len - pos->offset, max);

    *piece = (uint8_t *)pos->iov->iov_base + pos->offset;
    pos->offset += len;
    return len;
}

size_t iov_put(struct iov_pos *pos, const void *from, size_t len)
{
    size_t done = 0, step;
    void *piece;

    while (done < len && (step = iov_piece(pos, &piece, len - done)) > 0) {
        memcpy(piece, (const uint8_t *)from + done, step);
        done += step;
    }
    return done;
}

size_t iov_take(struct iov_pos *pos, void *to, size_t len)
{
    size_t done = 0, step;
    void *piece;

    while (done < len && (step = iov_piece(pos, &piece, len - done)) > 0) {
        memcpy((uint8_t *)to + done, piece, step);
        done += step;
    }
    return done;
}
