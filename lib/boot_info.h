/*
 * What the loader told us, whichever loader it was: memory, command line, modules.
 *
 * A reader per protocol fills the same struct. Loaders leave their information anywhere, also in
 * memory they call free; so a reader first strikes everything it may still need from `free`, then copies it to a
 * place taken from what is left. After it returns, nothing of the loader's own is needed
 * any more except the modules' contents, which stay where they are and are not in `free`.
 *
 * Runs once, at boot, with memory below 4 GiB mapped one to one. What the loader says may be nonsense: lengths and counts are
 * bounded, and an address is read only as far as those bounds.
 */
#ifndef LIB_BOOT_INFO_H
#define LIB_BOOT_INFO_H

#include "lib/span_list.h"
#include "lib/types.h"

enum {
    BOOT_MODULES_MAX = 32,
    BOOT_TEXT_MAX = 65536, /* bytes of a command line, NUL included */
};
#define BOOT_INFO_REACH 0x100000000ull /* the part of memory mapped while this runs */

struct boot_module {
    const uint8_t *data; /* not in `free`; ours for good */
    size_t len;          /* bytes */
    const char *text;    /* its words in the loader's configuration, "" if none */
};

struct boot_info {
    const char *loader;    /* how we were started: "multiboot 1", "multiboot 2", "PVH" */
    struct span_list ram;  /* all usable memory, our image and the modules included; page aligned */
    struct span_list free; /* ram that may be given out; page aligned, without page 0 */
    char *cmdline;         /* NUL-terminated, in memory of our own; may be written to */
    struct boot_module modules[BOOT_MODULES_MAX];
    size_t module_count;
    uint32_t modules_dropped; /* over BOOT_MODULES_MAX, or out of bounds */
    uint64_t rsdp;            /* physical address of ACPI's root pointer; 0 = to be searched for */
};

/* This image's own, filled by boot/init.c before anything else runs. */
extern struct boot_info boot_info;

/* Which protocol it was: what entry.S found in EAX, or put there. */
enum {
    BOOT_MAGIC_MULTIBOOT1 = 0x2badb002, /* Multiboot 0.6.96 §3.2 */
    BOOT_MAGIC_MULTIBOOT2 = 0x36d76289, /* Multiboot 2.0 §3.3 */
    BOOT_MAGIC_PVH = 0x336ec578,        /* the start information's own first word */
};

/*
 * Read the loader's information.
 *
 *   magic   BOOT_MAGIC_…
 *   addr    physical address of the block, as handed over in EBX
 *   image   what our own image takes, .bss included
 *
 * Returns 0; -ENOTSUP for another magic; -E2BIG when the command line or a module's is longer than BOOT_TEXT_MAX; -EFBIG when a
 * module doesn't lie in memory;
 * -ENODATA when the loader says nothing about memory; -ENOMEM when no memory is left to copy to.
 */
int boot_info_read(struct boot_info *info, uint32_t magic, uint32_t addr, struct span image);

/* The readers, one for each protocol; *info has been cleared. */
int boot_info_multiboot1(struct boot_info *info, uint32_t addr, struct span image);
int boot_info_multiboot2(struct boot_info *info, uint32_t addr, struct span image);
int boot_info_pvh(struct boot_info *info, uint32_t addr, struct span image);

#endif
