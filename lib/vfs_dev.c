/* /dev: null, zero, full, urandom, random, console, tty; and stdin, stdout, stderr, fd/N for what is open already. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/console_file.h"
#include "lib/random.h"
#include "lib/vfs_impl.h"

/* ---- what can be read ---- */

static ssize_t fill(const struct iovec *iov, size_t count, void (*put)(void *to, size_t len))
{
    for (size_t i = 0; i < count; i++)
        put(iov[i].iov_base, iov[i].iov_len);
    return (ssize_t)iov_bytes(iov, count);
}

static void put_zeros(void *to, size_t len)
{
    memset(to, 0, len);
}

static ssize_t read_zeros(struct file *f, const struct iovec *iov, size_t count)
{
    (void)f;
    return fill(iov, count, put_zeros);
}

static ssize_t read_random(struct file *f, const struct iovec *iov, size_t count)
{
    (void)f;
    return fill(iov, count, random_bytes);
}

static ssize_t read_nothing(struct file *f, const struct iovec *iov, size_t count)
{
    (void)f;
    (void)iov;
    (void)count;
    return 0;
}

/* ---- what can be written ---- */

static ssize_t write_away(struct file *f, const struct iovec *iov, size_t count)
{
    (void)f;
    return (ssize_t)iov_bytes(iov, count);
}

static ssize_t write_full(struct file *f, const struct iovec *iov, size_t count)
{
    (void)f;
    return iov_bytes(iov, count) > 0 ? -ENOSPC : 0;
}

/* Whoever writes to the generator adds to it. */
static ssize_t write_seed(struct file *f, const struct iovec *iov, size_t count)
{
    (void)f;
    for (size_t i = 0; i < count; i++)
        random_seed_add(iov[i].iov_base, iov[i].iov_len);
    return (ssize_t)iov_bytes(iov, count);
}

static off_t seek_nowhere(struct file *f, off_t offset, int whence)
{
    (void)f;
    (void)offset;
    (void)whence;
    return 0;
}

static int device_close(struct file *f)
{
    free(f);
    return 0;
}

static const struct file_ops null_ops = {
    .read = read_nothing, .write = write_away, .seek = seek_nowhere, .close = device_close};
static const struct file_ops zero_ops = {
    .read = read_zeros, .write = write_away, .seek = seek_nowhere, .close = device_close};
static const struct file_ops full_ops = {
    .read = read_zeros, .write = write_full, .seek = seek_nowhere, .close = device_close};
static const struct file_ops random_ops = {
    .read = read_random, .write = write_seed, .seek = seek_nowhere, .close = device_close};
static const struct file_ops console_ops = {
    .read = console_file_read, .write = console_file_write, .close = device_close, .is_tty = true};

static const struct {
    const char *name;
    const struct file_ops *ops;
} devices[] = {
    {"null", &null_ops},      {"zero", &zero_ops},     {"full", &full_ops},
    {"urandom", &random_ops}, {"random", &random_ops}, {"console", &console_ops},
    {"tty", &console_ops},
};

/* ---- the tree ---- */

static bool add(struct inode *dir, const char *name, struct inode *node)
{
    if (!node)
        return false;
    if (dir_add(dir, name, strlen(name), node) == 0)
        return true;
    inode_release(node);
    return false;
}

static bool add_device(struct inode *dir, const char *name, const struct file_ops *ops)
{
    struct inode *node = inode_new(INODE_DEVICE, 0666);

    if (node)
        node->dev = ops;
    return add(dir, name, node);
}

/*
 * /dev/fd/0, 1, 2 are devices with no operations of their own: opening one means another reference to what is open there. Higher
 * numbers aren't listed; dup() gives the same.
 */
bool vfs_devices_init(struct inode *root)
{
    struct inode *dev = dir_make(root, "dev", 0755);
    struct inode *fd = dev ? dir_make(dev, "fd", 0555) : NULL;

    if (!fd)
        return false;
    for (size_t i = 0; i < ARRAY_COUNT(devices); i++) {
        if (!add_device(dev, devices[i].name, devices[i].ops))
            return false;
    }
    dev->read_only = fd->read_only = true;
    return add_device(fd, "0", NULL) && add_device(fd, "1", NULL) && add_device(fd, "2", NULL) &&
           add(dev, "stdin", symlink_new("fd/0")) && add(dev, "stdout", symlink_new("fd/1")) &&
           add(dev, "stderr", symlink_new("fd/2"));
}

static int open_descriptor(const struct inode *node, struct file **out)
{
    const struct inode *dir = dir_find(dir_find(vfs_root(), "dev", 3), "fd", 2);
    const struct dir_entry *entry = dir->dir.first;

    while (entry->node != node)
        entry = entry->next;
    *out = fd_get(entry->name[0] - '0');
    return *out ? 0 : -ENXIO;
}

int vfs_device_open(struct inode *node, int flags, struct file **out)
{
    if (!node->dev)
        return open_descriptor(node, out);
    struct file *f = malloc(sizeof *f);

    if (!f)
        return -ENOMEM;
    file_init(f, node->dev, flags & (O_ACCMODE | O_APPEND | O_NONBLOCK));
    *out = f;
    return 0;
}
