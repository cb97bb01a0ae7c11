/* Hang an archive's entries into the tree. Later ones win, in one archive and between archives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/tar.h"
#include "lib/vfs_impl.h"

static struct timespec mtime_of(const struct tar_entry *e)
{
    return (struct timespec){.tv_sec = (time_t)e->mtime};
}

/* The directory called path[0..len) below dir, made if need be. NULL: a file is in the way, or no memory. */
static struct inode *subdir(struct inode *dir, const char *name, size_t len)
{
    struct inode *node = dir_find(dir, name, len);

    if (node)
        return node->kind == INODE_DIR ? node : NULL;
    node = len <= VFS_NAME_MAX ? inode_new(INODE_DIR, 0755) : NULL;
    if (!node)
        return NULL;
    node->read_only = true;
    if (dir_add(dir, name, len, node)) {
        inode_release(node);
        return NULL;
    }
    return node;
}

/* The directory that holds path's last part, which is *name then. Symbolic links on the way are not followed. */
static struct inode *parent_of(struct inode *root, const char *path, const char **name)
{
    struct inode *dir = root;
    const char *slash;

    while (dir && (slash = strchr(path, '/'))) {
        dir = subdir(dir, path, (size_t)(slash - path));
        path = slash + 1;
    }
    *name = path;
    return dir;
}

static struct inode *find(struct inode *root, const char *path)
{
    const char *name;
    struct inode *dir = parent_of(root, path, &name);

    return dir ? dir_find(dir, name, strlen(name)) : NULL;
}

/* The inode an entry stands for; NULL when it can't be. */
static struct inode *node_for(struct inode *root, const struct tar_entry *e)
{
    struct inode *node;

    switch (e->kind) {
    case TAR_HARDLINK:
        node = find(root, e->target);
        return node && node->kind != INODE_DIR ? node : NULL;
    case TAR_SYMLINK:
        node = e->target[0] ? inode_new(INODE_SYMLINK, 0777) : NULL;
        if (node && !(node->target = strdup(e->target))) {
            free(node);
            return NULL;
        }
        return node;
    case TAR_FILE:
        node = inode_new(INODE_FILE, e->mode);
        if (node) {
            node->file.fixed = e->data;
            node->file.fixed_size = e->size;
        }
        return node;
    case TAR_DIR:
        break;
    }
    return NULL;
}

static bool add_dir(struct inode *dir, const char *name, const struct tar_entry *e)
{
    struct inode *node = subdir(dir, name, strlen(name));

    if (!node)
        return false;
    node->mode = e->mode & 07777;
    node->mtime = mtime_of(e);
    return true;
}

static bool add(struct inode *root, const struct tar_entry *e)
{
    const char *name;
    struct inode *dir = parent_of(root, e->path, &name);

    if (e->path[0] == '\0')
        return e->kind == TAR_DIR; /* the top itself */
    if (!dir || strlen(name) > VFS_NAME_MAX)
        return false;
    if (e->kind == TAR_DIR)
        return add_dir(dir, name, e);

    struct inode *old = dir_find(dir, name, strlen(name));
    struct inode *node = old && old->kind == INODE_DIR ? NULL : node_for(root, e);

    if (!node)
        return false;
    if (node == old)
        return true; /* linked to itself */
    if (e->kind != TAR_HARDLINK) {
        node->read_only = true;
        node->mtime = mtime_of(e);
    }
    if (old)
        dir_remove(dir, name, strlen(name));
    if (dir_add(dir, name, strlen(name), node)) {
        inode_release(node);
        return false;
    }
    return true;
}

size_t vfs_mount_tar(struct inode *root, const uint8_t *data, size_t len, const char *name)
{
    struct tar_entry *e = malloc(sizeof *e); /* two paths are too much for a thread's stack */
    struct tar_reader reader;
    size_t taken = 0, refused = 0;
    int more = -ENOMEM;

    tar_open(&reader, data, len);
    while (e && (more = tar_next(&reader, e)) > 0) {
        if (vfs_entry_count() >= VFS_ENTRIES_MAX)
            more = -ENOSPC;
        if (more < 0)
            break;
        if (add(root, e))
            taken++;
        else
            refused++;
    }
    free(e);
    if (more < 0)
        log_warn("vfs", "%.100s: %s after %u entries", name,
                 more == -EBADMSG  ? "the archive is damaged or cut short"
                 : more == -ENOSPC ? "too many entries"
                                   : "no memory",
                 (unsigned)taken);
    if (refused + reader.skipped > 0)
        log_warn("vfs", "%.100s: %u entries left out", name, (unsigned)(refused + reader.skipped));
    log_debug("vfs", "%.100s: %u entries", name, (unsigned)taken);
    return taken;
}
