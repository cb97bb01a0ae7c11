/*
 * The contents of a file in memory: a list of pages, with holes where nothing was ever written.
 *
 * A file that is mapped (mmap) lies in one run of pages, and its pages stay where they are until it is unmapped. All files together
 * take at most half of the memory there was at start: then ENOSPC.
 */
#ifndef LIB_RAM_DATA_H
#define LIB_RAM_DATA_H

#include <sys/types.h>

#include "lib/types.h"

enum {
    RAM_DATA_SPARSE =
        8 /* bytes are written at most this many times as far as all files may be large */
};
#define RAM_DATA_SIZE_MAX ((uint64_t)1 << 40)

/* All-zero is an empty file. */
struct ram_data {
    uint64_t size;   /* bytes */
    uint8_t **pages; /* NULL: a hole, reads as zeros */
    size_t page_count;
    uint32_t maps; /* mappings that point into the pages */
};

/* Bytes read, 0 at the end. */
size_t ram_read(const struct ram_data *d, uint64_t at, void *to, size_t len);

/* Bytes written, which may be fewer than len when memory ends; ENOSPC when none could be; EFBIG. */
ssize_t ram_write(struct ram_data *d, uint64_t at, const void *from, size_t len);

/* Cut, or grow by a hole. EFBIG; ENOSPC. */
int ram_resize(struct ram_data *d, uint64_t size);

/*
 * The bytes [at, at + len) in one run of memory; at is page aligned, and what lies behind the end of the file is zeros.
 * Counts as a mapping until ram_unmap(). ENOMEM when there is no such run, or other mappings keep the pages apart.
 */
int ram_map(struct ram_data *d, uint64_t at, size_t len, uint8_t **out);
void ram_map_again(
    struct ram_data *d); /* one more owner of a mapping, with an unmapping of its own */
void ram_unmap(struct ram_data *d);

void ram_free(struct ram_data *d);

size_t ram_pages_in_use(void); /* by all files */
size_t ram_pages_limit(void);

#endif
