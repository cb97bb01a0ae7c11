#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/log.h"
#include "lib/page_alloc.h"
#include "lib/page_frag.h"
#include "tests/host/support/net_env.h"

enum { LOG_KEPT = 16384 };

static uint8_t *ram;
static size_t ram_bytes;
static size_t pages_at_start;
static char log_text[LOG_KEPT];
static size_t log_len;
static unsigned errors;

static void keep_log(const char *text, size_t len)
{
    static const char mark[] = "] error ";

    if (memmem(text, len, mark, sizeof(mark) - 1))
        errors++;
    if (len >= LOG_KEPT - log_len)
        log_len = 0;
    memcpy(log_text + log_len, text, len);
    log_len += len;
    log_text[log_len] = '\0';
}

void net_env_init(size_t pages)
{
    if (ram)
        frag_reset();
    if (ram)
        munmap(ram, ram_bytes);
    /* Low, as RAM is on a machine: a legacy device can reach no more than 16 TiB. */
    ram_bytes = pages * PAGE_BYTES;
    ram = mmap(NULL, ram_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1,
               0);
    if (ram == MAP_FAILED)
        abort();
    const struct page_range range = {(uintptr_t)ram, (uintptr_t)ram + pages * PAGE_BYTES};
    if (page_init(&range, 1))
        abort();
    frag_reset();
    pages_at_start = page_free_count();
    log_len = 0;
    log_text[0] = '\0';
    errors = 0;
    log_set_sink(keep_log);
}

bool net_env_clean(void)
{
    struct frag_stats s;

    frag_stats_get(&s);
    if (s.takes != s.gives)
        return false;
    frag_reset(); /* gives back the blocks kept for reuse */
    return page_free_count() == pages_at_start;
}

unsigned net_env_errors(void)
{
    return errors;
}

bool net_env_logged(const char *text)
{
    return strstr(log_text, text) != NULL;
}
