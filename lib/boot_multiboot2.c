/* Multiboot 2: a list of tags, from GRUB under BIOS or UEFI. See boot_loader.h, multiboot2.h. */
#include <string.h>

#include "lib/boot_loader.h"
#include "lib/multiboot2.h"

enum {
    INFO_BYTES_MAX = 1 << 20,
    TAG_ALIGN = 8,
    RSDP_OLD_BYTES = 20,
    RSDP_NEW_BYTES = 36,
    CONVENTIONAL_KIB_MAX = 640,
};

/* The tags, and how far they reach. */
struct tags {
    uint64_t start, end;
};

/* Where firmware's root pointer is kept: the loader's copy of it goes away with its block. */
static uint8_t rsdp_copy[RSDP_NEW_BYTES];

/*
 * The nth tag (from 0) of that type which is at least min_bytes long; 0 when there is none. *size: its own size. A tag
 * that leaves the block ends the list.
 */
static uint64_t find_tag(const struct tags *tags, enum multiboot2_tag_type type, uint32_t n,
                         size_t min_bytes, uint32_t *size)
{
    uint64_t at = tags->start;
    while (tags->end - at >= sizeof(struct multiboot2_tag)) {
        struct multiboot2_tag tag;
        memcpy(&tag, loader_at(at), sizeof(tag));
        *size = le32_get(tag.size);
        if (le32_get(tag.type) == MB2_END || *size < sizeof(tag) || *size > tags->end - at)
            return 0;
        if (le32_get(tag.type) == (uint32_t)type && *size >= min_bytes && n-- == 0)
            return at;
        const uint64_t step = size_round_up(*size, TAG_ALIGN);
        if (step > tags->end - at)
            return 0;
        at += step;
    }
    return 0;
}

static void each_entry(uint64_t at, uint32_t size, loader_range *fn, struct boot_info *info)
{
    struct multiboot2_mmap map;
    struct multiboot2_mmap_entry entry;
    memcpy(&map, loader_at(at), sizeof(map));
    const uint32_t step = le32_get(map.entry_size);
    const uint32_t end = (uint32_t)size_min(size, LOADER_MMAP_BYTES_MAX);
    if (step < sizeof(entry))
        return;
    for (uint32_t offset = sizeof(map); offset < end && end - offset >= step; offset += step) {
        memcpy(&entry, loader_at(at + offset), sizeof(entry));
        const uint64_t start = le64_get(entry.start);
        fn(info, start, loader_range_end(start, le64_get(entry.len)),
           le32_get(entry.type) == MB2_MMAP_RAM);
    }
}

static void each_range(const struct loader *loader, loader_range *fn, struct boot_info *info)
{
    uint32_t size;
    const uint64_t map = find_tag(loader->info, MB2_MMAP, 0, sizeof(struct multiboot2_mmap), &size);
    if (map) {
        each_entry(map, size, fn, info);
        return;
    }
    struct multiboot2_memory memory;
    const uint64_t at = find_tag(loader->info, MB2_MEMORY, 0, sizeof(memory), &size);
    if (!at)
        return;
    memcpy(&memory, loader_at(at), sizeof(memory));
    fn(info, 0, (uint64_t)size_min(le32_get(memory.lower), CONVENTIONAL_KIB_MAX) << 10, true);
    fn(info, 1 << 20, (1ull << 20) + ((uint64_t)le32_get(memory.upper) << 10), true);
}

/* The string behind a tag's fields, if it ends inside the tag; else 0. */
static uint64_t text_in(uint64_t tag, uint32_t size, size_t fields)
{
    const char *text = loader_at(tag + fields);
    return memchr(text, '\0', size - fields) ? tag + fields : 0;
}

static struct loader_module module(const struct loader *loader, uint32_t idx)
{
    struct multiboot2_module m;
    uint32_t size;
    const uint64_t at = find_tag(loader->info, MB2_MODULE, idx, sizeof(m), &size);
    memcpy(&m, loader_at(at), sizeof(m));
    return (struct loader_module){le32_get(m.start), le32_get(m.end), text_in(at, size, sizeof(m))};
}

static uint32_t count_modules(const struct tags *tags)
{
    uint32_t count = 0, size;
    while (count < LOADER_MODULES_MAX &&
           find_tag(tags, MB2_MODULE, count, sizeof(struct multiboot2_module), &size))
        count++;
    return count;
}

/* An RSDP lies behind the tag's head, and isn't where firmware keeps it: under UEFI nothing else tells. */
static uint64_t copy_rsdp(const struct tags *tags)
{
    const size_t head = sizeof(struct multiboot2_tag);
    uint32_t size;
    uint64_t at = find_tag(tags, MB2_ACPI_NEW, 0, head + RSDP_NEW_BYTES, &size);
    const bool is_new = at != 0;
    if (!is_new)
        at = find_tag(tags, MB2_ACPI_OLD, 0, head + RSDP_OLD_BYTES, &size);
    if (!at)
        return 0;
    memset(rsdp_copy, 0, sizeof(rsdp_copy));
    memcpy(rsdp_copy, loader_at(at + head), is_new ? RSDP_NEW_BYTES : RSDP_OLD_BYTES);
    return (uintptr_t)rsdp_copy;
}

int boot_info_multiboot2(struct boot_info *info, uint32_t addr, struct span image)
{
    struct multiboot2_info mb;
    memcpy(&mb, loader_at(addr), sizeof(mb));
    const uint64_t bytes = size_min(le32_get(mb.total_size), INFO_BYTES_MAX);
    const uint64_t end = addr + bytes < BOOT_INFO_REACH ? addr + bytes : BOOT_INFO_REACH;
    const uint64_t start = addr + sizeof(mb);
    const struct tags tags = {start, end > start ? end : start};
    uint32_t size;
    const uint64_t cmdline =
        find_tag(&tags, MB2_CMDLINE, 0, sizeof(struct multiboot2_tag) + 1, &size);
    const struct loader loader = {
        .name = "multiboot 2",
        .info = &tags,
        .cmdline = cmdline ? text_in(cmdline, size, sizeof(struct multiboot2_tag)) : 0,
        .block = {{addr, tags.end}},
        .rsdp = copy_rsdp(&tags),
        .each_range = each_range,
        .module_count = count_modules(&tags),
        .module = module,
    };
    return boot_info_fill(info, &loader, image);
}
