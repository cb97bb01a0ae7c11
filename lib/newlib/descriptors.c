/* Descriptors under their POSIX names, beyond what newlib itself needs (files.c). */
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/fd.h"
#include "lib/newlib/result.h"
#include "lib/sendfile.h"

ssize_t readv(int fd, const struct iovec *iov, int count)
{
    return posix_result(fd_readv(fd, iov, count));
}

ssize_t writev(int fd, const struct iovec *iov, int count)
{
    return posix_result(fd_writev(fd, iov, count));
}

int dup(int fd)
{
    return (int)posix_result(fd_dup(fd, 0, false));
}

int dup2(int fd, int target)
{
    return (int)posix_result(fd_dup2(fd, target));
}

/* Locks on parts of files are between processes, and there is one: nobody else ever holds any. */
static int lock(int fd, int request, struct flock *lock)
{
    const int flags = fd_get_flags(fd);

    if (flags < 0)
        return flags;
    if (lock->l_type != F_RDLCK && lock->l_type != F_WRLCK && lock->l_type != F_UNLCK)
        return -EINVAL;
    if (request == F_GETLK)
        lock->l_type = F_UNLCK;
    return 0;
}

static int control(int fd, int request, int arg, void *pointer)
{
    switch (request) {
    case F_GETLK:
    case F_SETLK:
    case F_SETLKW:
        return lock(fd, request, pointer);
    case F_DUPFD:
        return fd_dup(fd, arg, false);
    case F_DUPFD_CLOEXEC:
        return fd_dup(fd, arg, true);
    case F_GETFD: {
        const int close_on_exec = fd_get_cloexec(fd);

        return close_on_exec > 0 ? FD_CLOEXEC : close_on_exec;
    }
    case F_SETFD:
        return fd_set_cloexec(fd, arg & FD_CLOEXEC);
    case F_GETFL:
        return fd_get_flags(fd);
    case F_SETFL:
        return fd_set_flags(fd, arg);
    default:
        return -EINVAL;
    }
}

int fcntl(int fd, int request, ...)
{
    va_list args;

    va_start(args, request);
    void *pointer = va_arg(args, void *); /* an int comes the same way */

    va_end(args);
    return (int)posix_result(control(fd, request, (int)(intptr_t)pointer, pointer));
}

int ioctl(int fd, unsigned long request, ...)
{
    va_list args;

    va_start(args, request);
    void *arg = va_arg(args, void *);

    va_end(args);
    return (int)posix_result(fd_ioctl(fd, request, arg));
}

ssize_t sendfile(int out, int in, off_t *offset, size_t count)
{
    return posix_result(fd_sendfile(out, in, offset, count));
}
