#include "lib/sendfile.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "lib/fd.h"
#include "lib/page_alloc.h"
#include "lib/vfs.h"

enum { BUFFER_PAGES = 16, COUNT_MAX = 0x7ffff000 /* Linux's */ };

static ssize_t write_piece(struct file *out, const void *data, size_t len)
{
    const struct iovec iov = {(void *)(uintptr_t)data, len};

    return len > 0 ? out->ops->write(out, &iov, 1) : 0;
}

/* Bytes of an archive: nobody can change them, however long the write waits. */
static ssize_t send_fixed(struct file *out, const struct inode *node, off_t at, size_t count)
{
    const size_t size = (size_t)node->file.fixed_size;
    const size_t from = size_min((size_t)at, size);

    return write_piece(out, node->file.fixed + from, size_min(count, size - from));
}

static ssize_t send_pieces(struct file *out, struct file *in, off_t at, size_t count, void *buffer)
{
    size_t done = 0;

    while (done < count) {
        const struct iovec iov = {buffer, size_min(count - done, BUFFER_PAGES * PAGE_BYTES)};
        const ssize_t got = vfs_pread(in, &iov, 1, at + (off_t)done);
        const ssize_t put = got > 0 ? write_piece(out, buffer, (size_t)got) : got;

        if (put <= 0)
            return done > 0 ? (ssize_t)done : put;
        done += (size_t)put;
        if (put < got)
            break;
    }
    return (ssize_t)done;
}

static ssize_t send_copied(struct file *out, struct file *in, off_t at, size_t count)
{
    void *buffer = page_take(BUFFER_PAGES);

    if (!buffer)
        return -ENOMEM;
    const ssize_t put = send_pieces(out, in, at, count, buffer);

    page_give(buffer, BUFFER_PAGES);
    return put;
}

static ssize_t send_between(struct file *out, struct file *in, off_t *offset, size_t count)
{
    const struct inode *node = vfs_inode_of(in);

    if (!out->ops->write || (out->flags & O_ACCMODE) == O_RDONLY || !in->ops->read ||
        (in->flags & O_ACCMODE) == O_WRONLY)
        return -EBADF;
    if (!in->ops->seek)
        return offset ? -ESPIPE : -EINVAL;
    if (out->flags & O_APPEND)
        return -EINVAL;
    const off_t at = offset ? *offset : in->ops->seek(in, 0, SEEK_CUR);

    if (at < 0)
        return offset ? -EINVAL : at;
    count = size_min(count, COUNT_MAX);
    const ssize_t put = node && node->kind == INODE_FILE && node->file.fixed
                            ? send_fixed(out, node, at, count)
                            : send_copied(out, in, at, count);

    if (put > 0 && offset)
        *offset += put;
    else if (put > 0)
        (void)in->ops->seek(in, at + put, SEEK_SET);
    return put;
}

ssize_t fd_sendfile(int out, int in, off_t *offset, size_t count)
{
    struct file *to = fd_get(out), *from = fd_get(in);
    const ssize_t put = to && from ? send_between(to, from, offset, count) : -EBADF;

    if (to)
        (void)file_put(to);
    if (from)
        (void)file_put(from);
    return put;
}
