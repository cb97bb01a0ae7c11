/* What is done with a path besides opening it, under POSIX names, over lib/vfs.h. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "lib/newlib/at.h"
#include "lib/newlib/result.h"
#include "lib/page_alloc.h"
#include "lib/ram_data.h"
#include "port/clock.h"

int at_begin(int dir, const char *path, struct inode **at, struct file **base)
{
    *at = NULL;
    *base = NULL;
    if (dir == AT_FDCWD || path[0] == '/')
        return 0;
    *base = fd_get(dir);
    if (!*base)
        return -EBADF;
    *at = vfs_inode_of(*base);
    if (*at)
        return 0;
    at_end(*base);
    return -ENOTDIR;
}

void at_end(struct file *base)
{
    if (base)
        file_put(base);
}

/* ---- properties ---- */

int stat(const char *path, struct stat *st)
{
    return (int)posix_result(vfs_stat(NULL, path, true, st));
}

int lstat(const char *path, struct stat *st)
{
    return (int)posix_result(vfs_stat(NULL, path, false, st));
}

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
    struct inode *at;
    struct file *base;

    if (path[0] == '\0' && (flags & AT_EMPTY_PATH))
        return (int)posix_result(fd_stat(dir, st));
    int result = at_begin(dir, path, &at, &base);

    if (!result) {
        result = vfs_stat(at, path, !(flags & AT_SYMLINK_NOFOLLOW), st);
        at_end(base);
    }
    return (int)posix_result(result);
}

int access(const char *path, int how)
{
    return (int)posix_result(vfs_access(NULL, path, how));
}

int faccessat(int dir, const char *path, int how, int flags)
{
    struct inode *at;
    struct file *base;
    int result = at_begin(dir, path, &at, &base);

    (void)flags;
    if (!result) {
        result = vfs_access(at, path, how);
        at_end(base);
    }
    return (int)posix_result(result);
}

int chmod(const char *path, mode_t mode)
{
    return (int)posix_result(vfs_chmod(path, mode));
}

int fchmod(int fd, mode_t mode)
{
    struct file *f = fd_get(fd);
    int result = -EBADF;

    if (f) {
        struct inode *node = vfs_inode_of(f);

        result = node && node->read_only ? -EROFS : 0;
        if (node && !result)
            node->mode = mode & 07777;
        file_put(f);
    }
    return (int)posix_result(result);
}

/* There is one user, 0, who owns everything. */
static int change_owner(int exists, uid_t owner, gid_t group)
{
    if (exists)
        return (int)posix_result(exists);
    const bool same = (owner == 0 || owner == (uid_t)-1) && (group == 0 || group == (gid_t)-1);

    return (int)posix_result(same ? 0 : -EPERM);
}

int chown(const char *path, uid_t owner, gid_t group)
{
    return change_owner(vfs_access(NULL, path, F_OK), owner, group);
}

int fchown(int fd, uid_t owner, gid_t group)
{
    struct stat st;

    return change_owner(fd_stat(fd, &st), owner, group);
}

mode_t umask(mode_t mask)
{
    return vfs_umask(mask);
}

int truncate(const char *path, off_t size)
{
    return (int)posix_result(vfs_truncate(path, size));
}

/* ---- times ---- */

static struct timespec now(void)
{
    const uint64_t us = clock_wall_us();

    return (struct timespec){.tv_sec = (time_t)(us / 1000000),
                             .tv_nsec = (long)(us % 1000000) * 1000};
}

int utimes(const char *path, const struct timeval times[2])
{
    const struct timespec mtime =
        times ? (struct timespec){.tv_sec = times[1].tv_sec, .tv_nsec = times[1].tv_usec * 1000}
              : now();

    return (int)posix_result(vfs_set_mtime(path, true, mtime));
}

int utime(const char *path, const struct utimbuf *times)
{
    const struct timespec mtime = times ? (struct timespec){.tv_sec = times->modtime} : now();

    return (int)posix_result(vfs_set_mtime(path, true, mtime));
}

/* ---- names ---- */

int unlink(const char *path)
{
    return (int)posix_result(vfs_unlink(NULL, path));
}

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

/* C's remove() takes directories, too (POSIX.1-2017). */
int remove(const char *path)
{
    const int result = vfs_unlink(NULL, path);

    return (int)posix_result(result == -EISDIR ? vfs_rmdir(NULL, path) : result);
}

int rename(const char *from, const char *to)
{
    return (int)posix_result(vfs_rename(NULL, from, NULL, to));
}

int link(const char *from, const char *to)
{
    return (int)posix_result(vfs_link(from, to));
}

int symlink(const char *target, const char *path)
{
    return (int)posix_result(vfs_symlink(target, path));
}

ssize_t readlink(const char *path, char *buf, size_t len)
{
    return posix_result(vfs_readlink(NULL, path, buf, len));
}

int mkdir(const char *path, mode_t mode)
{
    return (int)posix_result(vfs_mkdir(NULL, path, mode));
}

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

int rmdir(const char *path)
{
    return (int)posix_result(vfs_rmdir(NULL, path));
}

/* ---- the working directory ---- */

int chdir(const char *path)
{
    return (int)posix_result(vfs_chdir(path));
}

int fchdir(int fd)
{
    struct file *f = fd_get(fd);
    const int result = f ? vfs_chdir_file(f) : -EBADF;

    if (f)
        file_put(f);
    return (int)posix_result(result);
}

char *getcwd(char *buf, size_t len)
{
    char *out = buf;

    if (!buf) {
        len = len > 0 ? len : VFS_PATH_MAX;
        out = malloc(len);
        if (!out)
            return NULL;
    } else if (len == 0) {
        errno = EINVAL;
        return NULL;
    }
    if (posix_result(vfs_getcwd(out, len)) > 0)
        return out;
    if (!buf)
        free(out);
    return NULL;
}

/* By going there and asking where we are: links are followed on the way. */
static int directory_of(const char *path, char *out)
{
    char before[VFS_PATH_MAX];
    ssize_t result = vfs_getcwd(before, sizeof before);

    if (result > 0)
        result = vfs_chdir(path);
    if (result)
        return (int)result;
    result = vfs_getcwd(out, VFS_PATH_MAX);
    (void)vfs_chdir(before);
    return result < 0 ? (int)result : 0;
}

/* A path's directory, resolved, and behind it the last name, which must not be a link. */
static int file_of(const char *path, char *out)
{
    char dir[VFS_PATH_MAX];
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const size_t len = slash ? (size_t)(slash - path) + 1 : 1;

    memcpy(dir, slash ? path : ".", len);
    dir[len] = '\0';
    const int result = directory_of(dir, out);

    if (result)
        return result;
    const size_t used = strcmp(out, "/") == 0 ? 0 : strlen(out);

    if (used + 1 + strlen(name) >= VFS_PATH_MAX)
        return -ENAMETOOLONG;
    out[used] = '/';
    memcpy(out + used + 1, name, strlen(name) + 1);
    return 0;
}

static int resolve(const char *path, char *out)
{
    char link[VFS_PATH_MAX];
    struct stat st;

    for (unsigned links = 0; links <= VFS_SYMLINKS_MAX; links++) {
        int result = vfs_stat(NULL, path, true, &st);

        if (!result)
            result = S_ISDIR(st.st_mode) ? directory_of(path, out) : file_of(path, out);
        if (result || S_ISDIR(st.st_mode))
            return result;
        const ssize_t len = vfs_readlink(NULL, out, link, sizeof link - 1);

        if (len < 0)
            return 0; /* no link: this is it */
        link[len] = '\0';
        if (link[0] != '/') { /* relative to where the link stands */
            char *name = strrchr(out, '/') + 1;

            if ((size_t)(name - out) + (size_t)len >= VFS_PATH_MAX)
                return -ENAMETOOLONG;
            memcpy(name, link, (size_t)len + 1);
            memcpy(link, out, strlen(out) + 1);
        }
        path = link;
    }
    return -ELOOP;
}

char *realpath(const char *path, char *resolved)
{
    char *out = resolved ? resolved : malloc(VFS_PATH_MAX);

    if (!out)
        return NULL;
    if (!path || posix_result(resolve(path, out)) < 0) {
        if (!path)
            errno = EINVAL;
        if (!resolved)
            free(out);
        return NULL;
    }
    return out;
}

/* ---- the file system as a whole ---- */

static void fill_statvfs(struct statvfs *st)
{
    const size_t limit = ram_pages_limit(), used = ram_pages_in_use();
    const size_t room = size_min(limit > used ? limit - used : 0, page_free_count());

    *st = (struct statvfs){.f_bsize = PAGE_BYTES,
                           .f_frsize = PAGE_BYTES,
                           .f_blocks = (fsblkcnt_t)limit,
                           .f_bfree = (fsblkcnt_t)room,
                           .f_bavail = (fsblkcnt_t)room,
                           .f_files = VFS_ENTRIES_MAX,
                           .f_ffree = (fsfilcnt_t)(VFS_ENTRIES_MAX - vfs_entry_count()),
                           .f_favail = (fsfilcnt_t)(VFS_ENTRIES_MAX - vfs_entry_count()),
                           .f_namemax = VFS_NAME_MAX};
}

int statvfs(const char *path, struct statvfs *st)
{
    const int result = vfs_access(NULL, path, F_OK);

    if (!result)
        fill_statvfs(st);
    return (int)posix_result(result);
}

int fstatvfs(int fd, struct statvfs *st)
{
    struct stat exists;
    const int result = fd_stat(fd, &exists);

    if (!result)
        fill_statvfs(st);
    return (int)posix_result(result);
}
