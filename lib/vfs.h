/*
 * Files by path: one tree in memory, filled from the loader's modules and by programs.
 *
 *   /            read-only: what the tar modules hold (a later module wins)
 *   /modules/    modules that are no tar archive, by their names
 *   /tmp/        read and write, in pages of memory (lib/ram_data.h)
 *   /dev/        null, zero, full, urandom, random, console, tty, stdin, stdout, stderr, fd/N
 *
 * The contents of an archive are never copied: a file's bytes stay where the loader put them. Modes are kept and shown, but
 * one program is all there is, so only "read-only" is enforced (EROFS).
 *
 * The tree is made at the first call, so an image that opens nothing has none of this. Paths are absolute, or relative
 * to `at` (a directory, or NULL for the working directory); at most PATH_MAX - 1 bytes, NAME_MAX a component
 * (ENAMETOOLONG), SYMLINKS_MAX links on the way (ELOOP). `..` of the root is the root (POSIX.1-2017 §4.13).
 *
 * Functions return 0 or a negative errno. Not for callbacks and interrupt handlers.
 */
#ifndef LIB_VFS_H
#define LIB_VFS_H

#include <sys/stat.h>
#include <time.h>

#include "lib/fd.h"
#include "lib/ram_data.h"
#include "lib/types.h"

enum {
    VFS_PATH_MAX = 4096, /* PATH_MAX: the NUL included */
    VFS_NAME_MAX = 255,  /* NAME_MAX */
    VFS_SYMLINKS_MAX = 16,
    VFS_ENTRIES_MAX = 200000, /* names in the tree, in any case; see vfs_entry_limit() */
};

enum inode_kind { INODE_DIR, INODE_FILE, INODE_SYMLINK, INODE_DEVICE };

struct dir_entry;
struct dir_reader;

/* What a name stands for. Freed when neither a name nor an open file refers to it. */
struct inode {
    enum inode_kind kind;
    bool read_only; /* contents and, of a directory, names */
    mode_t mode;    /* permission bits */
    uint64_t number;
    uint32_t names, users; /* references: from directories, and from open files and mappings */
    struct timespec mtime;
    union {
        struct {
            struct inode *parent; /* NULL: removed, or the root */
            struct dir_entry *first, *last;
            struct dir_reader *readers; /* open handles, to be told of removals */
        } dir;
        struct {
            const uint8_t *fixed; /* an archive's bytes, or NULL: in `ram` */
            uint64_t fixed_size;
            struct ram_data ram;
        } file;
        char *target;               /* of a symbolic link */
        const struct file_ops *dev; /* its own struct file is made at open */
    };
};

/* ---- by path ---- */

/*
 * Open. flags as open()'s: O_ACCMODE, O_CREAT, O_EXCL, O_TRUNC, O_APPEND, O_NONBLOCK, O_DIRECTORY, O_NOFOLLOW.
 * *out gets a file with one reference for the caller.
 */
int vfs_open(struct inode *at, const char *path, int flags, mode_t mode, struct file **out);

int vfs_stat(struct inode *at, const char *path, bool follow, struct stat *st);
int vfs_access(struct inode *at, const char *path, int how); /* F_OK, R_OK | W_OK | X_OK */
int vfs_mkdir(struct inode *at, const char *path, mode_t mode);
int vfs_unlink(struct inode *at, const char *path); /* EISDIR for a directory, as on Linux */
int vfs_rmdir(struct inode *at, const char *path);
int vfs_rename(struct inode *from_at, const char *from, struct inode *to_at, const char *to);
int vfs_link(struct inode *from_at, const char *from, bool follow, struct inode *to_at,
             const char *to); /* EPERM for a directory */
int vfs_symlink(const char *target, struct inode *at, const char *path);
ssize_t vfs_readlink(struct inode *at, const char *path, char *buf, size_t len); /* bytes, no NUL */
int vfs_truncate(const char *path, off_t size);
int vfs_chmod(struct inode *at, const char *path, mode_t mode);
int vfs_set_mtime(struct inode *at, const char *path, bool follow, struct timespec mtime);

int vfs_chdir(const char *path);
int vfs_chdir_file(struct file *f); /* ENOTDIR */

/*
 * The working directory's path, and the path without links and dots of what `path` leads to. Both return its bytes, the NUL
 * included; ERANGE when buf is too small; ENOENT when a directory on it was removed.
 */
ssize_t vfs_getcwd(char *buf, size_t len);
ssize_t vfs_realpath(struct inode *at, const char *path, char *buf, size_t len);
mode_t vfs_umask(mode_t mask); /* the one before */

/* The time of day, as files are dated with it. */
struct timespec vfs_now(void);

/* ---- by open file ---- */

/* What f was opened from by vfs_open(), or NULL (a socket). Borrowed; lives as long as f. */
struct inode *vfs_inode_of(struct file *f);

/* Read or write at an offset without moving the file's own. ESPIPE when it has none. */
ssize_t vfs_pread(struct file *f, const struct iovec *iov, size_t count, off_t at);
ssize_t vfs_pwrite(struct file *f, const struct iovec *iov, size_t count, off_t at);
int vfs_truncate_file(struct file *f, off_t size);
int vfs_chmod_file(struct file *f, mode_t mode); /* nothing happens to what has no inode */
int vfs_set_mtime_file(struct file *f, struct timespec mtime);

/*
 * The bytes of a regular file where they lie, without a copy: valid, at the same place, until f is closed for good. Of a file in
 * /tmp others may change bytes meanwhile; it is brought into one run of pages first (ENOTSUP when there is no such run, or
 * mmap() keeps its pages apart). EISDIR; EINVAL for a device.
 */
int vfs_map(struct file *f, const uint8_t **data, size_t *len);

struct vfs_dirent {
    const char *name; /* borrowed until the next call on this tree */
    uint64_t inode;
    enum inode_kind kind;
};
/* The next name of an open directory, "." and ".." first. 1; 0 at the end; ENOTDIR. */
int vfs_dir_next(struct file *f, struct vfs_dirent *out);
void vfs_dir_rewind(struct file *f);

/* ---- for lib/vfs_*.c and tests ---- */

struct inode *
vfs_root(void); /* NULL: there was no memory to make the tree; the next call tries again */
struct inode *inode_new(enum inode_kind kind,
                        mode_t mode);   /* NULL: no memory. No names, no users */
void inode_release(struct inode *node); /* free it if nobody refers to it */
int dir_add(struct inode *dir, const char *name, size_t name_len,
            struct inode *node); /* EEXIST, ENOMEM, ENOSPC */
struct inode *dir_find(const struct inode *dir, const char *name, size_t name_len);
void dir_remove(struct inode *dir, const char *name, size_t name_len);
/* A name moves; who had the new one loses it. ENOMEM, ENOSPC: nothing has changed. */
int dir_move(struct inode *from, const char *name, size_t name_len, struct inode *to,
             const char *new_name, size_t new_len);
uint64_t inode_size(const struct inode *node);
void inode_stat(const struct inode *node, struct stat *st);
bool vfs_devices_init(struct inode *root); /* false: no memory */
/* Open device `node`, or what /dev/stdin and /dev/fd/N stand for. */
int vfs_device_open(struct inode *node, int flags, struct file **out);
/* Hang an archive into the tree. Bad entries are counted and left out. Returns how many entries it took. */
size_t vfs_mount_tar(struct inode *root, const uint8_t *data, size_t len, const char *name);
size_t vfs_entry_count(void);
/* How many names there may be: as many as fit into a quarter of the memory. More of an archive are left out; ENOSPC. */
size_t vfs_entry_limit(void);

#endif
