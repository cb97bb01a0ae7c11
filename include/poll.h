/* Waiting for descriptors, as POSIX.1-2017 <poll.h> has it. The values are Linux's. */
#ifndef RINGLET_POLL_H
#define RINGLET_POLL_H

#include <sys/_sigset.h>
#include <sys/_timespec.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef unsigned long nfds_t;

struct pollfd {
    int fd;        /* negative: left out */
    short events;  /* asked for */
    short revents; /* answered: those, and POLLERR, POLLHUP, POLLNVAL unasked */
};

#define POLLIN 0x0001
#define POLLPRI 0x0002
#define POLLOUT 0x0004
#define POLLERR 0x0008
#define POLLHUP 0x0010
#define POLLNVAL 0x0020
#define POLLRDNORM 0x0040
#define POLLRDBAND 0x0080
#define POLLWRNORM 0x0100
#define POLLWRBAND 0x0200
#define POLLRDHUP 0x2000

int poll(struct pollfd *fds, nfds_t count, int timeout_ms);
int ppoll(struct pollfd *fds, nfds_t count, const struct timespec *timeout, const __sigset_t *mask);

#ifdef __cplusplus
}
#endif

#endif
