/* From a path to an inode, and back (POSIX.1-2017 §4.13). */
#include <errno.h>
#include <string.h>

#include "lib/vfs_impl.h"

static struct inode *working_dir; /* NULL: the root */

/* ---- the walk ---- */

/* The path that is still to go, without slashes at its end; a link's target is put before the rest. */
struct rest {
    char text[VFS_PATH_MAX];
    size_t at; /* the next character */
    unsigned links;
    bool wants_dir; /* there were slashes at the end */
};

/* No slash in front, none behind. */
static void trim(struct rest *rest)
{
    size_t end = rest->at + strlen(rest->text + rest->at);

    while (end > rest->at && rest->text[end - 1] == '/') {
        rest->text[--end] = '\0';
        rest->wants_dir = true;
    }
    while (rest->text[rest->at] == '/')
        rest->at++;
}

static int rest_push(struct rest *rest, const char *target)
{
    const size_t left = strlen(rest->text + rest->at), len = strlen(target);
    const size_t between = left > 0; /* a slash */

    if (++rest->links > VFS_SYMLINKS_MAX)
        return -ELOOP;
    if (len + between + left >= sizeof rest->text)
        return -ENAMETOOLONG;
    memmove(rest->text + len + between, rest->text + rest->at, left + 1);
    if (between)
        rest->text[len] = '/';
    memcpy(rest->text, target, len);
    rest->at = 0;
    trim(rest);
    return 0;
}

/* The next name into *place. */
static int next_name(struct rest *rest, struct place *place)
{
    const char *name = rest->text + rest->at;
    const size_t len = strcspn(name, "/");

    if (len > VFS_NAME_MAX)
        return -ENAMETOOLONG;
    memcpy(place->name, name, len);
    place->name[len] = '\0';
    place->name_len = len;
    rest->at += len;
    while (rest->text[rest->at] == '/')
        rest->at++;
    return 0;
}

/* The path ends in this directory itself, or goes on from it. */
static void stand_in(struct inode *dir, struct place *place)
{
    *place = (struct place){.dir = dir, .node = dir};
}

static bool is_dots(const struct place *place)
{
    return strcmp(place->name, ".") == 0 || strcmp(place->name, "..") == 0;
}

static int step_dots(struct inode *dir, struct place *place)
{
    if (place->name_len == 1 || dir == vfs_root()) {
        stand_in(dir, place);
        return 0;
    }
    if (!dir->dir.parent)
        return -ENOENT; /* it was removed */
    stand_in(dir->dir.parent, place);
    return 0;
}

static int follow_link(struct rest *rest, struct place *place)
{
    const char *target = place->node->target;
    const int err = rest_push(rest, target);

    stand_in(target[0] == '/' ? vfs_root() : place->dir, place);
    return err;
}

/* One name further, from the directory *place stands in. */
static int step(struct rest *rest, bool follow, struct place *place)
{
    struct inode *dir = place->node;

    if (dir->kind != INODE_DIR)
        return -ENOTDIR;
    const int err = next_name(rest, place);

    if (err)
        return err;
    if (is_dots(place))
        return step_dots(dir, place);
    place->dir = dir;
    place->node = dir_find(dir, place->name, place->name_len);

    const bool last = rest->text[rest->at] == '\0';

    if (!place->node)
        return last ? 0 : -ENOENT;
    if (place->node->kind == INODE_SYMLINK && (!last || follow || rest->wants_dir))
        return follow_link(rest, place);
    return 0;
}

static struct inode *here(void)
{
    return working_dir ? working_dir : vfs_root();
}

static int start(struct inode *at, const char *path, struct rest *rest, struct place *place)
{
    const size_t len = strnlen(path, sizeof rest->text);

    if (len == 0)
        return -ENOENT;
    if (len >= sizeof rest->text)
        return -ENAMETOOLONG;
    memcpy(rest->text, path, len + 1);
    rest->at = 0;
    rest->links = 0;
    rest->wants_dir = false;
    trim(rest);
    if (!vfs_root())
        return -ENOMEM;
    stand_in(path[0] == '/' ? vfs_root() : at ? at : here(), place);
    return 0;
}

int vfs_walk(struct inode *at, const char *path, bool follow, struct place *place)
{
    struct rest rest;
    int err = start(at, path, &rest, place);

    while (!err && rest.text[rest.at] != '\0')
        err = step(&rest, follow, place);
    if (err)
        return err;
    place->must_be_dir = rest.wants_dir;
    if (place->must_be_dir && place->node && place->node->kind != INODE_DIR)
        return -ENOTDIR;
    return 0;
}

int vfs_find(struct inode *at, const char *path, bool follow, struct inode **node)
{
    struct place place;
    const int err = vfs_walk(at, path, follow, &place);

    if (err)
        return err;
    if (!place.node)
        return -ENOENT;
    *node = place.node;
    return 0;
}

/* ---- the working directory ---- */

static int change_to(struct inode *node)
{
    if (node->kind != INODE_DIR)
        return -ENOTDIR;
    node->users++;
    if (working_dir) {
        working_dir->users--;
        inode_release(working_dir);
    }
    working_dir = node;
    return 0;
}

int vfs_chdir(const char *path)
{
    struct inode *node;
    const int err = vfs_find(NULL, path, true, &node);

    return err ? err : change_to(node);
}

int vfs_chdir_file(struct file *f)
{
    struct inode *node = vfs_inode_of(f);

    return node ? change_to(node) : -ENOTDIR;
}

static const struct dir_entry *entry_of(const struct inode *dir)
{
    const struct dir_entry *entry = dir->dir.parent->dir.first;

    while (entry->node != dir)
        entry = entry->next;
    return entry;
}

/* How long dir's path is, "" for the root; ENOENT when it or one above it was removed. */
static ssize_t dir_path_len(const struct inode *dir)
{
    size_t len = 0;

    for (; dir != vfs_root(); dir = dir->dir.parent) {
        if (!dir->dir.parent)
            return -ENOENT;
        len += 1 + entry_of(dir)->name_len;
    }
    return (ssize_t)len;
}

/* "/name" so that it ends before `end`. Gives where it begins. */
static char *put_before(char *end, const char *name, size_t len)
{
    memcpy(end - len, name, len);
    end[-(ptrdiff_t)len - 1] = '/';
    return end - len - 1;
}

/*
 * The path of `name` in dir (of dir itself if name is empty) into buf, from its end to its beginning and not a byte more.
 * Returns how many bytes it has, the NUL included.
 */
static ssize_t path_of(const struct inode *dir, const char *name, size_t name_len, char *buf,
                       size_t room)
{
    const ssize_t dir_len = dir_path_len(dir);

    if (dir_len < 0)
        return dir_len;
    const bool name_too = name_len > 0 || dir_len == 0; /* "/" is an empty name in the root */
    const size_t len = (size_t)dir_len + (name_too ? 1 + name_len : 0);

    if (len >= room)
        return -ERANGE;
    char *at = buf + len;

    *at = '\0';
    if (name_too)
        at = put_before(at, name, name_len);
    for (; dir != vfs_root(); dir = dir->dir.parent)
        at = put_before(at, entry_of(dir)->name, entry_of(dir)->name_len);
    return (ssize_t)len + 1;
}

ssize_t vfs_getcwd(char *buf, size_t len)
{
    return vfs_root() ? path_of(here(), "", 0, buf, len) : -ENOMEM;
}

ssize_t vfs_realpath(struct inode *at, const char *path, char *buf, size_t len)
{
    struct place place;
    const int err = vfs_walk(at, path, true, &place);

    if (err)
        return err;
    if (!place.node)
        return -ENOENT;
    return path_of(place.dir, place.name, place.name_len, buf, len);
}
