/*
 * mmap() without a memory management unit's help: memory is mapped one to one, so a mapping is a run of pages, and its
 * protection is not enforced.
 *
 * Anonymous and private mappings are pages of their own; a private one of a file is a copy, made now. A shared mapping of a
 * file in memory is the file's own pages. A file in an archive that is only to be read is mapped where it lies, if
 * it begins on a page there and the mapping ends before its last page does; else it is copied, too.
 *
 * Functions return 0 or a negative errno. Constants are those of <sys/mman.h>. POSIX.1-2017, mmap().
 */
#ifndef LIB_MAPPING_H
#define LIB_MAPPING_H

#include <sys/types.h>

#include "lib/types.h"

struct file;

/* What is asked of mmap(). */
struct mapping_wish {
    void *
        addr; /* with MAP_FIXED: within one mapping of own pages, whose contents then give way; otherwise ignored */
    size_t len;
    int prot, flags;
    struct file *file; /* borrowed; NULL with MAP_ANONYMOUS */
    off_t offset;
};

/* EINVAL, ENOMEM, ENODEV, EACCES, ENOTSUP as mmap()'s; ENOMEM for a MAP_FIXED that can't be. */
int mapping_make(const struct mapping_wish *wish, void **out);

/* Whatever is mapped in [addr, addr + len) is given back; ENOMEM when a hole can't be noted, and then nothing is. */
int mapping_remove(void *addr, size_t len);

/* EACCES when part of it is an archive's own bytes, which are not to be written to. */
int mapping_may_write(const void *addr, size_t len);

size_t mapping_count(void);

#endif
