/* Multiboot 0.6.96: the information block a loader hands over (§3.3). Wire structs and bits, nothing else. */
#ifndef LIB_MULTIBOOT1_H
#define LIB_MULTIBOOT1_H

#include "lib/types.h"

enum multiboot1_flags {
    MB1_HAS_MEM = 1 << 0,
    MB1_HAS_CMDLINE = 1 << 2,
    MB1_HAS_MODULES = 1 << 3,
    MB1_HAS_MMAP = 1 << 6,
};

/* All addresses are physical. */
struct multiboot1_info {
    le32 flags;     /* which of the following are valid */
    le32 mem_lower; /* KiB from 0; at most 640 */
    le32 mem_upper; /* KiB from 1 MiB, up to the first hole */
    le32 boot_device;
    le32 cmdline; /* NUL-terminated string */
    le32 mods_count;
    le32 mods_addr; /* array of struct multiboot1_module */
    le32 syms[4];
    le32 mmap_length; /* bytes */
    le32 mmap_addr;   /* list of struct multiboot1_mmap */
};
static_assert(offsetof(struct multiboot1_info, mods_count) == 20, "§3.3");
static_assert(offsetof(struct multiboot1_info, mmap_length) == 44, "§3.3");

struct multiboot1_module {
    le32 start, end; /* end exclusive */
    le32 text;       /* NUL-terminated string; may be 0 */
    le32 reserved;
};
static_assert(sizeof(struct multiboot1_module) == 16, "§3.3");

/* Entries follow each other at `size` + 4 bytes, not at sizeof. Packed: GRUB's are 24 bytes apart. */
struct __attribute__((packed)) multiboot1_mmap {
    le32 size; /* of the rest of this entry */
    le64 start;
    le64 len;
    le32 type; /* MB1_MMAP_RAM, or memory to keep off */
};
static_assert(sizeof(struct multiboot1_mmap) == 24, "§3.3");
enum { MB1_MMAP_RAM = 1 };

#endif
