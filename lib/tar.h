/*
 * Read a tar archive that lies in memory: ustar (POSIX.1-1988), pax (POSIX.1-2017, pax: path, linkpath, size, mtime), GNU (long
 * names, base-256 numbers) and the old format before them.
 *
 * Nothing is copied but names. An archive may say anything: sizes are checked against what is there, names against
 * `..`, and a header whose checksum is wrong ends the reading.
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
        [TAR_PATH_MAX]; /* of a link. A hard link's is cleaned like path, a symbolic link's is as it was written */
    mode_t mode;         /* permission bits */
    int64_t mtime;       /* seconds since 1970 */
    const uint8_t *data; /* of a file; in the archive */
    uint64_t size;
};

struct tar_reader {
    const uint8_t *data; /* borrowed */
    size_t len, at;
    uint32_t skipped; /* entries of other kinds (devices), or with a name that leads out */
};

/* True when the first block is a header with a right checksum. Constant time. */
bool tar_looks_like(const uint8_t *data, size_t len);

void tar_open(struct tar_reader *r, const uint8_t *data, size_t len);

/*
 * The next entry. 1: *e is filled; 0: the archive has ended; -EBADMSG: it is damaged here, or its last file is cut short, and what
 * was read before is all there is.
 */
int tar_next(struct tar_reader *r, struct tar_entry *e);

#endif
