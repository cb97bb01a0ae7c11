/* Pipes, counters and epoll under their usual names. */
#define _GNU_SOURCE /* pipe2() */
#include <errno.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "lib/epoll.h"
#include "lib/eventfd.h"
#include "lib/fd.h"
#include "lib/newlib/posix_thread.h"
#include "lib/newlib/result.h"
#include "lib/newlib/timespec.h"
#include "lib/pipe.h"
#include "lib/thread.h"
#include "port/clock.h"

static int result(int value)
{
    return (int)posix_result(value);
}

int pipe(int fds[2])
{
    return result(pipe_open(fds, 0));
}

int pipe2(int fds[2], int flags)
{
    return result(pipe_open(fds, flags));
}

int eventfd(unsigned count, int flags)
{
    return result(eventfd_open(count, flags));
}

int eventfd_read(int fd, eventfd_t *value)
{
    return read(fd, value, sizeof(*value)) == sizeof(*value) ? 0 : -1;
}

int eventfd_write(int fd, eventfd_t value)
{
    return write(fd, &value, sizeof(value)) == sizeof(value) ? 0 : -1;
}

/* ---- epoll ---- */

int epoll_create1(int flags)
{
    return result(epoll_open(flags));
}

int epoll_create(int size)
{
    return result(size > 0 ? epoll_open(0) : -EINVAL);
}

int epoll_ctl(int set, int op, int fd, struct epoll_event *event)
{
    return result(epoll_change(set, op, fd, event));
}

static uint64_t deadline_of_ms(int timeout_ms)
{
    return timeout_ms < 0 ? THREAD_NO_DEADLINE : deadline_in((uint64_t)timeout_ms * US_PER_MS);
}

int epoll_wait(int set, struct epoll_event *events, int max_events, int timeout_ms)
{
    return result(epoll_await(set, events, max_events, deadline_of_ms(timeout_ms)));
}

static int await_masked(int set, struct epoll_event *events, int max_events, uint64_t deadline_us,
                        const sigset_t *mask)
{
    signal_mask_lend(mask);
    return result(epoll_await(set, events, max_events, deadline_us));
}

int epoll_pwait(int set, struct epoll_event *events, int max_events, int timeout_ms,
                const sigset_t *mask)
{
    return await_masked(set, events, max_events, deadline_of_ms(timeout_ms), mask);
}

int epoll_pwait2(int set, struct epoll_event *events, int max_events,
                 const struct timespec *timeout, const sigset_t *mask)
{
    if (timeout && !timespec_ok(timeout))
        return failed(EINVAL);
    const uint64_t deadline_us = timeout ? deadline_in(timespec_us(timeout)) : THREAD_NO_DEADLINE;

    return await_masked(set, events, max_events, deadline_us, mask);
}
