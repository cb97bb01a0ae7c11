/* Hang an archive's entries into the tree. Later ones win, in one archive and between archives. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/log.h"
#include "lib/page_alloc.h"
#include "lib/tar.h"
#include "lib/vfs_impl.h"

static struct timespec mtime_of(const struct tar_entry *e)
{
    return (struct timespec){.tv_sec = (time_t)e->mtime};
}

/* The directory called name[0..len) below dir, made if need be. NULL: a file is in the way, or no memory. */
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

/* What an earlier entry put there. */
static struct inode *find(struct inode *root, const char *path)
{
    struct inode *node = root;

    while (node && *path) {
        const size_t len = strcspn(path, "/");

        node = node->kind == INODE_DIR ? dir_find(node, path, len) : NULL;
        path += len + (path[len] == '/');
    }
    return node;
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
        return e->target[0] ? symlink_new(e->target) : NULL;
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

/* Directories stay, and so do the devices. */
static bool may_give_way(const struct inode *old)
{
    return !old || (old->kind != INODE_DIR && old->kind != INODE_DEVICE);
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
    struct inode *node = may_give_way(old) ? node_for(root, e) : NULL;

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

/* What a look at one archive found, besides entries that were taken. */
struct losses {
    size_t refused;
    bool full; /* archives have their share of names and of memory */
};

/* The last quarter of the names is for programs; and long targets of links, which aren't bounded by their number, end here. */
static bool is_full(size_t free_before)
{
    const size_t free_now = page_free_count();

    return vfs_entry_count() >= vfs_entry_limit() / 4 * 3 ||
           (free_now < free_before && free_before - free_now > page_total_count() / 4);
}

static size_t mount(struct inode *root, struct tar_reader *reader, struct tar_entry *e,
                    struct losses *losses)
{
    const size_t free_before = page_free_count();
    size_t taken = 0;

    while (!losses->full && tar_next(reader, e)) {
        if (add(root, e))
            taken++;
        else
            losses->refused++;
        losses->full = is_full(free_before);
    }
    return taken;
}

static void tell(const char *name, size_t taken, const struct tar_reader *reader,
                 const struct losses *losses)
{
    const unsigned left_out = (unsigned)(losses->refused + reader->skipped);

    if (left_out == 0 && reader->damaged == 0 && !losses->full)
        log_debug("vfs", "%.100s: %u entries", name, (unsigned)taken);
    else
        log_warn("vfs",
                 "%.100s: %u entries are served, %u left out; damaged or cut short at %u places%s",
                 name, (unsigned)taken, left_out, (unsigned)reader->damaged,
                 losses->full ? "; the rest is left out, there are too many" : "");
}

size_t vfs_mount_tar(struct inode *root, const uint8_t *data, size_t len, const char *name)
{
    struct {
        struct tar_reader reader;
        struct tar_entry entry;
    } *work = malloc(sizeof *work); /* four paths are too much for a thread's stack */
    struct losses losses = {0};

    if (!work) {
        log_warn("vfs", "%.100s: no memory to read it", name);
        return 0;
    }
    tar_open(&work->reader, data, len);
    const size_t taken = mount(root, &work->reader, &work->entry, &losses);

    tell(name, taken, &work->reader, &losses);
    free(work);
    return taken;
}
