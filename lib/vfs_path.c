/* What a program does with a path besides opening it. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/vfs_impl.h"

static mode_t umask_bits = 022;

mode_t vfs_umask(mode_t mask)
{
    const mode_t before = umask_bits;

    umask_bits = mask & 0777;
    return before;
}

int vfs_stat(struct inode *at, const char *path, bool follow, struct stat *st)
{
    struct inode *node;
    const int err = vfs_find(at, path, follow, &node);

    if (!err)
        inode_stat(node, st);
    return err;
}

int vfs_access(struct inode *at, const char *path, int how)
{
    struct inode *node;
    const int err = vfs_find(at, path, true, &node);

    if (err)
        return err;
    if ((how & W_OK) && node->read_only)
        return -EROFS;
    if ((how & X_OK) && node->kind != INODE_DIR && !(node->mode & 0111))
        return -EACCES;
    return 0;
}

ssize_t vfs_readlink(struct inode *at, const char *path, char *buf, size_t len)
{
    struct inode *node;
    const int err = vfs_find(at, path, false, &node);

    if (err)
        return err;
    if (node->kind != INODE_SYMLINK)
        return -EINVAL;
    const size_t bytes = size_min(len, strlen(node->target));

    memcpy(buf, node->target, bytes);
    return (ssize_t)bytes;
}

/* ---- making names ---- */

/* ENOENT: the directory was removed, and lives only because somebody has it open or stands in it. */
static int may_name(const struct inode *dir)
{
    if (dir->names == 0)
        return -ENOENT;
    return dir->read_only ? -EROFS : 0;
}

/* Where a new name may be made. */
static int find_free(struct inode *at, const char *path, struct place *place)
{
    const int err = vfs_walk(at, path, false, place);

    if (err)
        return err;
    return place->node ? -EEXIST : may_name(place->dir);
}

/* Give a new inode its name, or drop it. */
static int name_it(const struct place *place, struct inode *node)
{
    const int err = dir_add(place->dir, place->name, place->name_len, node);

    if (err)
        inode_release(node);
    else
        place->dir->mtime = vfs_now();
    return err;
}

static int make(const struct place *place, enum inode_kind kind, mode_t mode, struct inode **out)
{
    *out = inode_new(kind, mode & ~umask_bits);
    return *out ? name_it(place, *out) : -ENOMEM;
}

int vfs_mkdir(struct inode *at, const char *path, mode_t mode)
{
    struct place place;
    struct inode *node;
    const int err = find_free(at, path, &place);

    return err ? err : make(&place, INODE_DIR, mode, &node);
}

int vfs_symlink(const char *target, struct inode *at, const char *path)
{
    struct place place;
    const size_t len = strnlen(target, VFS_PATH_MAX);

    if (len == 0 || len >= VFS_PATH_MAX)
        return len == 0 ? -ENOENT : -ENAMETOOLONG;
    const int err = find_free(at, path, &place);

    if (err)
        return err;
    if (place.must_be_dir)
        return -ENOENT;
    struct inode *node = symlink_new(target);

    return node ? name_it(&place, node) : -ENOMEM;
}

int vfs_link(struct inode *from_at, const char *from, bool follow, struct inode *to_at,
             const char *to)
{
    struct place place;
    struct inode *node;
    int err = vfs_find(from_at, from, follow, &node);

    if (err)
        return err;
    if (node->kind == INODE_DIR)
        return -EPERM;
    err = find_free(to_at, to, &place);
    if (err)
        return err;
    return place.must_be_dir ? -ENOENT : name_it(&place, node);
}

/* ---- removing names ---- */

static int find_removable(struct inode *at, const char *path, struct place *place)
{
    const int err = vfs_walk(at, path, false, place);

    if (err)
        return err;
    if (!place->node)
        return -ENOENT;
    if (place->name_len == 0) /* /, . and .. */
        return place->node == vfs_root() ? -EBUSY : -EINVAL;
    return may_name(place->dir);
}

static void remove_name(const struct place *place)
{
    place->dir->mtime = vfs_now();
    dir_remove(place->dir, place->name, place->name_len);
}

int vfs_unlink(struct inode *at, const char *path)
{
    struct place place;
    int err = vfs_walk(at, path, false, &place);

    if (err)
        return err;
    if (!place.node)
        return -ENOENT;
    if (place.node->kind == INODE_DIR)
        return -EISDIR;
    err = may_name(place.dir);
    if (!err)
        remove_name(&place);
    return err;
}

int vfs_rmdir(struct inode *at, const char *path)
{
    struct place place;
    const int err = find_removable(at, path, &place);

    if (err)
        return err;
    if (place.node->kind != INODE_DIR)
        return -ENOTDIR;
    if (place.node->dir.first)
        return -ENOTEMPTY;
    remove_name(&place);
    return 0;
}

static bool is_below(const struct inode *node, const struct inode *dir)
{
    for (; node; node = node->dir.parent) {
        if (node == dir)
            return true;
    }
    return false;
}

/* POSIX's rules on what may take the place of what. */
static int may_replace(const struct place *from, const struct place *to)
{
    const bool dir = from->node->kind == INODE_DIR;

    if (dir && is_below(to->dir, from->node))
        return -EINVAL;
    if (!to->node)
        return to->must_be_dir && !dir ? -ENOENT : 0;
    if (to->name_len == 0)
        return -EBUSY;
    if (dir && to->node->kind != INODE_DIR)
        return -ENOTDIR;
    if (!dir && to->node->kind == INODE_DIR)
        return -EISDIR;
    return to->node->kind == INODE_DIR && to->node->dir.first ? -ENOTEMPTY : 0;
}

int vfs_rename(struct inode *from_at, const char *from, struct inode *to_at, const char *to)
{
    struct place source, target;
    int err = find_removable(from_at, from, &source);

    if (err)
        return err;
    err = vfs_walk(to_at, to, false, &target);
    if (err)
        return err;
    err = may_name(target.dir);
    if (err || target.node == source.node)
        return err;
    err = may_replace(&source, &target);
    if (err)
        return err;
    err = dir_move(source.dir, source.name, source.name_len, target.dir, target.name,
                   target.name_len);
    if (!err)
        source.dir->mtime = target.dir->mtime = vfs_now();
    return err;
}

/* ---- properties ---- */

static int set_mode(struct inode *node, mode_t mode)
{
    if (node->read_only)
        return -EROFS;
    node->mode = mode & 07777;
    return 0;
}

static int set_mtime(struct inode *node, struct timespec mtime)
{
    if (node->read_only)
        return -EROFS;
    node->mtime = mtime;
    return 0;
}

int vfs_chmod(struct inode *at, const char *path, mode_t mode)
{
    struct inode *node;
    const int err = vfs_find(at, path, true, &node);

    return err ? err : set_mode(node, mode);
}

int vfs_chmod_file(struct file *f, mode_t mode)
{
    struct inode *node = vfs_inode_of(f);

    return node ? set_mode(node, mode) : 0; /* a device's or a socket's is nobody's concern */
}

int vfs_set_mtime(struct inode *at, const char *path, bool follow, struct timespec mtime)
{
    struct inode *node;
    const int err = vfs_find(at, path, follow, &node);

    return err ? err : set_mtime(node, mtime);
}

int vfs_set_mtime_file(struct file *f, struct timespec mtime)
{
    struct inode *node = vfs_inode_of(f);

    return node ? set_mtime(node, mtime) : 0;
}

static int resize(struct inode *node, off_t size)
{
    if (node->kind != INODE_FILE)
        return node->kind == INODE_DIR ? -EISDIR : -EINVAL;
    if (size < 0)
        return -EINVAL;
    if (node->read_only)
        return -EROFS;
    node->mtime = vfs_now();
    return ram_resize(&node->file.ram, (uint64_t)size);
}

int vfs_truncate(const char *path, off_t size)
{
    struct inode *node;
    const int err = vfs_find(NULL, path, true, &node);

    return err ? err : resize(node, size);
}

int vfs_truncate_file(struct file *f, off_t size)
{
    struct inode *node = vfs_inode_of(f);

    if (!node || (f->flags & O_ACCMODE) == O_RDONLY)
        return -EINVAL;
    return resize(node, size);
}

/* ---- open ---- */

static int create(const struct place *place, int flags, mode_t mode, struct file **out)
{
    struct inode *node;
    int err = place->must_be_dir ? -EISDIR : may_name(place->dir);

    if (err)
        return err;
    err = make(place, INODE_FILE, mode, &node);
    if (err)
        return err;
    err = vfs_inode_open(node, flags, out);
    if (err)
        dir_remove(place->dir, place->name, place->name_len);
    return err;
}

static int may_open(const struct inode *node, int flags)
{
    const bool writes = (flags & O_ACCMODE) != O_RDONLY;

    if (node->kind == INODE_SYMLINK)
        return -ELOOP; /* O_NOFOLLOW */
    if (node->kind == INODE_DIR)
        return writes || (flags & O_CREAT) ? -EISDIR : 0;
    if (flags & O_DIRECTORY)
        return -ENOTDIR;
    return writes && node->read_only && node->kind == INODE_FILE ? -EROFS : 0;
}

static int open_existing(struct inode *node, int flags, struct file **out)
{
    int err = may_open(node, flags);

    if (err)
        return err;
    if (node->kind == INODE_DEVICE)
        return vfs_device_open(node, flags, out);
    if ((flags & O_TRUNC) && (flags & O_ACCMODE) != O_RDONLY)
        err = resize(node, 0);
    return err ? err : vfs_inode_open(node, flags, out);
}

int vfs_open(struct inode *at, const char *path, int flags, mode_t mode, struct file **out)
{
    struct place place;
    const bool exclusive = (flags & (O_CREAT | O_EXCL)) == (O_CREAT | O_EXCL);
    const int err = vfs_walk(at, path, !exclusive && !(flags & O_NOFOLLOW), &place);

    if (err)
        return err;
    if (place.node)
        return exclusive ? -EEXIST : open_existing(place.node, flags, out);
    return flags & O_CREAT ? create(&place, flags, mode, out) : -ENOENT;
}
