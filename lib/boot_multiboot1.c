/* Multiboot 1: what GRUB's and QEMU's loaders hand over. See boot_loader.h, multiboot1.h. */
#include <string.h>

#include "lib/boot_loader.h"
#include "lib/multiboot1.h"

enum { CONVENTIONAL_KIB_MAX = 640 };

/* The entries that lie wholly inside the map. */
static void each_entry(const struct multiboot1_info *mb, loader_range *fn, struct boot_info *info)
{
    const uint32_t base = le32_get(mb->mmap_addr);
    const uint32_t end = (uint32_t)size_min(le32_get(mb->mmap_length), LOADER_MMAP_BYTES_MAX);
    uint32_t offset = 0;
    while (end - offset >= sizeof(struct multiboot1_mmap)) {
        struct multiboot1_mmap entry;
        memcpy(&entry, loader_at(base + offset), sizeof(entry));
        const uint64_t start = le64_get(entry.start);
        fn(info, start, loader_range_end(start, le64_get(entry.len)),
           le32_get(entry.type) == MB1_MMAP_RAM);

        const uint32_t size = le32_get(entry.size);
        if (size < sizeof(entry) - sizeof(entry.size) || size > end - offset - 4)
            return;
        offset += size + 4;
    }
}

static void each_range(const struct loader *loader, loader_range *fn, struct boot_info *info)
{
    const struct multiboot1_info *mb = loader->info;
    const uint32_t flags = le32_get(mb->flags);
    if (flags & MB1_HAS_MMAP) {
        each_entry(mb, fn, info);
    } else if (flags & MB1_HAS_MEM) {
        fn(info, 0, (uint64_t)size_min(le32_get(mb->mem_lower), CONVENTIONAL_KIB_MAX) << 10, true);
        fn(info, 1 << 20, (1ull << 20) + ((uint64_t)le32_get(mb->mem_upper) << 10), true);
    }
}

static struct loader_module module(const struct loader *loader, uint32_t idx)
{
    const struct multiboot1_info *mb = loader->info;
    struct multiboot1_module m;
    memcpy(&m, loader_at(le32_get(mb->mods_addr) + idx * (uint32_t)sizeof(m)), sizeof(m));
    return (struct loader_module){le32_get(m.start), le32_get(m.end), le32_get(m.text)};
}

int boot_info_multiboot1(struct boot_info *info, uint32_t addr, struct span image)
{
    struct multiboot1_info mb;
    memcpy(&mb, loader_at(addr), sizeof(mb));
    const uint32_t flags = le32_get(mb.flags);
    const uint32_t modules = flags & MB1_HAS_MODULES
                                 ? (uint32_t)size_min(le32_get(mb.mods_count), LOADER_MODULES_MAX)
                                 : 0;
    const uint64_t mods_addr = le32_get(mb.mods_addr);
    const struct loader loader = {
        .name = "multiboot 1",
        .info = &mb,
        .cmdline = flags & MB1_HAS_CMDLINE ? le32_get(mb.cmdline) : 0,
        .block = {{addr, addr + sizeof(mb)},
                  {mods_addr, mods_addr + modules * sizeof(struct multiboot1_module)}},
        .each_range = each_range,
        .module_count = modules,
        .module = module,
    };
    return boot_info_fill(info, &loader, image);
}
