/* /dev: null, zero, full, urandom, random, console, tty; and stdin, stdout, stderr, fd/N for what is open already. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/console.h"
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

static ssize_t write_console(struct file *f, const struct iovec *iov, size_t count)
{
    (void)f;
    for (size_t i = 0; i < count; i++)
        console_write(iov[i].iov_base, iov[i].iov_len);
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
    .read = read_nothing, .write = write_console, .close = device_close, .is_tty = true};

static const struct {
    const char *name;
    const struct file_ops *ops;
} devices[] = {
    {"null", &null_ops},      {"zero", &zero_ops},     {"full", &full_ops},
    {"urandom", &random_ops}, {"random", &random_ops}, {"console", &console_ops},
    {"tty", &console_ops},
};

/* ---- the tree ---- */

static struct inode *add(struct inode *dir, const char *name, enum inode_kind kind, mode_t mode)
{
    struct inode *node = inode_new(kind, mode);

    if (dir_find(dir, name, strlen(name)))
        dir_remove(dir, name, strlen(name)); /* an archive brought its own */
    if (!node || dir_add(dir, name, strlen(name), node))
        panic("no memory for /dev");
    return node;
}

static void add_link(struct inode *dir, const char *name, const char *target)
{
    struct inode *node = add(dir, name, INODE_SYMLINK, 0777);

    node->target = strdup(target);
    if (!node->target)
        panic("no memory for /dev");
}

/*
 * /dev/fd/0, 1, 2 are devices with no operations of their own: opening one means another reference to what is open there. Higher
 * numbers aren't listed; dup() gives the same.
 */
void vfs_devices_init(struct inode *root)
{
    struct inode *dev = dir_make(root, "dev", 0755);

    for (size_t i = 0; i < ARRAY_COUNT(devices); i++)
        add(dev, devices[i].name, INODE_DEVICE, 0666)->dev = devices[i].ops;
    struct inode *fd = dir_make(dev, "fd", 0555);

    dev->read_only = fd->read_only = true;
    for (int i = 0; i < 3; i++)
        add(fd, (const char[]){(char)('0' + i), '\0'}, INODE_DEVICE, 0666);
    add_link(dev, "stdin", "fd/0");
    add_link(dev, "stdout", "fd/1");
    add_link(dev, "stderr", "fd/2");
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
