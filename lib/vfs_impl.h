/* What the files of lib/vfs_*.c share, and nobody else. */
#ifndef LIB_VFS_IMPL_H
#define LIB_VFS_IMPL_H

#include "lib/vfs.h"

/* A name in a directory. */
struct dir_entry {
    struct dir_entry *hash_next;
    struct dir_entry *prev, *next; /* in the directory, oldest first */
    struct inode *dir, *node;
    size_t name_len;
    uint32_t hash;
    char name[]; /* NUL-terminated */
};

/* Somebody who reads a directory, and which entry comes next. */
struct dir_reader {
    struct dir_reader *next;
    struct dir_entry *at;
    unsigned dots; /* how many of "." and ".." were given */
};

/* Where a path led. */
struct place {
    struct inode *dir;  /* the directory of the last name; never NULL on success */
    struct inode *node; /* what the name stands for; NULL: there is no such name in dir */
    char name[VFS_NAME_MAX +
              1]; /* the last name; "" when the path ends in a directory itself (/, ., ..) */
    size_t name_len;
    bool must_be_dir; /* the path ended in a slash */
};

/*
 * Follow a path. follow: also a symbolic link that is the last name. A last name that does not exist is no error.
 * ENOENT, ENOTDIR, ELOOP, ENAMETOOLONG, EINVAL never. Borrowed results: valid until the tree changes.
 */
int vfs_walk(struct inode *at, const char *path, bool follow, struct place *place);

/* The same, and it must exist. */
int vfs_find(struct inode *at, const char *path, bool follow, struct inode **node);

/* The directory of that name, made if need be. NULL: no memory, or something else has the name. */
struct inode *dir_make(struct inode *parent, const char *name, mode_t mode);

/* Every name below dir is gone. */
void dir_clear(struct inode *dir);

/* The target is copied. NULL: no memory. */
struct inode *symlink_new(const char *target);

struct dir_entry *dir_entry_find(const struct inode *dir, const char *name, size_t len);

/* Open a file or a directory that was found. Takes a use of the inode on success. */
int vfs_inode_open(struct inode *node, int flags, struct file **out);

#endif
