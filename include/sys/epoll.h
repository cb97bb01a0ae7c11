/* Linux's epoll. Numbers and layout are Linux's. */
#ifndef RINGLET_SYS_EPOLL_H
#define RINGLET_SYS_EPOLL_H

#include <fcntl.h>
#include <stdint.h>
#include <sys/_sigset.h>
#include <sys/_timespec.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum EPOLL_EVENTS {
    EPOLLIN = 0x001,
    EPOLLPRI = 0x002,
    EPOLLOUT = 0x004,
    EPOLLERR = 0x008,
    EPOLLHUP = 0x010,
    EPOLLRDNORM = 0x040,
    EPOLLRDBAND = 0x080,
    EPOLLWRNORM = 0x100,
    EPOLLWRBAND = 0x200,
    EPOLLMSG = 0x400,
    EPOLLRDHUP = 0x2000,
    EPOLLEXCLUSIVE = 1u << 28, /* taken; wakes all the same */
    EPOLLWAKEUP = 1u << 29,    /* taken; nothing sleeps that deep */
    EPOLLONESHOT = 1u << 30,
    EPOLLET = 1u << 31
};
#define EPOLLIN EPOLLIN
#define EPOLLPRI EPOLLPRI
#define EPOLLOUT EPOLLOUT
#define EPOLLERR EPOLLERR
#define EPOLLHUP EPOLLHUP
#define EPOLLRDNORM EPOLLRDNORM
#define EPOLLRDBAND EPOLLRDBAND
#define EPOLLWRNORM EPOLLWRNORM
#define EPOLLWRBAND EPOLLWRBAND
#define EPOLLMSG EPOLLMSG
#define EPOLLRDHUP EPOLLRDHUP
#define EPOLLEXCLUSIVE EPOLLEXCLUSIVE
#define EPOLLWAKEUP EPOLLWAKEUP
#define EPOLLONESHOT EPOLLONESHOT
#define EPOLLET EPOLLET

#define EPOLL_CLOEXEC O_CLOEXEC

#define EPOLL_CTL_ADD 1
#define EPOLL_CTL_DEL 2
#define EPOLL_CTL_MOD 3

typedef union epoll_data {
    void *ptr;
    int fd;
    uint32_t u32;
    uint64_t u64;
} epoll_data_t;

struct epoll_event {
    uint32_t events;
    epoll_data_t data;
} __attribute__((__packed__));

int epoll_create(int size);
int epoll_create1(int flags);
int epoll_ctl(int set, int op, int fd, struct epoll_event *event);
int epoll_wait(int set, struct epoll_event *events, int max_events, int timeout_ms);
int epoll_pwait(int set, struct epoll_event *events, int max_events, int timeout_ms,
                const __sigset_t *mask);
int epoll_pwait2(int set, struct epoll_event *events, int max_events,
                 const struct timespec *timeout, const __sigset_t *mask);

#ifdef __cplusplus
}
#endif

#endif
