/*
 * Files under their POSIX names, over lib/fd.h. There is no file system: what has a path doesn't exist.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/fd.h"

/* A negative errno becomes -1 with errno set; everything else is handed on. */
static long result(long value)
{
    if (value >= 0)
        return value;
    errno = (int)-value;
    return -1;
}

static int no_such_path(void)
{
    errno = ENOENT;
    return -1;
}

/* newlib's read() and write() count in int here; a longer transfer is a short one, as POSIX allows. */
_READ_WRITE_RETURN_TYPE read(int fd, void *buf, size_t len)
{
    return (_READ_WRITE_RETURN_TYPE)result(fd_read(fd, buf, size_min(len, INT_MAX)));
}

_READ_WRITE_RETURN_TYPE write(int fd, const void *buf, size_t len)
{
    return (_READ_WRITE_RETURN_TYPE)result(fd_write(fd, buf, size_min(len, INT_MAX)));
}

int close(int fd)
{
    return (int)result(fd_close(fd));
}

off_t lseek(int fd, off_t offset, int whence)
{
    return result(fd_seek(fd, offset, whence));
}

int fstat(int fd, struct stat *st)
{
    return (int)result(fd_stat(fd, st));
}

int isatty(int fd)
{
    return result(fd_isatty(fd)) > 0;
}

int open(const char *path, int flags, ...)
{
    (void)path;
    (void)flags;
    return no_such_path();
}

int stat(const char *path, struct stat *st)
{
    (void)path;
    (void)st;
    return no_such_path();
}

int unlink(const char *path)
{
    (void)path;
    return no_such_path();
}

int link(const char *from, const char *to)
{
    (void)from;
    (void)to;
    return no_such_path();
}

int mkdir(const char *path, mode_t mode)
{
    (void)path;
    (void)mode;
    errno = EROFS;
    return -1;
}
