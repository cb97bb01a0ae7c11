/* Properties of what a path names, and where programs stand, under POSIX names, over lib/vfs.h. */
#define _GNU_SOURCE /* newlib shows GNU names to those who ask */

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
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
        (void)file_put(base);
}

/* ---- what there is ---- */

int fstatat(int dir, const char *path, struct stat *st, int flags)
{
    struct inode *at;
    struct file *base;

    if (path[0] == '\0' && (flags & AT_EMPTY_PATH))
        return fstat(dir, st);
    int result = at_begin(dir, path, &at, &base);

    if (!result) {
        result = vfs_stat(at, path, !(flags & AT_SYMLINK_NOFOLLOW), st);
        at_end(base);
    }
    return (int)posix_result(result);
}

int stat(const char *path, struct stat *st)
{
    return fstatat(AT_FDCWD, path, st, 0);
}

int lstat(const char *path, struct stat *st)
{
    return fstatat(AT_FDCWD, path, st, AT_SYMLINK_NOFOLLOW);
}

int faccessat(int dir, const char *path, int how, int flags)
{
    struct inode *at;
    struct file *base;
    int result = at_begin(dir, path, &at, &base);

    (void)flags; /* real and effective user are one */
    if (!result) {
        result = vfs_access(at, path, how);
        at_end(base);
    }
    return (int)posix_result(result);
}

int access(const char *path, int how)
{
    return faccessat(AT_FDCWD, path, how, 0);
}

int eaccess(const char *path, int how)
{
    return faccessat(AT_FDCWD, path, how, AT_EACCESS);
}

int euidaccess(const char *path, int how)
{
    return eaccess(path, how);
}

/* ---- modes and owners ---- */

int fchmodat(int dir, const char *path, mode_t mode, int flags)
{
    struct inode *at;
    struct file *base;
    int result = at_begin(dir, path, &at, &base);

    (void)flags; /* a symbolic link has no mode of its own */
    if (!result) {
        result = vfs_chmod(at, path, mode);
        at_end(base);
    }
    return (int)posix_result(result);
}

int chmod(const char *path, mode_t mode)
{
    return fchmodat(AT_FDCWD, path, mode, 0);
}

int fchmod(int fd, mode_t mode)
{
    struct file *f = fd_get(fd);
    const int result = f ? vfs_chmod_file(f, mode) : -EBADF;

    if (f)
        (void)file_put(f);
    return (int)posix_result(result);
}

mode_t umask(mode_t mask)
{
    return vfs_umask(mask);
}

/* There is one user, 0, who owns everything. `found` is the result of looking for it. */
static int change_owner(int found, uid_t owner, gid_t group)
{
    const bool same = (owner == 0 || owner == (uid_t)-1) && (group == 0 || group == (gid_t)-1);

    if (found < 0)
        return -1;
    return (int)posix_result(same ? 0 : -EPERM);
}

int fchownat(int dir, const char *path, uid_t owner, gid_t group, int flags)
{
    struct stat st;

    return change_owner(fstatat(dir, path, &st, flags), owner, group);
}

int chown(const char *path, uid_t owner, gid_t group)
{
    return fchownat(AT_FDCWD, path, owner, group, 0);
}

int lchown(const char *path, uid_t owner, gid_t group)
{
    return fchownat(AT_FDCWD, path, owner, group, AT_SYMLINK_NOFOLLOW);
}

int fchown(int fd, uid_t owner, gid_t group)
{
    struct stat st;

    return change_owner(fstat(fd, &st), owner, group);
}

int truncate(const char *path, off_t size)
{
    return (int)posix_result(vfs_truncate(path, size));
}

/* ---- times ---- */

/* The time of the last write that is asked for; that of the last read isn't kept. 1; 0: leave it; EINVAL. */
static int wanted_mtime(const struct timespec times[2], struct timespec *mtime)
{
    *mtime = times && times[1].tv_nsec != UTIME_NOW ? times[1] : vfs_now();
    if (mtime->tv_nsec == UTIME_OMIT)
        return 0;
    return mtime->tv_nsec >= 0 && mtime->tv_nsec < 1000000000 ? 1 : -EINVAL;
}

int utimensat(int dir, const char *path, const struct timespec times[2], int flags)
{
    const bool follow = !(flags & AT_SYMLINK_NOFOLLOW);
    struct inode *at;
    struct file *base;
    struct timespec mtime;
    struct stat st;
    const int wanted = wanted_mtime(times, &mtime);
    int result = wanted < 0 ? wanted : at_begin(dir, path, &at, &base);

    if (!result) {
        result = wanted ? vfs_set_mtime(at, path, follow, mtime) : vfs_stat(at, path, follow, &st);
        at_end(base);
    }
    return (int)posix_result(result);
}

int futimens(int fd, const struct timespec times[2])
{
    struct timespec mtime;
    int result = wanted_mtime(times, &mtime);
    struct file *f = fd_get(fd);

    if (!f)
        return (int)posix_result(-EBADF);
    if (result > 0)
        result = vfs_set_mtime_file(f, mtime);
    (void)file_put(f);
    return (int)posix_result(result);
}

/* timeval to timespec; NULL stays NULL. */
static const struct timespec *finer(const struct timeval times[2], struct timespec out[2])
{
    if (!times)
        return NULL;
    for (int i = 0; i < 2; i++)
        out[i] = (struct timespec){.tv_sec = times[i].tv_sec, .tv_nsec = times[i].tv_usec * 1000};
    return out;
}

int utimes(const char *path, const struct timeval times[2])
{
    struct timespec out[2];

    return utimensat(AT_FDCWD, path, finer(times, out), 0);
}

int lutimes(const char *path, const struct timeval times[2])
{
    struct timespec out[2];

    return utimensat(AT_FDCWD, path, finer(times, out), AT_SYMLINK_NOFOLLOW);
}

int futimes(int fd, const struct timeval times[2])
{
    struct timespec out[2];

    return futimens(fd, finer(times, out));
}

int utime(const char *path, const struct utimbuf *times)
{
    const struct timespec out[2] = {{.tv_sec = times ? times->actime : 0},
                                    {.tv_sec = times ? times->modtime : 0}};

    return utimensat(AT_FDCWD, path, times ? out : NULL, 0);
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
        (void)file_put(f);
    return (int)posix_result(result);
}

/* A path into buf, or into memory that is allocated for it. */
static char *path_into(char *buf, size_t len,
                       ssize_t (*put)(const char *path, char *buf, size_t len), const char *path)
{
    char *out = buf ? buf : malloc(len);

    if (!out) {
        errno = ENOMEM;
        return NULL;
    }
    if (posix_result(put(path, out, len)) > 0)
        return out;
    if (!buf)
        free(out);
    return NULL;
}

static ssize_t put_cwd(const char *path, char *buf, size_t len)
{
    (void)path;
    return vfs_getcwd(buf, len);
}

char *getcwd(char *buf, size_t len)
{
    if (buf && len == 0) {
        errno = EINVAL;
        return NULL;
    }
    return path_into(buf, len > 0 ? len : VFS_PATH_MAX, put_cwd, NULL);
}

char *get_current_dir_name(void)
{
    return getcwd(NULL, 0);
}

static ssize_t put_real(const char *path, char *buf, size_t len)
{
    const ssize_t bytes = vfs_realpath(NULL, path, buf, len);

    return bytes == -ERANGE ? -ENAMETOOLONG : bytes;
}

char *realpath(const char *path, char *resolved)
{
    if (!path) {
        errno = EINVAL;
        return NULL;
    }
    return path_into(resolved, PATH_MAX, put_real, path);
}

/* ---- the file system as a whole ---- */

static void fill_statvfs(struct statvfs *st)
{
    const size_t limit = ram_pages_limit(), used = ram_pages_in_use();
    const size_t room = size_min(limit > used ? limit - used : 0, page_free_count());
    const fsfilcnt_t names = (fsfilcnt_t)(vfs_entry_limit() - vfs_entry_count());

    *st = (struct statvfs){.f_bsize = PAGE_BYTES,
                           .f_frsize = PAGE_BYTES,
                           .f_blocks = (fsblkcnt_t)limit,
                           .f_bfree = (fsblkcnt_t)room,
                           .f_bavail = (fsblkcnt_t)room,
                           .f_files = (fsfilcnt_t)vfs_entry_limit(),
                           .f_ffree = names,
                           .f_favail = names,
                           .f_namemax = VFS_NAME_MAX};
}

int statvfs(const char *path, struct statvfs *st)
{
    const int result = access(path, F_OK);

    if (!result)
        fill_statvfs(st);
    return result;
}

int fstatvfs(int fd, struct statvfs *st)
{
    struct stat exists;
    const int result = fstat(fd, &exists);

    if (!result)
        fill_statvfs(st);
    return result;
}

static long limit_of(int name)
{
    switch (name) {
    case _PC_NAME_MAX:
        return VFS_NAME_MAX;
    case _PC_PATH_MAX:
    case _PC_SYMLINK_MAX:
        return VFS_PATH_MAX;
    case _PC_PIPE_BUF:
        return 4096;
    case _PC_FILESIZEBITS:
        return 64;
    case _PC_LINK_MAX:
    case _PC_MAX_CANON:
    case _PC_MAX_INPUT:
        return 127;
    case _PC_NO_TRUNC:
    case _PC_CHOWN_RESTRICTED:
    case _PC_2_SYMLINKS:
        return 1;
    default:
        return posix_result(-EINVAL);
    }
}

long pathconf(const char *path, int name)
{
    return access(path, F_OK) ? -1 : limit_of(name);
}

long fpathconf(int fd, int name)
{
    struct stat st;

    return fstat(fd, &st) ? -1 : limit_of(name);
}
