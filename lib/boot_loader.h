/*
 * What a boot protocol's reader hands to boot_info.c: where things lie in the loader's memory, nothing copied yet.
 *
 * Internal to lib/boot_*.c. All addresses are physical; what lies at BOOT_INFO_REACH or above isn't read.
 */
#ifndef LIB_BOOT_LOADER_H
#define LIB_BOOT_LOADER_H

#include "lib/boot_info.h"

enum {
    LOADER_BLOCKS_MAX = 4,
    LOADER_MMAP_BYTES_MAX = 65536,
    LOADER_MODULES_MAX = 1024, /* entries looked at; beyond, the loader is talking nonsense */
};

struct loader_module {
    uint64_t start, end; /* end exclusive; one that makes no sense is dropped */
    uint64_t text;       /* NUL-terminated; 0 = none */
};

/* One entry of the memory map; end exclusive. */
typedef void loader_range(struct boot_info *info, uint64_t start, uint64_t end, bool ram);

struct loader {
    const char *name;
    uint64_t cmdline; /* NUL-terminated; 0 = none */
    struct span
        block[LOADER_BLOCKS_MAX]; /* the loader's own information; empty ones count for nothing */
    uint64_t rsdp;                /* as in struct boot_info */

    const void *info; /* the reader's own */
    void (*each_range)(const struct loader *loader, loader_range *fn, struct boot_info *info);
    uint32_t module_count; /* ≤ LOADER_MODULES_MAX */
    struct loader_module (*module)(const struct loader *loader, uint32_t idx);
};

/* Fill *info, which has been cleared. boot_info_read()'s errors. */
int boot_info_fill(struct boot_info *info, const struct loader *loader, struct span image);

/* Memory below BOOT_INFO_REACH is mapped one to one while this runs. */
static inline const void *loader_at(uint64_t phys)
{
    return (const void *)(uintptr_t)phys;
}

/* start + len, or the end of everything. */
static inline uint64_t loader_range_end(uint64_t start, uint64_t len)
{
    return len <= UINT64_MAX - start ? start + len : UINT64_MAX;
}

#endif
