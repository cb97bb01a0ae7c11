#include "net/net_memory.h"

#include <string.h>

#include "lib/page_frag.h"

enum {
    WND_BASE = 65536,
    WND_MAX = 4 * 1024 * 1024,
    WND_SHARE = 32,          /* of free memory, for one connection and direction */
    REASS_BYTES_EACH = 2048, /* a fragment's buffer */
    REASS_SHARE = 16,        /* of free memory, for all reassemblies */
    REASS_MAX = 4096,
    CONTROL_MAX = 512, /* the largest control block, and DHCP's message; more is a program's data */
};

uint32_t net_tcp_wnd_extra, net_tcp_snd_extra;
uint16_t net_reass_extra;

void net_memory_size(size_t free_bytes)
{
    const size_t window = size_min(free_bytes / WND_SHARE, WND_MAX);
    const size_t fragments = size_min(free_bytes / REASS_SHARE / REASS_BYTES_EACH, REASS_MAX);

    net_tcp_wnd_extra = window > WND_BASE ? (uint32_t)(window - WND_BASE) : 0;
    net_tcp_snd_extra = net_tcp_wnd_extra;
    net_reass_extra = (uint16_t)fragments;
}

void *net_mem_take(size_t bytes)
{
    if (bytes == 0 || bytes > FRAG_MAX_BYTES)
        return NULL;
    struct frag *f = frag_take(bytes, bytes <= CONTROL_MAX ? FRAG_CONTROL : FRAG_SMALL);

    return f ? frag_start(f) : NULL;
}

void *net_mem_take_zeroed(size_t count, size_t bytes)
{
    size_t total;

    if (__builtin_mul_overflow(count, bytes, &total))
        return NULL;
    void *p = net_mem_take(total);

    return p ? memset(p, 0, total) : NULL;
}

void net_mem_give(void *p)
{
    frag_give(frag_of_start(p));
}
