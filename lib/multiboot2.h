/* Multiboot 2.0: the tags a loader hands over (§3.6). Wire structs and numbers, nothing else. */
#ifndef LIB_MULTIBOOT2_H
#define LIB_MULTIBOOT2_H

#include "lib/types.h"

/* The block starts with these, tags follow, each on an 8-byte boundary. */
struct multiboot2_info {
    le32 total_size; /* bytes, this struct included */
    le32 reserved;
};

struct multiboot2_tag {
    le32 type; /* enum multiboot2_tag_type */
    le32 size; /* bytes, this struct included, padding not */
};

enum multiboot2_tag_type {
    MB2_END = 0,
    MB2_CMDLINE = 1,   /* a NUL-terminated string */
    MB2_MODULE = 3,    /* start, end: 32 bits each; a NUL-terminated string */
    MB2_MEMORY = 4,    /* KiB below 640 KiB and above 1 MiB, 32 bits each */
    MB2_MMAP = 6,      /* struct multiboot2_mmap, then entries */
    MB2_ACPI_OLD = 14, /* a copy of the RSDP, 20 bytes */
    MB2_ACPI_NEW = 15, /* the same of ACPI 2.0, 36 bytes */
};

struct multiboot2_module {
    struct multiboot2_tag tag;
    le32 start, end; /* end exclusive */
};

struct multiboot2_memory {
    struct multiboot2_tag tag;
    le32 lower, upper;
};

struct multiboot2_mmap {
    struct multiboot2_tag tag;
    le32 entry_size; /* bytes, a multiple of 8 */
    le32 entry_version;
};

struct multiboot2_mmap_entry {
    le64 start, len;
    le32 type; /* MB2_MMAP_RAM, or memory to keep off */
    le32 reserved;
};
static_assert(sizeof(struct multiboot2_mmap_entry) == 24, "§3.6.8");
enum { MB2_MMAP_RAM = 1 };

#endif
