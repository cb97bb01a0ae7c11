/* Files under their POSIX names, over lib/fd.h and lib/vfs.h: descriptors, and paths to open them by. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "lib/fd.h"
#include "lib/newlib/at.h"
#include "lib/newlib/result.h"
#include "lib/vfs.h"

/* newlib's read() and write() may count in int; a longer transfer is a short one, as POSIX allows. */
_READ_WRITE_RETURN_TYPE read(int fd, void *buf, size_t len)
{
    return (_READ_WRITE_RETURN_TYPE)posix_result(fd_read(fd, buf, size_min(len, INT_MAX)));
}

_READ_WRITE_RETURN_TYPE write(int fd, const void *buf, size_t len)
{
    return (_READ_WRITE_RETURN_TYPE)posix_result(fd_write(fd, buf, size_min(len, INT_MAX)));
}

int close(int fd)
{
    return (int)posix_result(fd_close(fd));
}

off_t lseek(int fd, off_t offset, int whence)
{
    return posix_result(fd_seek(fd, offset, whence));
}

int fstat(int fd, struct stat *st)
{
    return (int)posix_result(fd_stat(fd, st));
}

int isatty(int fd)
{
    return posix_result(fd_isatty(fd)) > 0;
}

/* ---- open ---- */

static int open_at(int dir, const char *path, int flags, mode_t mode)
{
    struct inode *at;
    struct file *f, *base;
    int result = at_begin(dir, path, &at, &base);

    if (result)
        return result;
    result = vfs_open(at, path, flags, mode, &f);
    at_end(base);
    if (result)
        return result;
    result = fd_install(f, 0, (flags & O_CLOEXEC) != 0);
    if (result < 0)
        (void)file_put(f);
    return result;
}

static mode_t mode_argument(int flags, va_list args)
{
    return flags & O_CREAT ? (mode_t)va_arg(args, int) : 0;
}

int open(const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    const mode_t mode = mode_argument(flags, args);

    va_end(args);
    return (int)posix_result(open_at(AT_FDCWD, path, flags, mode));
}

int openat(int dir, const char *path, int flags, ...)
{
    va_list args;

    va_start(args, flags);
    const mode_t mode = mode_argument(flags, args);

    va_end(args);
    return (int)posix_result(open_at(dir, path, flags, mode));
}

int creat(const char *path, mode_t mode)
{
    return (int)posix_result(open_at(AT_FDCWD, path, O_CREAT | O_WRONLY | O_TRUNC, mode));
}

/* ---- at an offset ---- */

static ssize_t at_offset(int fd, const struct iovec *iov, int count, off_t at,
                         ssize_t (*move)(struct file *, const struct iovec *, size_t, off_t))
{
    struct file *f = fd_get(fd);

    if (!f)
        return -EBADF;
    const ssize_t done =
        count < 0 || count > FD_IOV_MAX ? -EINVAL : move(f, iov, (size_t)count, at);

    (void)file_put(f);
    return done;
}

ssize_t pread(int fd, void *buf, size_t len, off_t at)
{
    const struct iovec iov = {.iov_base = buf, .iov_len = len};

    return posix_result(at_offset(fd, &iov, 1, at, vfs_pread));
}

ssize_t pwrite(int fd, const void *buf, size_t len, off_t at)
{
    const struct iovec iov = {.iov_base = (void *)(uintptr_t)buf, .iov_len = len};

    return posix_result(at_offset(fd, &iov, 1, at, vfs_pwrite));
}

ssize_t preadv(int fd, const struct iovec *iov, int count, off_t at)
{
    return posix_result(at_offset(fd, iov, count, at, vfs_pread));
}

ssize_t pwritev(int fd, const struct iovec *iov, int count, off_t at)
{
    return posix_result(at_offset(fd, iov, count, at, vfs_pwrite));
}

int ftruncate(int fd, off_t size)
{
    struct file *f = fd_get(fd);
    const int result = f ? vfs_truncate_file(f, size) : -EBADF;

    if (f)
        (void)file_put(f);
    return (int)posix_result(result);
}

/* ---- what asks nothing of memory ---- */

static int known(int fd)
{
    struct file *f = fd_get(fd);

    if (!f)
        return (int)posix_result(-EBADF);
    (void)file_put(f);
    return 0;
}

int fsync(int fd)
{
    return known(fd);
}

int fdatasync(int fd)
{
    return known(fd);
}

void sync(void)
{
}

/* One process: whoever asks for a lock already is the only one who could hold it. */
int flock(int fd, int operation)
{
    const int how = operation & ~LOCK_NB;

    if (how != LOCK_SH && how != LOCK_EX && how != LOCK_UN)
        return (int)posix_result(-EINVAL);
    return known(fd);
}

int lockf(int fd, int command, off_t len)
{
    (void)len;
    if (command < F_ULOCK || command > F_TEST)
        return (int)posix_result(-EINVAL);
    return known(fd);
}

/* A terminal's name, when fd is one. */
int ttyname_r(int fd, char *buf, size_t len)
{
    static const char name[] = "/dev/console";
    const int err = fd_isatty(fd) < 0 ? -fd_isatty(fd) : len < sizeof name ? ERANGE : 0;

    if (!err)
        memcpy(buf, name, sizeof name);
    return err;
}

char *ttyname(int fd)
{
    static char name[sizeof "/dev/console"];
    const int err = ttyname_r(fd, name, sizeof name);

    if (!err)
        return name;
    errno = err;
    return NULL;
}

int posix_fadvise(int fd, off_t offset, off_t len, int advice)
{
    (void)offset;
    (void)len;
    (void)advice;
    struct file *f = fd_get(fd);

    if (!f)
        return EBADF;
    (void)file_put(f);
    return 0;
}

int posix_fallocate(int fd, off_t offset, off_t len)
{
    struct stat st;

    if (offset < 0 || len <= 0)
        return EINVAL;
    if (fd_stat(fd, &st))
        return EBADF;
    off_t end;

    if (__builtin_add_overflow(offset, len, &end))
        return EFBIG;
    if (end <= st.st_size)
        return 0;
    struct file *f = fd_get(fd);
    const int err = vfs_truncate_file(f, end);

    (void)file_put(f);
    return -err;
}
