/* Open files and directories of the tree, as struct file. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/vfs_impl.h"

struct tree_file {
    struct file file;
    struct inode *node;
    uint64_t at;              /* the offset */
    bool mapped;              /* vfs_map() has tied its pages down */
    struct dir_reader reader; /* of a directory */
};

static const struct file_ops regular_ops, dir_ops;

static struct tree_file *tree_file(struct file *f)
{
    return CONTAINER_OF(f, struct tree_file, file);
}

struct inode *vfs_inode_of(struct file *f)
{
    return f->ops == &regular_ops || f->ops == &dir_ops ? tree_file(f)->node : NULL;
}

/* ---- bytes ---- */

static size_t read_at(const struct inode *node, uint64_t at, void *to, size_t len)
{
    if (!node->file.fixed)
        return ram_read(&node->file.ram, at, to, len);
    if (at >= node->file.fixed_size)
        return 0;
    const size_t part = size_min(len, (size_t)(node->file.fixed_size - at));

    memcpy(to, node->file.fixed + at, part);
    return part;
}

static ssize_t readv_at(const struct inode *node, const struct iovec *iov, size_t count,
                        uint64_t at)
{
    size_t done = 0;

    for (size_t i = 0; i < count; i++) {
        const size_t part = read_at(node, at + done, iov[i].iov_base, iov[i].iov_len);

        done += part;
        if (part < iov[i].iov_len)
            break;
    }
    return (ssize_t)done;
}

static ssize_t writev_at(struct inode *node, const struct iovec *iov, size_t count, uint64_t at)
{
    ssize_t done = 0;

    node->mtime = vfs_now();
    for (size_t i = 0; i < count; i++) {
        const ssize_t part =
            ram_write(&node->file.ram, at + (uint64_t)done, iov[i].iov_base, iov[i].iov_len);

        if (part < 0)
            return done > 0 ? done : part;
        done += part;
        if ((size_t)part < iov[i].iov_len)
            break;
    }
    return done;
}

static bool may_read(const struct file *f)
{
    return (f->flags & O_ACCMODE) != O_WRONLY;
}

static bool may_write(const struct file *f)
{
    return (f->flags & O_ACCMODE) != O_RDONLY;
}

static ssize_t regular_read(struct file *f, const struct iovec *iov, size_t count)
{
    struct tree_file *t = tree_file(f);

    const ssize_t done = readv_at(t->node, iov, count, t->at);

    t->at += (uint64_t)done;
    return done;
}

static ssize_t regular_write(struct file *f, const struct iovec *iov, size_t count)
{
    struct tree_file *t = tree_file(f);

    if (f->flags & O_APPEND)
        t->at = inode_size(t->node);
    const ssize_t done = writev_at(t->node, iov, count, t->at);

    if (done > 0)
        t->at += (uint64_t)done;
    return done;
}

static off_t regular_seek(struct file *f, off_t offset, int whence)
{
    struct tree_file *t = tree_file(f);
    const off_t bases[] = {
        [SEEK_SET] = 0, [SEEK_CUR] = (off_t)t->at, [SEEK_END] = (off_t)inode_size(t->node)};

    if (whence < 0 || (size_t)whence >= ARRAY_COUNT(bases))
        return -EINVAL;
    off_t to;

    if (__builtin_add_overflow(bases[whence], offset, &to))
        return -EOVERFLOW;
    if (to < 0)
        return -EINVAL;
    t->at = (uint64_t)to;
    return to;
}

static int tree_stat(struct file *f, struct stat *st)
{
    inode_stat(tree_file(f)->node, st);
    return 0;
}

static int regular_close(struct file *f)
{
    struct tree_file *t = tree_file(f);

    if (t->mapped)
        ram_unmap(&t->node->file.ram);
    t->node->users--;
    inode_release(t->node);
    free(t);
    return 0;
}

ssize_t vfs_pread(struct file *f, const struct iovec *iov, size_t count, off_t at)
{
    if (f->ops == &dir_ops)
        return -EISDIR;
    if (!may_read(f))
        return -EBADF;
    if (at < 0)
        return -EINVAL;
    if (f->ops == &regular_ops)
        return readv_at(tree_file(f)->node, iov, count, (uint64_t)at);
    return f->ops->seek && f->ops->read ? f->ops->read(f, iov, count)
                                        : -ESPIPE; /* a device: all places are one */
}

ssize_t vfs_pwrite(struct file *f, const struct iovec *iov, size_t count, off_t at)
{
    if (!may_write(f))
        return -EBADF;
    if (at < 0)
        return -EINVAL;
    if (f->ops == &regular_ops)
        return writev_at(tree_file(f)->node, iov, count, (uint64_t)at);
    return f->ops->seek && f->ops->write ? f->ops->write(f, iov, count) : -ESPIPE;
}

static int map_ram(struct tree_file *t, const uint8_t **data, size_t len)
{
    struct ram_data *ram = &t->node->file.ram;
    uint8_t *run;

    if (ram_map(ram, 0, len, &run))
        return -ENOTSUP;
    if (t->mapped) /* once is enough */
        ram_unmap(ram);
    t->mapped = true;
    *data = run;
    return 0;
}

int vfs_map(struct file *f, const uint8_t **data, size_t *len)
{
    const struct inode *node = vfs_inode_of(f);

    if (!node || node->kind != INODE_FILE)
        return node ? -EISDIR : -EINVAL;
    *len = (size_t)inode_size(node);
    *data = node->file.fixed;
    return *data || *len == 0 ? 0 : map_ram(tree_file(f), data, *len);
}

/* ---- directories ---- */

static ssize_t dir_read(struct file *f, const struct iovec *iov, size_t count)
{
    (void)f;
    (void)iov;
    (void)count;
    return -EISDIR;
}

static int dir_close(struct file *f)
{
    struct tree_file *t = tree_file(f);
    struct dir_reader **place = &t->node->dir.readers;

    while (*place != &t->reader)
        place = &(*place)->next;
    *place = t->reader.next;
    return regular_close(f);
}

void vfs_dir_rewind(struct file *f)
{
    struct tree_file *t = tree_file(f);

    t->reader.dots = 0;
    t->reader.at = t->node->dir.first;
}

int vfs_dir_next(struct file *f, struct vfs_dirent *out)
{
    if (f->ops != &dir_ops)
        return -ENOTDIR;

    struct tree_file *t = tree_file(f);
    const struct inode *dir = t->node;

    if (t->reader.dots < 2) {
        const bool up = t->reader.dots++ == 1 && dir->dir.parent;

        *out = (struct vfs_dirent){.name = t->reader.dots == 1 ? "." : "..",
                                   .inode = up ? dir->dir.parent->number : dir->number,
                                   .kind = INODE_DIR};
        if (t->reader.dots == 2)
            t->reader.at = dir->dir.first;
        return 1;
    }
    struct dir_entry *entry = t->reader.at;

    if (!entry)
        return 0;
    t->reader.at = entry->next;
    *out = (struct vfs_dirent){
        .name = entry->name, .inode = entry->node->number, .kind = entry->node->kind};
    return 1;
}

/* ---- open ---- */

static const struct file_ops regular_ops = {
    .read = regular_read,
    .write = regular_write,
    .seek = regular_seek,
    .stat = tree_stat,
    .close = regular_close,
};

static const struct file_ops dir_ops = {.read = dir_read, .stat = tree_stat, .close = dir_close};

int vfs_inode_open(struct inode *node, int flags, struct file **out)
{
    struct tree_file *t = calloc(1, sizeof *t);
    const bool dir = node->kind == INODE_DIR;

    if (!t)
        return -ENOMEM;
    file_init(&t->file, dir ? &dir_ops : &regular_ops, flags & (O_ACCMODE | O_APPEND | O_NONBLOCK));
    t->node = node;
    node->users++;
    if (dir) {
        t->reader.next = node->dir.readers;
        node->dir.readers = &t->reader;
    }
    *out = &t->file;
    return 0;
}
