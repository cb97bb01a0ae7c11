#include "lib/boot_info.h"

#include <errno.h>
#include <string.h>

#include "lib/boot_loader.h"

enum { PAGE = 4096, CONVENTIONAL_END = 0xa0000 };

struct boot_info boot_info;

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

static void add_ram(struct boot_info *info, uint64_t start, uint64_t end, bool ram)
{
    if (ram)
        span_add(&info->ram, start, end);
}

/* Firmware maps may overlap; what any entry calls taken is taken. */
static void remove_taken(struct boot_info *info, uint64_t start, uint64_t end, bool ram)
{
    if (!ram)
        span_remove(&info->ram, start, end);
}

static void read_memory(struct boot_info *info, const struct loader *loader)
{
    loader->each_range(loader, add_ram, info);
    loader->each_range(loader, remove_taken, info);
    span_align(&info->ram, PAGE);
    info->free = info->ram;
}

/* ---- Text ----------------------------------------------------------------------------------------- */

/* Bytes of the string with its NUL; 0 for none, or none that can be read; BOOT_TEXT_MAX + 1 for one that is too long. */
static size_t text_bytes(uint64_t addr)
{
    if (addr == 0 || addr >= BOOT_INFO_REACH)
        return 0;
    const size_t reach = (size_t)(BOOT_INFO_REACH - addr);
    return strnlen(loader_at(addr), size_min(BOOT_TEXT_MAX, reach)) + 1;
}

static char *copy_text(char **to, uint64_t from)
{
    char *copy = *to;
    const size_t bytes = text_bytes(from);
    if (bytes > 0)
        memcpy(copy, loader_at(from), bytes);
    else
        *copy = '\0';
    *to += bytes > 0 ? bytes : 1;
    return copy;
}

/* ---- Modules -------------------------------------------------------------------------------------- */

/* GRUB under UEFI puts small modules there. Page 0 will not be mapped, so they are moved. */
static bool touches_page_0(const struct loader_module *m)
{
    return m->start < PAGE;
}

static bool module_is_sane(const struct loader_module *m)
{
    return touches_page_0(m) ? m->end > m->start && m->end <= CONVENTIONAL_END : m->start <= m->end;
}

/* QEMU puts a module that doesn't fit behind the end of memory, without a word. */
static bool module_is_there(const struct boot_info *info, const struct loader_module *m)
{
    return span_contains(&info->ram, m->start, m->end);
}

/* Strike what must survive from `free`, and add up the text to be copied. Returns 0, -E2BIG or -EFBIG. */
static int reserve_all(struct boot_info *info, const struct loader *loader, size_t *text_total)
{
    size_t bytes = text_bytes(loader->cmdline);
    *text_total = bytes + 1; /* and the NUL of a command line that isn't there */
    for (size_t i = 0; i < LOADER_BLOCKS_MAX; i++)
        reserve(info, loader->block[i].start, loader->block[i].end - loader->block[i].start);
    reserve(info, loader->cmdline, bytes);
    if (bytes > BOOT_TEXT_MAX)
        return -E2BIG;

    for (uint32_t i = 0; i < loader->module_count; i++) {
        const struct loader_module m = loader->module(loader, i);
        if (!module_is_sane(&m))
            continue;
        if (!module_is_there(info, &m))
            return -EFBIG;
        bytes = text_bytes(m.text);
        if (bytes > BOOT_TEXT_MAX)
            return -E2BIG;
        *text_total += bytes + 1;
        reserve(info, m.text, bytes);
        reserve(info, m.start, m.end - m.start);
    }
    return 0;
}

/* A copy in memory taken from `free`, or NULL. */
static const void *move_up(struct boot_info *info, const struct loader_module *m)
{
    const uint64_t len = m->end - m->start;
    const uint64_t to = span_take_top(&info->free, page_up(len), BOOT_INFO_REACH);

    if (to == 0)
        return NULL;
    return memcpy((void *)(uintptr_t)to, loader_at(m->start), len);
}

static void copy_modules(struct boot_info *info, const struct loader *loader, char **text)
{
    for (uint32_t i = 0; i < loader->module_count; i++) {
        const struct loader_module m = loader->module(loader, i);
        if (!module_is_sane(&m) || info->module_count == BOOT_MODULES_MAX) {
            info->modules_dropped++;
            continue;
        }
        const char *words = copy_text(text, m.text);
        const void *data = touches_page_0(&m) ? move_up(info, &m) : loader_at(m.start);
        if (!data) {
            info->modules_dropped++;
            continue;
        }
        info->modules[info->module_count++] =
            (struct boot_module){.data = data, .len = m.end - m.start, .text = words};
    }
}

/* ---- The whole ------------------------------------------------------------------------------------ */

int boot_info_fill(struct boot_info *info, const struct loader *loader, struct span image)
{
    info->loader = loader->name;
    info->rsdp = loader->rsdp;
    read_memory(info, loader);
    if (info->ram.count == 0)
        return -ENODATA;

    size_t text_total;
    span_remove(&info->free, 0, PAGE); /* so that NULL is never a buffer */
    reserve(info, image.start, image.end - image.start);
    const int err = reserve_all(info, loader, &text_total);
    if (err)
        return err;

    const uint64_t copy = span_take_top(&info->free, page_up(text_total), BOOT_INFO_REACH);
    if (copy == 0)
        return -ENOMEM;
    char *text = (char *)(uintptr_t)copy;
    info->cmdline = copy_text(&text, loader->cmdline);
    copy_modules(info, loader, &text);
    return 0;
}

int boot_info_read(struct boot_info *info, uint32_t magic, uint32_t addr, struct span image)
{
    memset(info, 0, sizeof(*info));
    switch (magic) {
    case BOOT_MAGIC_MULTIBOOT1:
        return boot_info_multiboot1(info, addr, image);
    case BOOT_MAGIC_MULTIBOOT2:
        return boot_info_multiboot2(info, addr, image);
    case BOOT_MAGIC_PVH:
        return boot_info_pvh(info, addr, image);
    default:
        return -ENOTSUP;
    }
}
