/* Waiting under its POSIX names: poll, select, sleep. */
#include <errno.h>
#include <poll.h>
#include <sys/select.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "lib/fd.h"
#include "lib/newlib/posix_thread.h"
#include "lib/newlib/result.h"
#include "lib/newlib/timespec.h"
#include "lib/page_alloc.h"
#include "lib/thread.h"
#include "port/clock.h"

static int result(int value)
{
    return (int)posix_result(value);
}

/* ---- poll ---- */

int poll(struct pollfd *fds, nfds_t count, int timeout_ms)
{
    const uint64_t deadline_us =
        timeout_ms < 0 ? THREAD_NO_DEADLINE : deadline_in((uint64_t)timeout_ms * US_PER_MS);

    return result(fd_poll(fds, count, deadline_us));
}

int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const __sigset_t *mask)
{
    if (timeout && !timespec_ok(timeout))
        return failed(EINVAL);
    signal_mask_lend(mask);
    return result(
        fd_poll(fds, count, timeout ? deadline_in(timespec_us(timeout)) : THREAD_NO_DEADLINE));
}

/* ---- select: a poll of the descriptors that are in any set ---- */

/* FD_SETSIZE is the caller's; the sets are as long as count says, in words. */
typedef unsigned long fd_word;
enum { WORD_BITS = 8 * sizeof(fd_word) };

static bool in_set(const fd_set *set, int fd)
{
    const fd_word *words = (const fd_word *)(const void *)set;

    return set && (words[fd / WORD_BITS] >> (fd % WORD_BITS) & 1);
}

static int set_result(fd_set *set, int fd, bool ready)
{
    fd_word *word = set ? (fd_word *)(void *)set + fd / WORD_BITS : NULL;
    const fd_word bit = (fd_word)1 << (fd % WORD_BITS);

    if (!word || !(*word & bit))
        return 0;
    if (!ready)
        *word &= ~bit;
    return ready;
}

static size_t collect(struct pollfd *fds, int count, const fd_set *in, const fd_set *out,
                      const fd_set *except)
{
    size_t used = 0;

    for (int fd = 0; fd < count; fd++) {
        const int events = (in_set(in, fd) ? POLLIN : 0) | (in_set(out, fd) ? POLLOUT : 0) |
                           (in_set(except, fd) ? POLLPRI : 0);

        if (events)
            fds[used++] = (struct pollfd){.fd = fd, .events = (short)events};
    }
    return used;
}

/* POSIX: an error or hang-up makes a descriptor readable, an error writable: the call wouldn't wait. */
static int distribute(const struct pollfd *fds, size_t used, fd_set *in, fd_set *out,
                      fd_set *except)
{
    int bits = 0;

    for (size_t i = 0; i < used; i++) {
        const int got = fds[i].revents;

        bits += set_result(in, fds[i].fd, got & (POLLIN | POLLHUP | POLLERR));
        bits += set_result(out, fds[i].fd, got & (POLLOUT | POLLERR));
        bits += set_result(except, fds[i].fd, got & POLLPRI);
    }
    return bits;
}

static int select_until(int count, fd_set *in, fd_set *out, fd_set *except, uint64_t deadline_us)
{
    if (count < 0 || (size_t)count > fd_limit())
        return failed(EINVAL);
    const size_t pages = (size_t)count * sizeof(struct pollfd) / PAGE_BYTES + 1;
    struct pollfd *fds = page_take(pages);

    if (!fds)
        return failed(ENOMEM);
    const size_t used = collect(fds, count, in, out, except);
    int ready = fd_poll(fds, used, deadline_us);

    for (size_t i = 0; ready > 0 && i < used; i++) {
        if (fds[i].revents & POLLNVAL)
            ready = -EBADF;
    }
    if (ready >= 0)
        ready = distribute(fds, used, in, out, except);
    page_give(fds, pages);
    return result(ready);
}

int select(int count, fd_set *in, fd_set *out, fd_set *except, struct timeval *timeout)
{
    if (!timeout)
        return select_until(count, in, out, except, THREAD_NO_DEADLINE);
    if (timeout->tv_sec < 0 || timeout->tv_usec < 0)
        return failed(EINVAL);
    return select_until(
        count, in, out, except,
        deadline_in((uint64_t)timeout->tv_sec * US_PER_S + (uint64_t)timeout->tv_usec));
}

int pselect(int count, fd_set *in, fd_set *out, fd_set *except, const struct timespec *timeout,
            const sigset_t *mask)
{
    if (timeout && !timespec_ok(timeout))
        return failed(EINVAL);
    signal_mask_lend(mask);
    return select_until(count, in, out, except,
                        timeout ? deadline_in(timespec_us(timeout)) : THREAD_NO_DEADLINE);
}

/* ---- sleep ---- */

int nanosleep(const struct timespec *wanted, struct timespec *left)
{
    if (!timespec_ok(wanted))
        return failed(EINVAL);
    const uint64_t end_us = clock_now_us() + timespec_us(wanted);

    if (thread_sleep_until(end_us) == 0)
        return 0;
    if (left) {
        const uint64_t now_us = clock_now_us();
        const uint64_t left_us = end_us > now_us ? end_us - now_us : 0;

        left->tv_sec = (time_t)(left_us / US_PER_S);
        left->tv_nsec = (long)(left_us % US_PER_S * NS_PER_US);
    }
    return failed(EINTR);
}

int usleep(useconds_t us)
{
    return result(thread_sleep_until(clock_now_us() + us));
}

unsigned sleep(unsigned seconds)
{
    const uint64_t end_us = clock_now_us() + (uint64_t)seconds * US_PER_S;

    if (thread_sleep_until(end_us) == 0)
        return 0;
    const uint64_t now_us = clock_now_us();

    return end_us > now_us ? (unsigned)((end_us - now_us + US_PER_S - 1) / US_PER_S) : 0;
}
