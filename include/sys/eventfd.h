/* Linux's eventfd: a counter as a descriptor. */
#ifndef RINGLET_SYS_EVENTFD_H
#define RINGLET_SYS_EVENTFD_H

#include <fcntl.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define EFD_SEMAPHORE 1
#define EFD_CLOEXEC O_CLOEXEC
#define EFD_NONBLOCK O_NONBLOCK

typedef uint64_t eventfd_t;

int eventfd(unsigned int count, int flags);
int eventfd_read(int fd, eventfd_t *value);
int eventfd_write(int fd, eventfd_t value);

#ifdef __cplusplus
}
#endif

#endif
