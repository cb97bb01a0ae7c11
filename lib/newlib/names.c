/* Making, moving and removing names under POSIX names, over lib/vfs.h. */
#include <errno.h>
#include <fcntl.h>
#include <reent.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/newlib/at.h"
#include "lib/newlib/result.h"

/* ---- remove ---- */

int unlinkat(int dir, const char *path, int flags)
{
    struct inode *at;
    struct file *base;
    int result = at_begin(dir, path, &at, &base);

    if (!result) {
        result = flags & AT_REMOVEDIR ? vfs_rmdir(at, path) : vfs_unlink(at, path);
        at_end(base);
    }
    return (int)posix_result(result);
}

int unlink(const char *path)
{
    return unlinkat(AT_FDCWD, path, 0);
}

int rmdir(const char *path)
{
    return unlinkat(AT_FDCWD, path, AT_REMOVEDIR);
}

/* C's remove() takes directories, too (POSIX.1-2017). */
int remove(const char *path)
{
    const int result = vfs_unlink(NULL, path);

    return (int)posix_result(result == -EISDIR ? vfs_rmdir(NULL, path) : result);
}

/* newlib's tmpfile() asks for this one, and newlib has both in one object. */
int _remove_r(struct _reent *reent, const char *path)
{
    (void)reent;
    return remove(path);
}

/* ---- move, link ---- */

/* Two paths, each relative to a directory of its own. */
struct two {
    struct inode *from_at, *to_at;
    struct file *from_base, *to_base;
};

static int two_begin(struct two *two, int from_dir, const char *from, int to_dir, const char *to)
{
    int result = at_begin(from_dir, from, &two->from_at, &two->from_base);

    if (result)
        return result;
    result = at_begin(to_dir, to, &two->to_at, &two->to_base);
    if (result)
        at_end(two->from_base);
    return result;
}

static void two_end(struct two *two)
{
    at_end(two->from_base);
    at_end(two->to_base);
}

int renameat(int from_dir, const char *from, int to_dir, const char *to)
{
    struct two two;
    int result = two_begin(&two, from_dir, from, to_dir, to);

    if (!result) {
        result = vfs_rename(two.from_at, from, two.to_at, to);
        two_end(&two);
    }
    return (int)posix_result(result);
}

int rename(const char *from, const char *to)
{
    return renameat(AT_FDCWD, from, AT_FDCWD, to);
}

int linkat(int from_dir, const char *from, int to_dir, const char *to, int flags)
{
    struct two two;
    int result = two_begin(&two, from_dir, from, to_dir, to);

    if (!result) {
        result = vfs_link(two.from_at, from, flags & AT_SYMLINK_FOLLOW, two.to_at, to);
        two_end(&two);
    }
    return (int)posix_result(result);
}

int link(const char *from, const char *to)
{
    return linkat(AT_FDCWD, from, AT_FDCWD, to, 0);
}

int symlinkat(const char *target, int dir, const char *path)
{
    struct inode *at;
    struct file *base;
    int result = at_begin(dir, path, &at, &base);

    if (!result) {
        result = vfs_symlink(target, at, path);
        at_end(base);
    }
    return (int)posix_result(result);
}

int symlink(const char *target, const char *path)
{
    return symlinkat(target, AT_FDCWD, path);
}

ssize_t readlinkat(int dir, const char *path, char *buf, size_t len)
{
    struct inode *at;
    struct file *base;
    ssize_t result = at_begin(dir, path, &at, &base);

    if (!result) {
        result = vfs_readlink(at, path, buf, len);
        at_end(base);
    }
    return posix_result(result);
}

ssize_t readlink(const char *path, char *buf, size_t len)
{
    return readlinkat(AT_FDCWD, path, buf, len);
}

/* ---- make ---- */

int mkdirat(int dir, const char *path, mode_t mode)
{
    struct inode *at;
    struct file *base;
    int result = at_begin(dir, path, &at, &base);

    if (!result) {
        result = vfs_mkdir(at, path, mode);
        at_end(base);
    }
    return (int)posix_result(result);
}

int mkdir(const char *path, mode_t mode)
{
    return mkdirat(AT_FDCWD, path, mode);
}

/* Pipes with a name connect processes, and there is one. */
int mkfifo(const char *path, mode_t mode)
{
    (void)path;
    (void)mode;
    return (int)posix_result(-ENOSYS);
}
