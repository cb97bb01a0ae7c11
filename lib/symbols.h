/*
 * Names for code addresses: what a crash block's backtrace is written with.
 *
 * The table is made by tools/mksyms.py and linked into the image: a count, that many 32-bit addresses in
 * ascending order, then as many NUL-terminated names in the same order. Names are found by
 * walking over those before them: nobody looks one up until the image crashes.
 */
#ifndef LIB_SYMBOLS_H
#define LIB_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>

struct symbol_table {
    uint32_t count;
    uint32_t addrs[]; /* then the names */
};

/*
 * The function that `addr` lies in: the last one that starts at or before it. *offset is the distance from
 * its start. NULL when the table is empty or starts after addr. Needs no memory, takes no lock.
 */
const char *symbol_find(const struct symbol_table *table, uintptr_t addr, size_t *offset);

#endif
