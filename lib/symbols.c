#include "lib/symbols.h"

#include <string.h>

/* How many symbols start at or before addr. */
static uint32_t count_up_to(const struct symbol_table *table, uintptr_t addr)
{
    uint32_t low = 0, high = table->count;
    while (low < high) {
        const uint32_t mid = low + (high - low) / 2;
        if (table->addrs[mid] <= addr)
            low = mid + 1;
        else
            high = mid;
    }
    return low;
}

const char *symbol_find(const struct symbol_table *table, uintptr_t addr, size_t *offset)
{
    const uint32_t found = count_up_to(table, addr);
    if (found == 0)
        return NULL;

    const char *name = (const char *)&table->addrs[table->count];
    for (uint32_t i = 1; i < found; i++)
        name += strlen(name) + 1;
    *offset = addr - table->addrs[found - 1];
    return name;
}
