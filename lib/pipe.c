#include "lib/pipe.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/ioctl.h>

#include "lib/byte_ring.h"
#include "lib/page_frag.h"

struct pipe {
    struct file reader, writer;
    bool reader_open, writer_open;
    struct byte_ring ring;
};
static_assert(sizeof(struct pipe) <= 1024, "a pipe is one small frag");

static void close_end(struct pipe *p)
{
    if (p->reader_open || p->writer_open)
        return;
    ring_clear(&p->ring);
    frag_give(frag_of_start(p));
}

static int file_stat(struct file *f, struct stat *st)
{
    (void)f;
    st->st_mode = S_IFIFO | S_IRUSR | S_IWUSR;
    return 0;
}

/* ---- the reading end ---- */

static struct pipe *of_reader(struct file *f)
{
    return CONTAINER_OF(f, struct pipe, reader);
}

static ssize_t reader_read(struct file *f, const struct iovec *iov, size_t iov_count)
{
    struct pipe *p = of_reader(f);
    struct iov_pos pos = {iov, iov_count, 0};
    const size_t wanted = iov_bytes(iov, iov_count);

    while (wanted > 0 && ring_bytes(&p->ring) == 0 && p->writer_open) {
        const int err =
            f->flags & O_NONBLOCK ? -EAGAIN : waitq_wait(&f->waiters, THREAD_NO_DEADLINE);

        if (err)
            return err;
    }
    const size_t got = ring_take(&p->ring, &pos, wanted);

    if (got > 0 && ring_room(&p->ring) >= PIPE_ATOMIC_BYTES)
        file_changed(&p->writer);
    return (ssize_t)got;
}

static unsigned reader_poll(struct file *f)
{
    const struct pipe *p = of_reader(f);

    return (ring_bytes(&p->ring) > 0 ? POLLIN | POLLRDNORM : 0) | (p->writer_open ? 0 : POLLHUP);
}

static int reader_ioctl(struct file *f, unsigned long request, void *arg)
{
    if (request != FIONREAD)
        return -ENOTTY;
    *(int *)arg = (int)ring_bytes(&of_reader(f)->ring);
    return 0;
}

static int reader_close(struct file *f)
{
    struct pipe *p = of_reader(f);

    p->reader_open = false;
    if (p->writer_open)
        file_changed(&p->writer);
    close_end(p);
    return 0;
}

static const struct file_ops reader_ops = {
    .read = reader_read,
    .poll = reader_poll,
    .ioctl = reader_ioctl,
    .stat = file_stat,
    .close = reader_close,
};

/* ---- the writing end ---- */

static struct pipe *of_writer(struct file *f)
{
    return CONTAINER_OF(f, struct pipe, writer);
}

/* What of the rest may go in now: all or nothing of a short write. 0: not yet. */
static size_t put_some(struct pipe *p, struct iov_pos *pos, size_t whole, size_t rest)
{
    if (whole <= PIPE_ATOMIC_BYTES && (ring_room(&p->ring) < rest || !ring_reserve(&p->ring, rest)))
        return 0;
    const size_t put = ring_put(&p->ring, pos, rest);

    if (put > 0)
        file_changed(&p->reader);
    return put;
}

static ssize_t writer_write(struct file *f, const struct iovec *iov, size_t iov_count)
{
    struct pipe *p = of_writer(f);
    struct iov_pos pos = {iov, iov_count, 0};
    const size_t whole = iov_bytes(iov, iov_count);
    size_t done = 0;

    while (done < whole) {
        int err = p->reader_open ? 0 : -EPIPE;

        if (!err) {
            const size_t put = put_some(p, &pos, whole, whole - done);

            done += put;
            if (put > 0)
                continue;
            if (ring_room(&p->ring) == p->ring.limit)
                err = -ENOMEM; /* empty, and yet no page for it: nobody would wake us */
        }
        if (!err)
            err = f->flags & O_NONBLOCK ? -EAGAIN : waitq_wait(&f->waiters, THREAD_NO_DEADLINE);
        if (err)
            return done > 0 ? (ssize_t)done : err;
    }
    return (ssize_t)done;
}

static unsigned writer_poll(struct file *f)
{
    const struct pipe *p = of_writer(f);

    return (ring_room(&p->ring) >= PIPE_ATOMIC_BYTES ? POLLOUT | POLLWRNORM : 0) |
           (p->reader_open ? 0 : POLLERR);
}

static int writer_close(struct file *f)
{
    struct pipe *p = of_writer(f);

    p->writer_open = false;
    if (p->reader_open)
        file_changed(&p->reader);
    close_end(p);
    return 0;
}

static const struct file_ops writer_ops = {
    .write = writer_write,
    .poll = writer_poll,
    .stat = file_stat,
    .close = writer_close,
};

/* ---- the call ---- */

int pipe_open(int fds[2], int flags)
{
    if (flags & ~(O_NONBLOCK | O_CLOEXEC))
        return -EINVAL;
    struct frag *frag = frag_take(sizeof(struct pipe), FRAG_SMALL);

    if (!frag)
        return -ENFILE;
    struct pipe *p = (struct pipe *)(void *)frag_start(frag);

    file_init(&p->reader, &reader_ops, O_RDONLY | (flags & O_NONBLOCK));
    file_init(&p->writer, &writer_ops, O_WRONLY | (flags & O_NONBLOCK));
    p->reader_open = p->writer_open = true;
    ring_init(&p->ring, PIPE_BYTES);
    fds[0] = fd_install(&p->reader, 0, flags & O_CLOEXEC);
    if (fds[0] < 0) {
        const int err = fds[0];

        (void)file_put(&p->writer);
        (void)file_put(&p->reader);
        return err;
    }
    fds[1] = fd_install(&p->writer, 0, flags & O_CLOEXEC);
    if (fds[1] < 0) {
        const int err = fds[1];

        (void)file_put(&p->writer);
        (void)fd_close(fds[0]);
        return err;
    }
    return 0;
}
