/*
 * Our page tables: memory one to one, with what each part may be used for.
 *
 * All RAM is mapped cached, writable, not executable; the image's text read-only and executable, its
 * constants read-only; page 0 and a page below each stack not at all. Device registers are mapped
 * when asked for, by mmio_map() (port/mmio.h). Largest pages that fit are used.
 *
 * 4-level paging, Intel SDM vol. 3A §4.5. Not for interrupt handlers, paging_is_mapped() excepted.
 */
#ifndef ARCH_X86_64_PAGING_H
#define ARCH_X86_64_PAGING_H

#include "lib/span_list.h"
#include "lib/types.h"

enum { PAGING_SMALL = 4096 };
#define PAGING_TOP (1ull << 47) /* one to one needs the lower canonical half */

/*
 * Build the tables and switch to them.
 *
 *   ram       all usable memory, page aligned. What lies above PAGING_TOP or the processor's physical width is ignored.
 *   free      RAM that may be given out; pages for tables are cut off it
 *   image     our image; mapped by its sections
 *
 * Returns 0 or -ENOMEM. Once, on the tables of entry.S.
 */
int paging_init(const struct span_list *ram, struct span_list *free, struct span image);

/* From now on pages for tables come from lib/page_alloc.h. Call once page_init() has run. */
void paging_use_page_alloc(void);

/* Bytes of RAM that paging_init() left out because they can't be addressed. */
uint64_t paging_ram_ignored(void);

/* True when every byte of [addr, addr + len) can be read. Safe from the crash path. */
bool paging_is_mapped(uint64_t addr, uint64_t len);

/* Make firmware tables readable (cached, read-only) where they aren't yet. NULL when they can't be. */
const void *paging_view(uint64_t phys, uint64_t len);

/* The unmapped pages below the stacks. */
struct paging_guard {
    uint64_t addr;
    const char *stack; /* whose: "main" */
};
size_t paging_guards(const struct paging_guard **out);

#endif
