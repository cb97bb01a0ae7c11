#include "tests/host/support/net_fixture.h"

#include <stdlib.h>

#include "lib/page_alloc.h"
#include "lib/page_frag.h"
#include "lib/random.h"
#include "lwip/init.h"
#include "lwip/priv/tcp_priv.h"
#include "net/net_memory.h"
#include "net/tcp_isn.h"

static uint64_t before;
static struct frag *held;

int net_fixture_start(void **state)
{
    void *memory = aligned_alloc(PAGE_BYTES, NET_FIXTURE_BYTES);

    (void)state;
    assert_non_null(memory);
    const struct page_range range = {(uintptr_t)memory, (uintptr_t)memory + NET_FIXTURE_BYTES};
    assert_int_equal(page_init(&range, 1), 0);
    random_init();
    net_memory_size(page_free_count() * PAGE_BYTES);
    tcp_isn_init();
    lwip_init();
    return 0;
}

/* lwIP takes a timer with its first connection and keeps it: not a leak of the test that comes first. */
static void start_tcp_timer(void)
{
    struct tcp_pcb *pcb = tcp_new();

    assert_non_null(pcb);
    pcb->state = ESTABLISHED;
    TCP_REG(&tcp_active_pcbs, pcb);
    tcp_abandon(pcb, 0);
}

int net_fixture_start_tcp(void **state)
{
    net_fixture_start(state);
    start_tcp_timer();
    return 0;
}

uint64_t net_fixture_outstanding(void)
{
    struct frag_stats stats;

    frag_stats_get(&stats);
    return stats.takes - stats.gives;
}

int net_fixture_before(void **state)
{
    (void)state;
    before = net_fixture_outstanding();
    return 0;
}

int net_fixture_after(void **state)
{
    (void)state;
    net_fixture_release();
    assert_int_equal(net_fixture_outstanding(), before);
    return 0;
}

void net_fixture_exhaust(int urgency)
{
    /* Large ones first, then what is left in small pieces. */
    static const size_t sizes[] = {FRAG_MAX_BYTES, 4000, 1500, 500, 128, 1};

    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        struct frag *f;

        while ((f = frag_take(sizes[i], (enum frag_urgency)urgency))) {
            f->next = held;
            held = f;
        }
    }
}

void net_fixture_release(void)
{
    frag_give_list(held);
    held = NULL;
}
