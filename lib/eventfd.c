#include "lib/eventfd.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/eventfd.h>

#include "lib/fd.h"
#include "lib/page_frag.h"

#define COUNT_MAX (UINT64_MAX - 1)

struct event {
    struct file file;
    uint64_t count;
    bool semaphore;
};

static struct event *event_of(struct file *f)
{
    return CONTAINER_OF(f, struct event, file);
}

static int wait_or_not(struct file *f)
{
    return f->flags & O_NONBLOCK ? -EAGAIN : waitq_wait(&f->waiters, THREAD_NO_DEADLINE);
}

static ssize_t event_read(struct file *f, const struct iovec *iov, size_t iov_count)
{
    struct event *e = event_of(f);
    struct iov_pos pos = {iov, iov_count, 0};

    if (iov_bytes(iov, iov_count) < sizeof(uint64_t))
        return -EINVAL;
    while (e->count == 0) {
        const int err = wait_or_not(f);

        if (err)
            return err;
    }
    const uint64_t value = e->semaphore ? 1 : e->count;

    e->count -= value;
    (void)iov_put(&pos, &value, sizeof(value));
    file_changed(f);
    return sizeof(value);
}

static ssize_t event_write(struct file *f, const struct iovec *iov, size_t iov_count)
{
    struct event *e = event_of(f);
    struct iov_pos pos = {iov, iov_count, 0};
    uint64_t value;

    if (iov_take(&pos, &value, sizeof(value)) < sizeof(value) || value == UINT64_MAX)
        return -EINVAL;
    while (value > COUNT_MAX - e->count) {
        const int err = wait_or_not(f);

        if (err)
            return err;
    }
    e->count += value;
    file_changed(f);
    return sizeof(value);
}

static unsigned event_poll(struct file *f)
{
    const struct event *e = event_of(f);

    return (e->count > 0 ? POLLIN | POLLRDNORM : 0) |
           (e->count < COUNT_MAX ? POLLOUT | POLLWRNORM : 0);
}

static int event_close(struct file *f)
{
    frag_give(frag_of_start(event_of(f)));
    return 0;
}

static const struct file_ops event_ops = {
    .read = event_read,
    .write = event_write,
    .poll = event_poll,
    .close = event_close,
};

int eventfd_open(unsigned count, int flags)
{
    if (flags & ~(EFD_SEMAPHORE | EFD_NONBLOCK | EFD_CLOEXEC))
        return -EINVAL;
    struct frag *frag = frag_take(sizeof(struct event), FRAG_SMALL);

    if (!frag)
        return -ENOMEM;
    struct event *e = (struct event *)(void *)frag_start(frag);

    file_init(&e->file, &event_ops, O_RDWR | (flags & EFD_NONBLOCK ? O_NONBLOCK : 0));
    e->count = count;
    e->semaphore = flags & EFD_SEMAPHORE;
    const int fd = fd_install(&e->file, 0, flags & EFD_CLOEXEC);

    if (fd < 0)
        (void)file_put(&e->file);
    return fd;
}
