/* Scattered input and output, as POSIX.1-2017 <sys/uio.h> has it. */
#ifndef RINGLET_SYS_UIO_H
#define RINGLET_SYS_UIO_H

#include <limits.h> /* IOV_MAX */
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

struct iovec {
    void *iov_base;
    size_t iov_len;
};

#define IOV_MAX 1024
#define UIO_MAXIOV IOV_MAX

ssize_t readv(int fd, const struct iovec *iov, int count);
ssize_t writev(int fd, const struct iovec *iov, int count);

#ifdef __cplusplus
}
#endif

/* The same at an offset, which stays where it is (Linux, BSD). ESPIPE for what has none. */
ssize_t preadv(int fd, const struct iovec *iov, int count, off_t at);
ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t at);

#endif
