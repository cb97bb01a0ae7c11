/* Receiving: every byte arrives, the ring stays full, exhaustion heals. virtio 1.2 §5.1.6.3, §5.1.6.4. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "tests/host/support/vnet_fixture.h"

static struct vnet_fixture fix;
static uint8_t bytes[FAKE_FRAME_MAX];

static int fresh(void **state)
{
    (void)state;
    memset(&fix, 0, sizeof(fix));
    return 0;
}

/* Deliver a frame and take it; the content must be the same. */
static void roundtrip(size_t len, unsigned seed)
{
    struct frame_in frame;

    fix_fill(bytes, len, seed);
    assert_true(fake_net_receive(&fix.fake, bytes, len, NULL));
    assert_true(fix_poll(&fix, &frame));
    if (!fix_same(&frame, len, seed))
        fail_msg("a frame of %zu bytes came out wrong", len);
    frag_give_list(frame.head);
}

static unsigned posted(void)
{
    return vq_posted_count(&fix.nic.rx.vq);
}

/* ---- bytes ------------------------------------------------------------------------------- */

static void frames_of_every_length_arrive_on_every_kind_of_device(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VNET_FLAVOURS; i++) {
        fix_open(&fix, vnet_flavours[i].offered, vnet_flavours[i].legacy, 64);
        const unsigned full = posted();
        for (size_t len = 14; len <= 1518; len++)
            roundtrip(len, (unsigned)len);
        assert_int_equal(posted(), full);
        assert_int_equal(fix.nic.rx.frames, 1518 - 13);
        fix_close(&fix);
    }
}

static void large_frames_arrive_whole(void **state)
{
    (void)state;
    static const unsigned large[] = {0, 2, 3}; /* flavours with guest TSO */

    for (unsigned i = 0; i < ARRAY_COUNT(large); i++) {
        fix.pages = 16384;
        fix_open(&fix, vnet_flavours[large[i]].offered, vnet_flavours[large[i]].legacy, 128);
        for (size_t len = 14; len < 65550; len += 997)
            roundtrip(len, (unsigned)len);
        roundtrip(65550, 1);
        fix_close(&fix);
    }
}

/* A frame that fills k buffers exactly, and one byte less and more: A8. */
static void frames_at_the_edges_of_the_buffers_arrive_whole(void **state)
{
    (void)state;
    static const uint32_t sizes[] = {64, 100, 1024, 1536, 4096};

    for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++) {
        fix.opt.rxbuf = OPT_RXBUF_BYTES;
        fix.opt.rxbuf_bytes = sizes[i];
        fix_open(&fix, vnet_flavours[0].offered, false, 256);
        for (unsigned k = 1; k <= 12; k++)
            for (int off = -1; off <= 1; off++)
                if (k * sizes[i] - 12 + (unsigned)off >= 14)
                    roundtrip(k * sizes[i] - 12 + (unsigned)off, k);
        assert_true(fix.nic.rx.merged >= 11 * 3);
        fix_close(&fix);
    }
}

static void every_strategy_takes_every_frame(void **state)
{
    (void)state;
    static const enum opt_rxbuf all[] = {OPT_RXBUF_AUTO, OPT_RXBUF_PAGE, OPT_RXBUF_MTU,
                                         OPT_RXBUF_SPLIT};

    for (unsigned i = 0; i < ARRAY_COUNT(all); i++) {
        fix.opt.rxbuf = all[i];
        fix_open(&fix, vnet_flavours[0].offered, false, 256);
        for (size_t len = 14; len < 65000; len += 1 + len / 50)
            roundtrip(len, 5);
        roundtrip(1514, 3);
        const uint64_t merged = fix.nic.rx.merged;
        roundtrip(1514, 3);
        assert_int_equal(fix.nic.rx.merged - merged, all[i] == OPT_RXBUF_SPLIT);
        fix_close(&fix);
    }
}

static void two_hundred_thousand_frames_pass_the_ring(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VNET_FLAVOURS; i += 4) {
        fix_open(&fix, vnet_flavours[i].offered, vnet_flavours[i].legacy, 16);
        for (unsigned n = 0; n < 200000; n++) {
            struct frame_in frame;
            assert_true(fake_net_receive(&fix.fake, bytes, 60, NULL));
            assert_true(fix_poll(&fix, &frame));
            frag_give_list(frame.head);
        }
        fix_close(&fix);
    }
}

static void frames_keep_their_order_whatever_their_size(void **state)
{
    (void)state;
    struct frame_in frames[NETDEV_POLL_MAX];
    unsigned next = 0, seed = 1;

    fix_open(&fix, vnet_flavours[0].offered, false, 256);
    for (unsigned n = 0; n < 2000;) {
        while (n < 2000) {
            seed = seed * 1103515245 + 12345;
            const size_t len = 18 + (seed >> 16) % ((seed & 64) ? 40000 : 400);
            bytes[14] = (uint8_t)n;
            bytes[15] = (uint8_t)(n >> 8);
            if (!fake_net_receive(&fix.fake, bytes, len, NULL))
                break;
            n++;
        }
        size_t got;
        while ((got = fix.nic.net.ops->poll(&fix.nic.net, frames, 7)) > 0)
            for (size_t i = 0; i < got; i++) {
                const uint8_t *d = frames[i].head->data;
                assert_int_equal(d[14] | d[15] << 8, next);
                next++;
                frag_give_list(frames[i].head);
            }
        fix_check(&fix);
    }
    assert_int_equal(next, 2000);
    fix_close(&fix);
}

static void pieces_may_arrive_over_several_polls(void **state)
{
    (void)state;
    struct fake_chain c[3];
    struct frame_in frame;
    const struct virtio_net_hdr hdr = {.num_buffers = {3}};

    fix.opt.rxbuf = OPT_RXBUF_MTU;
    fix_open(&fix, vnet_flavours[0].offered, false, 16);
    fix_fill(bytes, 1500, 9);
    for (unsigned i = 0; i < 3; i++) {
        assert_true(fake_pop(&fix.fake, VNET_RXQ, &c[i]));
        uint8_t *base = c[i].iov[0].base;
        if (i == 0)
            memcpy(base, &hdr, sizeof(hdr));
        memcpy(base + (i ? 0 : 12), bytes + i * 500, 500);
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_false(fix_poll(&fix, &frame));
        fake_push(&fix.fake, VNET_RXQ, c[i].head, i ? 500 : 512);
    }
    assert_true(fix_poll(&fix, &frame));
    assert_true(fix_same(&frame, 1500, 9));
    frag_give_list(frame.head);
    fix_close(&fix);
}

static void pieces_that_never_come_are_given_up_by_the_tick(void **state)
{
    (void)state;
    struct frame_in frame;

    fix_open(&fix, vnet_flavours[0].offered, false, 16);
    fix.fake.fault = FAKE_NUM_BUFFERS_ONE_MORE;
    assert_true(fake_net_receive(&fix.fake, bytes, 1000, NULL));
    for (unsigned i = 0; i < 3; i++) {
        assert_false(fix_poll(&fix, &frame));
        fix.nic.net.ops->tick(&fix.nic.net);
    }
    assert_int_equal(fix.nic.rx.drops[RX_DROP_PIECE], 1);
    roundtrip(1000, 4);
    fix_close(&fix);
}

/* ---- memory ------------------------------------------------------------------------------ */

static void a_small_frame_holds_no_full_size_buffer(void **state)
{
    (void)state;
    struct frame_in frame;

    fix_open(&fix, vnet_flavours[0].offered, false, 16);
    assert_true(fake_net_receive(&fix.fake, bytes, 60, NULL));
    assert_true(fix_poll(&fix, &frame));
    assert_true(frag_capacity(frame.head) <= 128);
    assert_int_equal(fix.nic.rx.copied, 1);
    frag_give_list(frame.head);
    assert_true(fake_net_receive(&fix.fake, bytes, 1400, NULL));
    assert_true(fix_poll(&fix, &frame));
    assert_true(frag_capacity(frame.head) >= 1426);
    assert_int_equal(fix.nic.rx.copied, 1);
    frag_give_list(frame.head);
    fix_close(&fix);
}

/* A reader that never reads: frames are kept until nothing is left. A7. */
static void the_ring_stays_full_while_somebody_holds_all_memory(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VNET_FLAVOURS; i++) {
        struct frag *held = NULL;
        struct frame_in frame;
        unsigned kept = 0;

        fix.pages = 1024;
        fix_open(&fix, vnet_flavours[i].offered, vnet_flavours[i].legacy, 64);
        const unsigned full = posted();
        for (unsigned round = 0; round < 3; round++) {
            const uint64_t drops = fix.nic.rx.drops[RX_DROP_NO_MEMORY];
            for (unsigned n = 0; n < 10000; n++) {
                assert_true(fake_net_receive(&fix.fake, bytes, 1514, NULL));
                if (!fix_poll(&fix, &frame))
                    continue;
                frame.head->next = held;
                held = frame.head;
                kept++;
            }
            assert_true(fix.nic.rx.drops[RX_DROP_NO_MEMORY] > drops + 100);
            assert_int_equal(posted(), full);
            fix_check(&fix);

            /* Small frames still get through: an ACK, an ARP request. */
            roundtrip(60, 3);
            frag_give_list(held);
            held = NULL;
            roundtrip(1514, 4); /* healed, by itself */
        }
        assert_true(kept > 100);
        fix_close(&fix);
    }
}

static void large_frames_are_dropped_whole_when_memory_ends_between_their_pieces(void **state)
{
    (void)state;
    struct frag *held[4096];
    struct frame_in frame;
    unsigned count = 0;

    fix.pages = 1024;
    fix.opt.rxbuf = OPT_RXBUF_MTU;
    fix_open(&fix, vnet_flavours[0].offered, false, 64);
    const unsigned full = posted();
    for (unsigned n = 0; n < 400; n++) {
        assert_true(fake_net_receive(&fix.fake, bytes, 20000 + n, NULL));
        if (fix_poll(&fix, &frame))
            held[count++] = frame.head;
        assert_int_equal(posted(), full);
    }
    assert_true(fix.nic.rx.drops[RX_DROP_NO_MEMORY] > 10);
    assert_int_equal(fix.nic.rx.drops[RX_DROP_NO_MEMORY] + count, 400);
    while (count)
        frag_give_list(held[--count]);
    roundtrip(20000, 7);
    fix_close(&fix);
}

static void little_memory_starts_with_fewer_buffers_and_says_so(void **state)
{
    (void)state;
    fix.pages = 160;
    fix_open(&fix, vnet_flavours[1].offered, false, 1024);
    assert_true(posted() > 0 && posted() < 200);
    assert_true(net_env_logged("little memory"));
    roundtrip(1514, 1);
    fix_close(&fix);
}

static void a_ring_short_of_buffers_is_topped_up_by_the_tick(void **state)
{
    (void)state;
    struct frag *held = NULL, *f;

    fix_prepare(&fix, vnet_flavours[1].offered, false, 64);
    while ((f = frag_take(1536, FRAG_BULK))) {
        f->next = held;
        held = f;
    }
    for (unsigned i = 0; i < 40; i++) { /* room for some */
        f = held->next;
        frag_give(held);
        held = f;
    }
    assert_int_equal(fix_start(&fix), 0);
    const unsigned few = posted();
    assert_true(few > 0 && few < 64);
    roundtrip(60, 1);
    frag_give_list(held);
    assert_int_equal(posted(), few);
    fix.nic.net.ops->tick(&fix.nic.net);
    assert_int_equal(posted(), 64);
    fix_close(&fix);
}

static void steady_traffic_takes_no_new_pages(void **state)
{
    (void)state;
    struct frag_stats before, after;

    fix_open(&fix, vnet_flavours[0].offered, false, 256);
    for (unsigned n = 0; n < 2000; n++)
        roundtrip(n % 3 ? 1514 : 60, n);
    frag_stats_get(&before);
    for (unsigned n = 0; n < 5000; n++)
        roundtrip(n % 3 ? 1514 : 60, n);
    frag_stats_get(&after);
    assert_int_equal(after.blocks_new, before.blocks_new);
    fix_close(&fix);
}

/* ---- size of buffers --------------------------------------------------------------------- */

static void buffers_grow_with_large_frames_and_shrink_again(void **state)
{
    (void)state;
    fix.pages = 65536;
    fix_open(&fix, vnet_flavours[0].offered, false, 256);
    const uint32_t small = fix.nic.rx.buf_bytes;

    assert_int_equal(small, 12 + 14 + 4 + 1500);
    for (unsigned n = 0; n < 1000; n++)
        roundtrip(65000, n);
    assert_true(fix.nic.rx.buf_bytes > 60000);
    const uint64_t merged = fix.nic.rx.merged;
    for (unsigned n = 0; n < 100; n++)
        roundtrip(65000, n);
    assert_int_equal(fix.nic.rx.merged, merged);
    for (unsigned n = 0; n < 1000; n++)
        roundtrip(1000, n);
    assert_int_equal(fix.nic.rx.buf_bytes, small);
    fix_close(&fix);
}

static void a_medium_frame_does_not_hold_a_giant_buffer(void **state)
{
    (void)state;
    struct frame_in frame;

    fix.pages = 65536;
    fix_open(&fix, vnet_flavours[0].offered, false, 256);
    for (unsigned n = 0; n < 1500; n++)
        roundtrip(65000, n);
    assert_true(fake_net_receive(&fix.fake, bytes, 1514, NULL));
    assert_true(fix_poll(&fix, &frame));
    assert_true(frag_capacity(frame.head) < 3000);
    frag_give_list(frame.head);
    fix_close(&fix);
}

static void without_merging_every_buffer_holds_the_largest_frame(void **state)
{
    (void)state;
    fix.pages = 65536;
    fix.opt.rxbuf = OPT_RXBUF_BYTES;
    fix.opt.rxbuf_bytes = 64; /* can't be had here */
    fix_open(&fix, vnet_flavours[2].offered, false, 64);
    roundtrip(65550, 1);
    fix_close(&fix); /* checks the buffers' sizes as well */
}

static void without_merging_and_memory_large_frames_are_declined(void **state)
{
    (void)state;
    fix.pages = 2048;
    fix_open(&fix, vnet_flavours[2].offered, false, 256);
    assert_false(virtio_has(&fix.fake.dev, VNET_F_GUEST_TSO4));
    assert_true(virtio_has(&fix.fake.dev, VNET_F_GUEST_CSUM));
    assert_true(virtio_has(&fix.fake.dev, VNET_F_HOST_TSO4));
    assert_true(net_env_logged("declined"));
    assert_int_equal(posted(), 256);
    roundtrip(1514, 1);
    fix_close(&fix);
}

static void a_flood_of_bad_frames_ends_a_poll(void **state)
{
    (void)state;
    struct frame_in frame;

    fix_open(&fix, vnet_flavours[0].offered, false, 64);
    for (unsigned n = 0; n < 64; n++)
        assert_true(fake_net_receive(&fix.fake, bytes, 5, NULL));
    assert_false(fix_poll(&fix, &frame));
    assert_int_equal(fix.nic.rx.drops[RX_DROP_RUNT], 64);
    assert_false(fix.nic.net.broken);
    roundtrip(100, 1);
    fix_close(&fix);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, fresh)
        T(frames_of_every_length_arrive_on_every_kind_of_device),
        T(large_frames_arrive_whole),
        T(frames_at_the_edges_of_the_buffers_arrive_whole),
        T(every_strategy_takes_every_frame),
        T(two_hundred_thousand_frames_pass_the_ring),
        T(frames_keep_their_order_whatever_their_size),
        T(pieces_may_arrive_over_several_polls),
        T(pieces_that_never_come_are_given_up_by_the_tick),
        T(a_small_frame_holds_no_full_size_buffer),
        T(the_ring_stays_full_while_somebody_holds_all_memory),
        T(large_frames_are_dropped_whole_when_memory_ends_between_their_pieces),
        T(little_memory_starts_with_fewer_buffers_and_says_so),
        T(a_ring_short_of_buffers_is_topped_up_by_the_tick),
        T(steady_traffic_takes_no_new_pages),
        T(buffers_grow_with_large_frames_and_shrink_again),
        T(a_medium_frame_does_not_hold_a_giant_buffer),
        T(without_merging_every_buffer_holds_the_largest_frame),
        T(without_merging_and_memory_large_frames_are_declined),
        T(a_flood_of_bad_frames_ends_a_poll),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
