/*
 * poll(): one scan; if nothing is ready, a node in every file's queue, sleep, and scan again.
 */
#include "lib/fd.h"

#include <errno.h>
#include <limits.h>

#include "lib/page_alloc.h"

enum { ENTRIES_ON_STACK = 32 };

struct entry {
    struct file *file; /* referenced; NULL: left out or not open */
    struct wait_node node;
};

static const unsigned always_told = POLLERR | POLLHUP | POLLNVAL;

static unsigned file_poll(struct file *f)
{
    return f->ops->poll ? f->ops->poll(f) : POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
}

static int scan(struct pollfd *fds, const struct entry *entries, size_t count)
{
    int ready = 0;

    for (size_t i = 0; i < count; i++) {
        unsigned mask = 0;

        if (entries[i].file)
            mask = file_poll(entries[i].file) & ((unsigned short)fds[i].events | always_told);
        else if (fds[i].fd >= 0)
            mask = POLLNVAL;
        fds[i].revents = (short)mask;
        ready += mask != 0;
    }
    return ready;
}

static int wait_for_change(struct entry *entries, size_t count, uint64_t deadline_us)
{
    for (size_t i = 0; i < count; i++) {
        wait_node_thread(&entries[i].node);
        if (entries[i].file)
            waitq_add(&entries[i].file->waiters, &entries[i].node);
    }
    const int err = thread_block(deadline_us);

    for (size_t i = 0; i < count; i++)
        waitq_remove(&entries[i].node);
    return err;
}

static int poll_files(struct pollfd *fds, struct entry *entries, size_t count, uint64_t deadline_us)
{
    int ready = scan(fds, entries, count);

    if (ready > 0)
        return ready;
    if (deadline_us == 0) {
        /* A program that polls in a loop without waiting would otherwise never see a packet. */
        thread_yield();
        return scan(fds, entries, count);
    }
    for (;;) {
        const int err = wait_for_change(entries, count, deadline_us);

        ready = scan(fds, entries, count);
        if (ready > 0 || err == -ETIMEDOUT)
            return ready;
        if (err)
            return err;
    }
}

int fd_poll(struct pollfd *fds, size_t count, uint64_t deadline_us)
{
    struct entry on_stack[ENTRIES_ON_STACK];
    struct entry *entries = on_stack;
    const size_t pages = (count * sizeof(struct entry) + PAGE_BYTES - 1) / PAGE_BYTES;

    if (count > fd_limit())
        return -EINVAL;
    if (count > ENTRIES_ON_STACK && !(entries = page_take(pages)))
        return -ENOMEM;

    for (size_t i = 0; i < count; i++)
        entries[i].file = fds[i].fd >= 0 ? fd_get(fds[i].fd) : NULL;
    const int ready = poll_files(fds, entries, count, deadline_us);

    for (size_t i = 0; i < count; i++) {
        if (entries[i].file)
            (void)file_put(entries[i].file);
    }
    if (entries != on_stack)
        page_give(entries, pages);
    return ready;
}
