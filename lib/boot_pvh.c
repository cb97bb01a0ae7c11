/* PVH: from QEMU's -kernel where a loader goes by the ELF note, and from small hypervisors. See boot_loader.h, pvh.h. */
#include <string.h>

#include "lib/boot_loader.h"
#include "lib/pvh.h"

enum { MEMMAP_ENTRIES_MAX = LOADER_MMAP_BYTES_MAX / sizeof(struct pvh_memmap) };

/* How many entries of an array can be read: none when it lies out of reach. */
static uint32_t readable(uint64_t addr, uint32_t count, size_t entry_bytes, uint32_t max)
{
    if (addr == 0 || addr >= BOOT_INFO_REACH)
        return 0;
    return (uint32_t)size_min(size_min(count, max), (BOOT_INFO_REACH - addr) / entry_bytes);
}

static void each_range(const struct loader *loader, loader_range *fn, struct boot_info *info)
{
    const struct pvh_start_info *start = loader->info;
    const uint64_t map = le64_get(start->memmap);
    const uint32_t count =
        readable(map, le32_get(start->memmap_count), sizeof(struct pvh_memmap), MEMMAP_ENTRIES_MAX);
    for (uint32_t i = 0; i < count; i++) {
        struct pvh_memmap entry;
        memcpy(&entry, loader_at(map + i * sizeof(entry)), sizeof(entry));
        const uint64_t at = le64_get(entry.start);
        fn(info, at, loader_range_end(at, le64_get(entry.len)),
           le32_get(entry.type) == PVH_MEMMAP_RAM);
    }
}

static struct loader_module module(const struct loader *loader, uint32_t idx)
{
    const struct pvh_start_info *start = loader->info;
    struct pvh_module m;
    memcpy(&m, loader_at(le64_get(start->modules) + idx * sizeof(m)), sizeof(m));
    const uint64_t at = le64_get(m.start);
    return (struct loader_module){at, loader_range_end(at, le64_get(m.len)), le64_get(m.cmdline)};
}

static struct span array(uint64_t addr, uint64_t bytes)
{
    return (struct span){addr, loader_range_end(addr, bytes)};
}

int boot_info_pvh(struct boot_info *info, uint32_t addr, struct span image)
{
    struct pvh_start_info start;
    memcpy(&start, loader_at(addr), sizeof(start));
    if (le32_get(start.version) == 0) /* has no memory map */
        memset((uint8_t *)&start + PVH_V0_BYTES, 0, sizeof(start) - PVH_V0_BYTES);
    const uint32_t modules = readable(le64_get(start.modules), le32_get(start.module_count),
                                      sizeof(struct pvh_module), LOADER_MODULES_MAX);
    const struct loader loader = {
        .name = "PVH",
        .info = &start,
        .cmdline = le64_get(start.cmdline),
        .block = {array(addr, sizeof(start)),
                  array(le64_get(start.memmap),
                        le32_get(start.memmap_count) * sizeof(struct pvh_memmap)),
                  array(le64_get(start.modules), modules * sizeof(struct pvh_module))},
        .rsdp = le64_get(start.rsdp),
        .each_range = each_range,
        .module_count = modules,
        .module = module,
    };
    return boot_info_fill(info, &loader, image);
}
