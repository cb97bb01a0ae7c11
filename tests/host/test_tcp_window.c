/* net/tcp_window.c, net/tcp_isn.c, net/net_memory.c: small rules with numbers in them. */
#include "tests/host/support/net_fixture.h"

#include <string.h>

#include "lib/page_frag.h"
#include "lwip/priv/tcp_priv.h"
#include "net/lwip_hooks.h"
#include "net/net_memory.h"
#include "net/tcp_window.h"
#include "port/clock.h"

/* A connection that has announced `seen` bytes of window and holds the rest for its reader. */
static struct tcp_pcb *pcb_with_window(u32_t seen)
{
    struct tcp_pcb *pcb = tcp_new();

    assert_non_null(pcb);
    pcb->state = ESTABLISHED;
    pcb->flags |= TF_WND_SCALE;
    pcb->mss = 1448;
    pcb->rcv_nxt = 1000;
    pcb->rcv_wnd = pcb->rcv_ann_wnd = seen;
    pcb->rcv_ann_right_edge = pcb->rcv_nxt + seen;
    return pcb;
}

static void drop(struct tcp_pcb *pcb)
{
    pcb->state = CLOSED;
    tcp_free(pcb);
}

static bool ack_was_asked_for(struct tcp_pcb *pcb)
{
    return (pcb->flags & TF_ACK_NOW) != 0;
}

static void a_closed_window_is_reopened_as_soon_as_one_segment_fits(void **state)
{
    (void)state;
    struct tcp_pcb *pcb = pcb_with_window(0);

    tcp_window_opened(pcb, 1447);
    assert_false(ack_was_asked_for(pcb));
    tcp_window_opened(pcb, 1);
    assert_true(ack_was_asked_for(pcb));
    drop(pcb);
}

static void a_wide_window_is_not_announced_at_every_read(void **state)
{
    (void)state;
    struct tcp_pcb *pcb = pcb_with_window(TCP_WND * 3 / 4);

    tcp_window_opened(pcb, 3000);
    assert_false(ack_was_asked_for(pcb));
    drop(pcb);
}

static void more_than_16_bits_are_given_back_at_once(void **state)
{
    (void)state;
    struct tcp_pcb *pcb = pcb_with_window(0);

    tcp_window_opened(pcb, 200000);
    assert_int_equal(pcb->rcv_wnd, 200000);
    assert_true(ack_was_asked_for(pcb));
    drop(pcb);
}

static void windows_follow_memory_between_64_kib_and_4_mib(void **state)
{
    (void)state;
    net_memory_size(1024 * 1024);
    assert_int_equal(TCP_WND, 65536);
    net_memory_size(32u * 1024 * 1024);
    assert_int_equal(TCP_WND, 1024 * 1024);
    assert_int_equal(TCP_SND_BUF, 1024 * 1024);
    net_memory_size((size_t)8 << 30);
    assert_int_equal(TCP_WND, 4 * 1024 * 1024);
    assert_true(IP_REASS_MAX_PBUFS >= 45);
    net_memory_size(NET_FIXTURE_BYTES);
}

static void memory_of_impossible_sizes_is_refused(void **state)
{
    (void)state;
    assert_null(net_mem_take(0));
    assert_null(net_mem_take(FRAG_MAX_BYTES + 1));
    assert_null(net_mem_take_zeroed(SIZE_MAX, 2));
    uint8_t *p = net_mem_take_zeroed(10, 30);
    for (size_t i = 0; i < 300; i++)
        assert_int_equal(p[i], 0);
    net_mem_give(p);
}

static void data_leaves_the_last_memory_to_control_blocks(void **state)
{
    (void)state;
    net_fixture_exhaust(FRAG_SMALL);
    assert_null(net_mem_take(1500));
    assert_null(net_mem_take(513));
    void *block = net_mem_take(512);
    assert_non_null(block);
    net_mem_give(block);
}

static void sequence_numbers_differ_by_connection_and_grow_with_time(void **state)
{
    ip_addr_t a, b, c;

    (void)state;
    IP_ADDR4(&a, 10, 0, 0, 1);
    IP_ADDR4(&b, 10, 0, 0, 2);
    IP_ADDR6(&c, 1, 2, 3, 4);
    const u32_t first = net_tcp_isn(&a, 80, &b, 4000);
    const u32_t again = net_tcp_isn(&a, 80, &b, 4000);
    assert_true(again - first < 1000000 / 4); /* the same hash; only the 4 µs clock moved */
    assert_int_not_equal(net_tcp_isn(&a, 80, &b, 4001), first);
    assert_int_not_equal(net_tcp_isn(&a, 81, &b, 4000), first);
    assert_int_not_equal(net_tcp_isn(&b, 80, &a, 4000), first);
    assert_int_not_equal(net_tcp_isn(&c, 80, &c, 4000), first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TEST(a_closed_window_is_reopened_as_soon_as_one_segment_fits),
        NET_TEST(a_wide_window_is_not_announced_at_every_read),
        NET_TEST(more_than_16_bits_are_given_back_at_once),
        NET_TEST(windows_follow_memory_between_64_kib_and_4_mib),
        NET_TEST(memory_of_impossible_sizes_is_refused),
        NET_TEST(data_leaves_the_last_memory_to_control_blocks),
        NET_TEST(sequence_numbers_differ_by_connection_and_grow_with_time),
    };

    return cmocka_run_group_tests(tests, net_fixture_start, NULL);
}
