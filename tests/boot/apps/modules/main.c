/*
 * Uses every byte of memory that it can get, then shows that the loader's words and modules are what they were:
 * `module N LENGTH HASH WORDS` for each, with FNV-1a over its bytes, then `memory N KiB used`.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/boot_info.h"
#include "lib/page_alloc.h"

static uint64_t fnv1a(const uint8_t *p, size_t len)
{
    uint64_t hash = 0xcbf29ce484222325;
    for (size_t i = 0; i < len; i++)
        hash = (hash ^ p[i]) * 0x100000001b3;
    return hash;
}

/* Fill all of the heap's memory, then what is left of the page allocator's. Returns bytes. */
static size_t use_all_memory(void)
{
    size_t used = 0;
    for (size_t step = 1 << 20; step >= 4096; step /= 2) {
        void *p;
        while ((p = malloc(step)) != NULL) {
            memset(p, 0xdb, step);
            used += step;
        }
    }
    void *page;
    while ((page = page_take(1)) != NULL) {
        memset(page, 0xdb, PAGE_BYTES);
        used += PAGE_BYTES;
    }
    return used;
}

int main(int argc, char **argv)
{
    const size_t used = use_all_memory();
    for (size_t i = 0; i < boot_info.module_count; i++) {
        const struct boot_module *m = &boot_info.modules[i];
        printf("module %zu %zu %016llx %s\n", i, m->len, (unsigned long long)fnv1a(m->data, m->len),
               m->text);
    }
    for (int i = 1; i < argc; i++)
        printf("argument %d: %s\n", i, argv[i]);
    printf("memory %zu KiB used\n", used / 1024);
    return 0;
}
