#include "arch/x86_64/paging.h"

#include <errno.h>
#include <string.h>

#include "arch/x86_64/cpu.h"
#include "arch/x86_64/cpu_regs.h"
#include "lib/page_alloc.h"
#include "port/guard.h"
#include "port/mmio.h"

/* SDM vol. 3A §4.5, tables 4-14 to 4-20. */
#define PTE_PRESENT 0x001ull
#define PTE_WRITE 0x002ull
#define PTE_UNCACHED 0x018ull /* PWT and PCD: entry 3 of the PAT */
#define PTE_ACCESSED 0x020ull
#define PTE_DIRTY 0x040ull
#define PTE_LARGE 0x080ull /* in levels 1 and 2: this entry maps memory */
#define PTE_NX (1ull << 63)
#define PTE_ADDR 0x000ffffffffff000ull

/* What PWT and PCD select, SDM vol. 3A §11.12; the reset value, which firmware may have changed. */
enum { MSR_PAT = 0x277 };
#define PAT_RESET 0x0007040600070406ull

enum { LEVEL_SMALL = 0, LEVEL_2M = 1, LEVEL_1G = 2, LEVEL_ROOT = 3 };
enum { ENTRIES = 512 };

/* linker.ld */
extern uint8_t text_end[], rodata_start[], rodata_end[], data_start[];
extern uint8_t main_guard[], irq_guard[], crash_guard[], double_fault_guard[], nmi_guard[];

static uint64_t *root;
static struct span_list *early_free; /* where table pages come from until page_alloc runs */
static uint64_t ram_ignored;

static const struct paging_guard guards[] = {
    {(uintptr_t)main_guard, "main"},   {(uintptr_t)irq_guard, "interrupt"},
    {(uintptr_t)crash_guard, "crash"}, {(uintptr_t)double_fault_guard, "double fault"},
    {(uintptr_t)nmi_guard, "NMI"},
};

size_t paging_guards(const struct paging_guard **out)
{
    *out = guards;
    return ARRAY_COUNT(guards);
}

uint64_t paging_ram_ignored(void)
{
    return ram_ignored;
}

void paging_use_page_alloc(void)
{
    early_free = NULL;
}

static uint64_t level_bytes(unsigned level)
{
    return 1ull << (12 + 9 * level);
}

static unsigned level_index(uint64_t addr, unsigned level)
{
    return (unsigned)(addr >> (12 + 9 * level)) & (ENTRIES - 1);
}

static uint64_t *table_of(uint64_t entry)
{
    return (uint64_t *)(uintptr_t)(entry & PTE_ADDR);
}

static bool is_leaf(uint64_t entry, unsigned level)
{
    return level == LEVEL_SMALL || (entry & PTE_LARGE);
}

static uint64_t *take_table(void)
{
    uint64_t *table;
    if (early_free)
        table = (uint64_t *)(uintptr_t)span_take_top(early_free, PAGE_BYTES, 1ull << 32);
    else
        table = page_take(1);
    if (table)
        memset(table, 0, PAGE_BYTES);
    return table;
}

/* The entry that maps addr, at whatever level it stands; *level tells. Its value may be 0. */
static uint64_t *find_entry(uint64_t addr, unsigned *level)
{
    uint64_t *table = root;
    for (*level = LEVEL_ROOT;; (*level)--) {
        uint64_t *entry = &table[level_index(addr, *level)];
        if (!(*entry & PTE_PRESENT) || is_leaf(*entry, *level))
            return entry;
        table = table_of(*entry);
    }
}

/* The entry for addr at exactly `want`, with tables made on the way down. NULL: no memory for them. */
static uint64_t *make_entry(uint64_t addr, unsigned want)
{
    uint64_t *table = root;
    for (unsigned level = LEVEL_ROOT; level > want; level--) {
        uint64_t *entry = &table[level_index(addr, level)];
        if (!(*entry & PTE_PRESENT)) {
            uint64_t *below = take_table();
            if (!below)
                return NULL;
            *entry = (uintptr_t)below | PTE_PRESENT | PTE_WRITE;
        }
        table = table_of(*entry);
    }
    return &table[level_index(addr, want)];
}

/* The largest page that starts at addr, ends by `end`, and fits the hole whose entry stands at hole_level. */
static unsigned best_level(uint64_t addr, uint64_t end, unsigned hole_level)
{
    unsigned level = cpu_facts.page_1g ? LEVEL_1G : LEVEL_2M;
    if (level > hole_level)
        level = hole_level;
    while (level > LEVEL_SMALL &&
           (addr % level_bytes(level) != 0 || end - addr < level_bytes(level)))
        level--;
    return level;
}

/*
 * Fill the hole at addr with pages of one size, as far as they fit, the hole goes on, and the table does.
 * Returns where it stopped, or 0 without memory for a table.
 */
static uint64_t fill_hole(uint64_t addr, uint64_t end, uint64_t flags, unsigned hole_level)
{
    const unsigned level = best_level(addr, end, hole_level);
    const uint64_t bytes = level_bytes(level);
    uint64_t *entry = make_entry(addr, level);
    if (!entry)
        return 0;
    /* Accessed and dirty in advance: the processor need not write to our tables. */
    flags |= PTE_PRESENT | PTE_ACCESSED | PTE_DIRTY | (level > LEVEL_SMALL ? PTE_LARGE : 0);
    do {
        *entry++ = addr | flags;
        addr += bytes;
    } while (end - addr >= bytes && level_index(addr, level) != 0 && !(*entry & PTE_PRESENT));
    return addr;
}

/*
 * Map [addr, end), page aligned. Parts that are mapped already must be so with the same flags, unless
 * any_flags. Returns 0, -EEXIST, -ENOMEM.
 */
static int map(uint64_t addr, uint64_t end, uint64_t flags, bool any_flags)
{
    const uint64_t compared = PTE_WRITE | PTE_UNCACHED;
    while (addr < end) {
        unsigned level;
        const uint64_t entry = *find_entry(addr, &level);
        if (entry & PTE_PRESENT) {
            if (!any_flags && ((entry ^ flags) & compared))
                return -EEXIST;
            addr = (addr & ~(level_bytes(level) - 1)) + level_bytes(level);
            continue;
        }
        addr = fill_hole(addr, end, flags, level);
        if (addr == 0)
            return -ENOMEM;
    }
    return 0;
}

static uint64_t no_execute(void)
{
    return cpu_facts.nx ? PTE_NX : 0;
}

static int map_image(struct span image)
{
    const uint64_t rodata = (uintptr_t)rodata_start, data = (uintptr_t)data_start;
    const uint64_t end = size_round_up(image.end, PAGE_BYTES);
    int err = map(image.start, rodata, 0, false);
    if (!err)
        err = map(rodata, data, no_execute(), false);
    if (!err)
        err = map(data, end, PTE_WRITE | no_execute(), false);
    if (err)
        return err;
    for (size_t i = 0; i < ARRAY_COUNT(guards); i++) {
        unsigned level;
        *find_entry(guards[i].addr, &level) = 0;
    }
    return 0;
}

static uint64_t reach(void)
{
    const uint64_t physical = 1ull << cpu_facts.phys_bits;
    return physical < PAGING_TOP ? physical : PAGING_TOP;
}

/* All RAM but page 0 and the image, which has finer rights. */
static int map_ram(const struct span_list *ram, struct span image)
{
    static struct span_list rest; /* too large for comfort on a stack */
    rest = *ram;
    span_remove(&rest, 0, PAGE_BYTES);
    span_remove(&rest, image.start, size_round_up(image.end, PAGE_BYTES));
    const uint64_t known = span_total(&rest);
    span_remove(&rest, reach(), UINT64_MAX);
    ram_ignored = known - span_total(&rest);

    for (size_t i = 0; i < rest.count; i++) {
        const int err = map(rest.v[i].start, rest.v[i].end, PTE_WRITE | no_execute(), false);
        if (err)
            return err;
    }
    return 0;
}

int paging_init(const struct span_list *ram, struct span_list *free, struct span image)
{
    span_remove(free, reach(), UINT64_MAX);
    early_free = free;
    root = take_table();
    if (!root)
        return -ENOMEM;
    int err = map_image(image);
    if (!err)
        err = map_ram(ram, image);
    if (err)
        return err;
    msr_write(MSR_PAT, PAT_RESET); /* every 64-bit processor has it */
    cr3_write((uintptr_t)root);
    return 0;
}

bool paging_is_mapped(uint64_t addr, uint64_t len)
{
    if (!root || len == 0 || addr >= PAGING_TOP || len > PAGING_TOP - addr)
        return false;
    const uint64_t end = addr + len;
    while (addr < end) {
        unsigned level;
        if (!(*find_entry(addr, &level) & PTE_PRESENT))
            return false;
        addr = (addr & ~(level_bytes(level) - 1)) + level_bytes(level);
    }
    return true;
}

/* ---- guard pages: lib/thread.c unmaps a page below each stack ---- */

/* The page that `entry` maps at `level` becomes a table of the next smaller ones, with the same rights. */
static bool split(uint64_t *entry, unsigned level)
{
    uint64_t *below = take_table();
    if (!below)
        return false;
    const uint64_t flags = *entry & ~PTE_ADDR & (level - 1 == LEVEL_SMALL ? ~PTE_LARGE : ~0ull);
    uint64_t addr = *entry & PTE_ADDR;
    for (unsigned i = 0; i < ENTRIES; i++, addr += level_bytes(level - 1))
        below[i] = addr | flags;
    __atomic_store_n(entry, (uintptr_t)below | PTE_PRESENT | PTE_WRITE, __ATOMIC_RELEASE);
    return true;
}

bool guard_page_set(void *page)
{
    const uint64_t addr = (uintptr_t)page;
    unsigned level;
    uint64_t *entry = find_entry(addr, &level);
    while (level > LEVEL_SMALL) {
        if (!split(entry, level))
            return false;
        entry = find_entry(addr, &level);
    }
    *entry &= ~PTE_PRESENT;
    tlb_forget(addr);
    return true;
}

void guard_page_clear(void *page)
{
    unsigned level;
    *find_entry((uintptr_t)page, &level) |= PTE_PRESENT;
    tlb_forget((uintptr_t)page);
}

static bool in_reach(uint64_t phys, uint64_t len)
{
    return phys >= PAGE_BYTES && len != 0 && phys < reach() && len <= reach() - phys;
}

static int map_bytes(uint64_t phys, uint64_t len, uint64_t flags, bool any_flags)
{
    const uint64_t start = phys & ~(uint64_t)(PAGE_BYTES - 1);
    const uint64_t end = size_round_up(phys + len, PAGE_BYTES);
    return map(start, end, flags | no_execute(), any_flags);
}

volatile void *mmio_map(uint64_t phys, uint64_t len)
{
    if (!in_reach(phys, len) || map_bytes(phys, len, PTE_WRITE | PTE_UNCACHED, false))
        return NULL;
    return (volatile void *)(uintptr_t)phys;
}

const void *paging_view(uint64_t phys, uint64_t len)
{
    if (!in_reach(phys, len) || map_bytes(phys, len, 0, true))
        return NULL;
    return (const void *)(uintptr_t)phys;
}
