/* PVH: the start information of Xen's x86/HVM direct boot, which QEMU and others speak, too. Nothing but the wire. */
#ifndef LIB_PVH_H
#define LIB_PVH_H

#include "lib/types.h"

/* All addresses are physical. */
struct pvh_start_info {
    le32 magic;   /* BOOT_MAGIC_PVH */
    le32 version; /* 0: what is above memmap only */
    le32 flags;
    le32 module_count;
    le64 modules; /* array of struct pvh_module */
    le64 cmdline; /* NUL-terminated string; 0 = none */
    le64 rsdp;    /* 0 = none */
    le64 memmap;  /* array of struct pvh_memmap */
    le32 memmap_count;
    le32 reserved;
};
static_assert(offsetof(struct pvh_start_info, memmap) == 40, "start_info.h");
static_assert(sizeof(struct pvh_start_info) == 56, "start_info.h");
enum { PVH_V0_BYTES = 40 };

struct pvh_module {
    le64 start, len;
    le64 cmdline; /* NUL-terminated string; 0 = none */
    le64 reserved;
};
static_assert(sizeof(struct pvh_module) == 32, "start_info.h");

struct pvh_memmap {
    le64 start, len;
    le32 type; /* PVH_MEMMAP_RAM, or memory to keep off */
    le32 reserved;
};
static_assert(sizeof(struct pvh_memmap) == 24, "start_info.h");
enum { PVH_MEMMAP_RAM = 1 };

#endif
