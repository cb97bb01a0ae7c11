/* Inodes, and the names that stand for them: one hash table for all directories, and a list in each for reading it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/page_alloc.h"
#include "lib/vfs_impl.h"
#include "port/clock.h"

enum {
    BUCKETS_MIN = 64,
    BYTES_PER_NAME = 512 /* an inode, a name and its place in the table, generously */
};

static struct {
    struct dir_entry **buckets;
    size_t bucket_count; /* a power of two */
    size_t entry_count;
    uint64_t last_number;
} tree;

size_t vfs_entry_count(void)
{
    return tree.entry_count;
}

size_t vfs_entry_limit(void)
{
    return size_min(page_total_count() * (PAGE_BYTES / BYTES_PER_NAME / 4), VFS_ENTRIES_MAX);
}

struct timespec vfs_now(void)
{
    const uint64_t us = clock_wall_us();

    return (struct timespec){.tv_sec = (time_t)(us / 1000000),
                             .tv_nsec = (long)(us % 1000000) * 1000};
}

struct inode *inode_new(enum inode_kind kind, mode_t mode)
{
    struct inode *node = calloc(1, sizeof *node);

    if (!node)
        return NULL;
    node->kind = kind;
    node->mode = mode & 07777;
    node->number = ++tree.last_number;
    node->mtime = vfs_now();
    return node;
}

struct inode *symlink_new(const char *target)
{
    struct inode *node = inode_new(INODE_SYMLINK, 0777);

    if (!node)
        return NULL;
    node->target = strdup(target);
    if (node->target)
        return node;
    free(node);
    return NULL;
}

void inode_release(struct inode *node)
{
    if (node->names > 0 || node->users > 0)
        return;
    switch (node->kind) {
    case INODE_FILE:
        ram_free(&node->file.ram);
        break;
    case INODE_SYMLINK:
        free(node->target);
        break;
    case INODE_DIR:
    case INODE_DEVICE:
        break;
    }
    free(node);
}

uint64_t inode_size(const struct inode *node)
{
    switch (node->kind) {
    case INODE_FILE:
        return node->file.fixed ? node->file.fixed_size : node->file.ram.size;
    case INODE_SYMLINK:
        return strlen(node->target);
    case INODE_DIR:
    case INODE_DEVICE:
        break;
    }
    return 0;
}

static mode_t type_bits(enum inode_kind kind)
{
    static const mode_t bits[] = {[INODE_DIR] = S_IFDIR,
                                  [INODE_FILE] = S_IFREG,
                                  [INODE_SYMLINK] = S_IFLNK,
                                  [INODE_DEVICE] = S_IFCHR};

    return bits[kind];
}

void inode_stat(const struct inode *node, struct stat *st)
{
    const uint64_t size = inode_size(node);

    *st = (struct stat){.st_mode = type_bits(node->kind) | node->mode,
                        .st_size = (off_t)size,
                        .st_blksize = 4096,
                        .st_blocks = (blkcnt_t)((size + 511) / 512)};
    st->st_dev = 1;
    st->st_ino = (ino_t)node->number;
    st->st_nlink = (nlink_t)(node->kind == INODE_DIR && node->names > 0 ? 2 : node->names);
    st->st_mtim = st->st_atim = st->st_ctim = node->mtime;
}

/* ---- names ---- */

/* FNV-1a over the directory's number and the name. */
static uint32_t hash_of(const struct inode *dir, const char *name, size_t len)
{
    uint32_t hash = 2166136261u ^ (uint32_t)dir->number;

    for (size_t i = 0; i < len; i++)
        hash = (hash ^ (uint8_t)name[i]) * 16777619u;
    return hash;
}

static struct dir_entry **bucket_of(uint32_t hash)
{
    return &tree.buckets[hash & (tree.bucket_count - 1)];
}

/* More buckets when there are as many names. Without memory the chains get longer, that is all. */
static int table_grow(void)
{
    if (tree.entry_count < tree.bucket_count)
        return 0;

    const size_t count = size_max(BUCKETS_MIN, tree.bucket_count * 2);
    struct dir_entry **buckets =
        calloc(count, sizeof(*buckets)); // NOLINT(bugprone-sizeof-expression): pointers are meant

    if (!buckets)
        return tree.buckets ? 0 : -ENOMEM;

    struct dir_entry **old = tree.buckets;
    const size_t old_count = old ? tree.bucket_count : 0;

    tree.buckets = buckets;
    tree.bucket_count = count;
    for (size_t i = 0; i < old_count; i++) {
        for (struct dir_entry *entry = old[i], *next; entry; entry = next) {
            next = entry->hash_next;
            entry->hash_next = *bucket_of(entry->hash);
            *bucket_of(entry->hash) = entry;
        }
    }
    free(old);
    return 0;
}

struct dir_entry *dir_entry_find(const struct inode *dir, const char *name, size_t len)
{
    if (!tree.buckets)
        return NULL;

    const uint32_t hash = hash_of(dir, name, len);

    for (struct dir_entry *entry = *bucket_of(hash); entry; entry = entry->hash_next) {
        if (entry->hash == hash && entry->dir == dir && entry->name_len == len &&
            memcmp(entry->name, name, len) == 0)
            return entry;
    }
    return NULL;
}

struct inode *dir_find(const struct inode *dir, const char *name, size_t name_len)
{
    const struct dir_entry *entry = dir_entry_find(dir, name, name_len);

    return entry ? entry->node : NULL;
}

static void list_append(struct inode *dir, struct dir_entry *entry)
{
    entry->prev = dir->dir.last;
    if (dir->dir.last)
        dir->dir.last->next = entry;
    else
        dir->dir.first = entry;
    dir->dir.last = entry;
}

int dir_add(struct inode *dir, const char *name, size_t name_len, struct inode *node)
{
    if (dir_entry_find(dir, name, name_len))
        return -EEXIST;
    if (tree.entry_count >= vfs_entry_limit())
        return -ENOSPC;
    if (table_grow())
        return -ENOMEM;

    struct dir_entry *entry = calloc(1, sizeof *entry + name_len + 1);

    if (!entry)
        return -ENOMEM;
    entry->dir = dir;
    entry->node = node;
    entry->name_len = name_len;
    entry->hash = hash_of(dir, name, name_len);
    memcpy(entry->name, name, name_len);
    entry->hash_next = *bucket_of(entry->hash);
    *bucket_of(entry->hash) = entry;
    list_append(dir, entry);
    tree.entry_count++;
    node->names++;
    if (node->kind == INODE_DIR)
        node->dir.parent = dir;
    return 0;
}

/* Whoever reads the directory right now and stands at this entry goes on with the next one. */
static void readers_skip(struct inode *dir, const struct dir_entry *gone)
{
    for (struct dir_reader *reader = dir->dir.readers; reader; reader = reader->next) {
        if (reader->at == gone)
            reader->at = gone->next;
    }
}

static void entry_unlink(struct dir_entry *entry)
{
    struct inode *dir = entry->dir;
    struct dir_entry **place = bucket_of(entry->hash);

    while (*place != entry)
        place = &(*place)->hash_next;
    *place = entry->hash_next;
    readers_skip(dir, entry);
    if (entry->prev)
        entry->prev->next = entry->next;
    else
        dir->dir.first = entry->next;
    if (entry->next)
        entry->next->prev = entry->prev;
    else
        dir->dir.last = entry->prev;
    tree.entry_count--;
}

static void entry_drop(struct dir_entry *entry)
{
    entry_unlink(entry);
    entry->node->names--;
    free(entry);
}

/* One of node's names is gone. */
static void name_lost(struct inode *node)
{
    if (node->kind == INODE_DIR)
        node->dir.parent = NULL;
    inode_release(node);
}

void dir_remove(struct inode *dir, const char *name, size_t name_len)
{
    struct dir_entry *entry = dir_entry_find(dir, name, name_len);

    ASSERT(entry);
    struct inode *node = entry->node;

    entry_drop(entry);
    name_lost(node);
}

int dir_move(struct inode *from, const char *name, size_t name_len, struct inode *to,
             const char *new_name, size_t new_len)
{
    struct dir_entry *source = dir_entry_find(from, name, name_len);
    struct dir_entry *target = dir_entry_find(to, new_name, new_len);

    ASSERT(source);
    struct inode *node = source->node;

    if (target) {
        struct inode *replaced = target->node;

        target->node = node;
        node->names++;
        replaced->names--;
        name_lost(replaced);
    } else {
        const int err = dir_add(to, new_name, new_len, node);

        if (err)
            return err;
    }
    entry_drop(source);
    if (node->kind == INODE_DIR)
        node->dir.parent = to;
    return 0;
}

/* Leaves first, and without recursion: a tree may be as deep as a path is long. */
void dir_clear(struct inode *top)
{
    struct inode *dir = top;

    while (top->dir.first) {
        struct dir_entry *first = dir->dir.first;

        if (first && first->node->kind == INODE_DIR) {
            dir = first->node;
        } else if (first) {
            dir_remove(dir, first->name, first->name_len);
        } else { /* empty: it stands first in its parent, that is how we came here */
            dir = dir->dir.parent;
            dir_remove(dir, dir->dir.first->name, dir->dir.first->name_len);
        }
    }
}
