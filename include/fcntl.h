/* newlib's <fcntl.h>, and what it does not declare. */
#ifndef RINGLET_FCNTL_H
#define RINGLET_FCNTL_H

#include_next <fcntl.h>

#include <sys/types.h>

#ifndef AT_EMPTY_PATH
#define AT_EMPTY_PATH 0x0010
#endif

#define POSIX_FADV_NORMAL 0
#define POSIX_FADV_RANDOM 1
#define POSIX_FADV_SEQUENTIAL 2
#define POSIX_FADV_WILLNEED 3
#define POSIX_FADV_DONTNEED 4
#define POSIX_FADV_NOREUSE 5

#ifdef __cplusplus
extern "C" {
#endif

/* These return an errno, not -1. */
int posix_fadvise(int fd, off_t offset, off_t len, int advice);
int posix_fallocate(int fd, off_t offset, off_t len);

#ifdef __cplusplus
}
#endif

#endif
