#include "lib/boot_info.h"

#include <errno.h>
#include <string.h>

#include "lib/multiboot1.h"

enum {
    PAGE = 4096,
    MMAP_BYTES_MAX = 65536,
    MODULES_RESERVED_MAX = 1024, /* entries looked at; beyond, the loader is talking nonsense */
    CONVENTIONAL_KIB_MAX = 640,
};

struct boot_info boot_info;

/* Memory below 4 GiB is mapped one to one while this runs. */
static const void *at(uint32_t phys)
{
    return (const void *)(uintptr_t)phys;
}

static uint64_t page_down(uint64_t addr)
{
    return addr & ~(uint64_t)(PAGE - 1);
}

static uint64_t page_up(uint64_t addr)
{
    return page_down(addr + PAGE - 1);
}

static void reserve(struct boot_info *info, uint64_t start, uint64_t len)
{
    if (len != 0)
        span_remove(&info->free, page_down(start), page_up(start + len));
}

/* ---- Memory --------------------------------------------------------------------------------------- */

/* Call fn for each entry of the memory map that lies wholly inside it. */
static void each_range(const struct multiboot1_info *mb,
                       void (*fn)(struct boot_info *, uint64_t start, uint64_t end, uint32_t type),
                       struct boot_info *info)
{
    const uint32_t length = le32_get(mb->mmap_length);
    const uint32_t base = le32_get(mb->mmap_addr);
    const uint32_t end = length < MMAP_BYTES_MAX ? length : MMAP_BYTES_MAX;
    uint32_t offset = 0;
    while (end - offset >= sizeof(struct multiboot1_mmap)) {
        struct multiboot1_mmap entry;
        memcpy(&entry, at(base + offset), sizeof(entry));
        const uint64_t start = le64_get(entry.start);
        const uint64_t len = le64_get(entry.len);
        const uint64_t stop = len <= UINT64_MAX - start ? start + len : UINT64_MAX;
        fn(info, start, stop, le32_get(entry.type));

        const uint32_t size = le32_get(entry.size);
        if (size < sizeof(entry) - sizeof(entry.size) || size > end - offset - 4)
            return;
        offset += size + 4;
    }
}

static void add_ram(struct boot_info *info, uint64_t start, uint64_t end, uint32_t type)
{
    if (type == MB1_MMAP_RAM)
        span_add(&info->ram, start, end);
}

/* Firmware maps may overlap; what any entry calls taken is taken. */
static void remove_taken(struct boot_info *info, uint64_t start, uint64_t end, uint32_t type)
{
    if (type != MB1_MMAP_RAM)
        span_remove(&info->ram, start, end);
}

static void read_memory(struct boot_info *info, const struct multiboot1_info *mb)
{
    const uint32_t flags = le32_get(mb->flags);
    if (flags & MB1_HAS_MMAP) {
        each_range(mb, add_ram, info);
        each_range(mb, remove_taken, info);
    } else if (flags & MB1_HAS_MEM) {
        const uint64_t lower = le32_get(mb->mem_lower);
        span_add(&info->ram, 0,
                 (lower < CONVENTIONAL_KIB_MAX ? lower : CONVENTIONAL_KIB_MAX) << 10);
        span_add(&info->ram, 1 << 20, (1ull << 20) + ((uint64_t)le32_get(mb->mem_upper) << 10));
    }
    span_align(&info->ram, PAGE);
    info->free = info->ram;
}

/* ---- Text ----------------------------------------------------------------------------------------- */

/* Bytes of the string with its NUL; 0 for none; BOOT_TEXT_MAX + 1 for one that is too long. */
static size_t text_bytes(uint32_t addr)
{
    if (addr == 0)
        return 0;
    const size_t reach = (size_t)(BOOT_INFO_REACH - addr);
    return strnlen(at(addr), size_min(BOOT_TEXT_MAX, reach)) + 1;
}

static uint32_t cmdline_addr(const struct multiboot1_info *mb)
{
    return le32_get(mb->flags) & MB1_HAS_CMDLINE ? le32_get(mb->cmdline) : 0;
}

static char *copy_text(char **to, uint32_t from)
{
    char *copy = *to;
    const size_t bytes = text_bytes(from);
    if (bytes > 0)
        memcpy(copy, at(from), bytes);
    else
        *copy = '\0';
    *to += bytes > 0 ? bytes : 1;
    return copy;
}

/* ---- Modules -------------------------------------------------------------------------------------- */

static uint32_t module_entries(const struct multiboot1_info *mb)
{
    if (!(le32_get(mb->flags) & MB1_HAS_MODULES))
        return 0;
    const uint32_t count = le32_get(mb->mods_count);
    return count < MODULES_RESERVED_MAX ? count : MODULES_RESERVED_MAX;
}

static struct multiboot1_module module_entry(const struct multiboot1_info *mb, uint32_t idx)
{
    struct multiboot1_module m;
    memcpy(&m, at(le32_get(mb->mods_addr) + idx * (uint32_t)sizeof(m)), sizeof(m));
    return m;
}

static bool module_is_sane(const struct multiboot1_module *m)
{
    return le32_get(m->start) != 0 && le32_get(m->start) <= le32_get(m->end);
}

/* QEMU puts a module that doesn't fit behind the end of memory, without a word. */
static bool module_is_there(const struct boot_info *info, const struct multiboot1_module *m)
{
    return span_contains(&info->ram, le32_get(m->start), le32_get(m->end));
}

/* Strike what must survive from `free`, and add up the text to be copied. Returns 0, -E2BIG or -EFBIG. */
static int reserve_all(struct boot_info *info, uint32_t addr, const struct multiboot1_info *mb,
                       size_t *text_total)
{
    size_t bytes = text_bytes(cmdline_addr(mb));
    *text_total = bytes + 1; /* and the NUL of a command line that isn't there */
    reserve(info, addr, sizeof(*mb));
    reserve(info, cmdline_addr(mb), bytes);
    if (bytes > BOOT_TEXT_MAX)
        return -E2BIG;

    const uint32_t count = module_entries(mb);
    reserve(info, le32_get(mb->mods_addr), count * sizeof(struct multiboot1_module));
    for (uint32_t i = 0; i < count; i++) {
        const struct multiboot1_module m = module_entry(mb, i);
        if (!module_is_sane(&m))
            continue;
        if (!module_is_there(info, &m))
            return -EFBIG;
        bytes = text_bytes(le32_get(m.text));
        if (bytes > BOOT_TEXT_MAX)
            return -E2BIG;
        *text_total += bytes + 1;
        reserve(info, le32_get(m.text), bytes);
        reserve(info, le32_get(m.start), le32_get(m.end) - le32_get(m.start));
    }
    return 0;
}

static void copy_modules(struct boot_info *info, const struct multiboot1_info *mb, char **text)
{
    const uint32_t count = module_entries(mb);
    for (uint32_t i = 0; i < count; i++) {
        const struct multiboot1_module m = module_entry(mb, i);
        if (!module_is_sane(&m) || info->module_count == BOOT_MODULES_MAX) {
            info->modules_dropped++;
            continue;
        }
        info->modules[info->module_count++] = (struct boot_module){
            .data = at(le32_get(m.start)),
            .len = le32_get(m.end) - le32_get(m.start),
            .text = copy_text(text, le32_get(m.text)),
        };
    }
}

/* ---- The whole ------------------------------------------------------------------------------------ */

int boot_info_multiboot1(struct boot_info *info, uint32_t addr, struct span image)
{
    memset(info, 0, sizeof(*info));
    info->loader = "multiboot 1";

    struct multiboot1_info mb;
    memcpy(&mb, at(addr), sizeof(mb));
    read_memory(info, &mb);
    if (info->ram.count == 0)
        return -ENODATA;

    size_t text_total;
    span_remove(&info->free, 0, PAGE); /* so that NULL is never a buffer */
    reserve(info, image.start, image.end - image.start);
    const int err = reserve_all(info, addr, &mb, &text_total);
    if (err)
        return err;

    const uint64_t copy = span_take_top(&info->free, page_up(text_total), BOOT_INFO_REACH);
    if (copy == 0)
        return -ENOMEM;
    char *text = (char *)(uintptr_t)copy;
    info->cmdline = copy_text(&text, cmdline_addr(&mb));
    copy_modules(info, &mb, &text);
    return 0;
}
