/*
 * Read a tar archive that lies in memory: ustar (POSIX.1-1988), pax (POSIX.1-2017, pax: path, linkpath, size, mtime), GNU (long
 * names, base-256 numbers) and the old format before them.
 *
 * Nothing is copied but names. An archive may say anything: sizes are checked against what is there and names against
 * `..`. Where a header is wrong the reading goes on at the next block that is one, as tar itself does; so a
 * damaged archive loses what was damaged, and reading it takes one pass over its blocks at most.
 */
#ifndef LIB_TAR_H
#define LIB_TAR_H

#include <sys/types.h>

#include "lib/types.h"

enum { TAR_BLOCK_BYTES = 512, TAR_PATH_MAX = 4096 };

enum tar_kind { TAR_FILE, TAR_DIR, TAR_SYMLINK, TAR_HARDLINK };

struct tar_entry {
    enum tar_kind kind;
    char
        path[TAR_PATH_MAX]; /* relative, without "." and empty parts; "" is the archive's own top */
    char target
        [TAR_PATH_MAX]; /* of a link: a hard link's cleaned like path, a symbolic link's as written */
    mode_t mode;        /* permission bits */
    int64_t mtime;      /* seconds since 1970 */
    const uint8_t *data; /* of a file: in the archive */
    uint64_t size;
};

/* What earlier entries said of the one that follows them. */
struct tar_overrides {
    bool has_path, has_target, has_size, has_mtime;
    bool unfit; /* it can't be served as it is meant: a name too long, a sparse file */
    char path[TAR_PATH_MAX], target[TAR_PATH_MAX];
    uint64_t size;
    int64_t mtime;
};

/* About 8 KiB: too much for a thread's stack. */
struct tar_reader {
    const uint8_t *data; /* borrowed */
    size_t len, at;
    bool lost; /* the block at `at` need not be a header */
    uint32_t
        skipped; /* entries of other kinds (devices, sparse files), or with a name that leads out */
    uint32_t damaged; /* places where a header was wrong, or said more bytes than there are */
    struct tar_overrides next;
};

/* True when the first block is a header with a right checksum. Constant time. */
bool tar_looks_like(const uint8_t *data, size_t len);

void tar_open(struct tar_reader *r, const uint8_t *data, size_t len);

/* The next entry into *e. False: that was all. */
bool tar_next(struct tar_reader *r, struct tar_entry *e);

#endif
