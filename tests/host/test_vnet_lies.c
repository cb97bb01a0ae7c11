/*
 * A device that lies to a running NIC. Each lie has a name; each ends with no memory error, no hang, and either
 * one dropped frame or a reset, after which the NIC runs as before. The list is in tests/fake/README.md.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "port/shared.h"
#include "tests/host/support/vnet_fixture.h"

static struct vnet_fixture fix;
static uint8_t bytes[FAKE_FRAME_MAX];

static int fresh(void **state)
{
    (void)state;
    memset(&fix, 0, sizeof(fix));
    return 0;
}

/* A few frames each way, with whatever the device makes of them. */
static void traffic(unsigned rounds)
{
    struct frame_in frames[NETDEV_POLL_MAX];

    for (unsigned n = 0; n < rounds; n++) {
        const bool alive = !fix.nic.net.broken;
        if (alive) {
            fix_send(&fix, bytes, 60, &bytes[n]);
            fake_net_receive(&fix.fake, bytes, n % 3 ? 1514 : 60, NULL);
            fake_net_transmit(&fix.fake, 2, NULL, NULL);
        }
        const size_t got = fix.nic.net.ops->poll(&fix.nic.net, frames, NETDEV_POLL_MAX);
        for (size_t i = 0; i < got; i++)
            frag_give_list(frames[i].head);
        if (alive && !fix.nic.net.broken && n % 4 == 0) {
            fix.nic.net.ops->arm(&fix.nic.net);
            fix.nic.net.ops->disarm(&fix.nic.net);
        }
        if (n % 8 == 0)
            fix.nic.net.ops->tick(&fix.nic.net);
    }
}

/* One lie, one reset, and it runs. */
static void check_recovered(void)
{
    assert_int_equal(fix.nic.recover.faults[VNET_FAULT_LIE], 1);
    assert_int_equal(fix.nic.recover.failures, 0);
    assert_int_equal(net_env_errors(), 1);
    assert_true(net_env_logged("the device lied"));
    assert_true(net_env_logged("it runs again"));
    fix_check_runs(&fix);
}

static void lies_about_the_used_ring_end_in_a_reset(void **state)
{
    (void)state;
    static const enum fake_fault lies[] = {
        FAKE_USED_ID_OUT_OF_RANGE,
        FAKE_USED_IDX_JUMPS,
        FAKE_USED_IDX_JUMPS_BY_1,
        FAKE_USED_IDX_BACKWARDS,
    };

    for (size_t i = 0; i < ARRAY_COUNT(lies); i++)
        for (unsigned f = 0; f < VNET_FLAVOURS; f++)
            for (unsigned after = 0; after < 8; after++) { /* on either queue */
                fix_open(&fix, vnet_flavours[f].offered, vnet_flavours[f].legacy, 16);
                fix.fake.fault = lies[i];
                fix.fake.fault_after = after;
                traffic(40);
                assert_true(fix.fake.fault_told);
                if (!fix.nic.recover.faults[VNET_FAULT_LIE])
                    fail_msg("lie %zu told after %u on %s was believed", i, after,
                             vnet_flavours[f].name);
                check_recovered();
                fix_close(&fix);
            }
}

/* Frames of several pieces, so that a chain has descriptors that are no heads. */
static int send_pieces(void)
{
    const struct frame_piece pieces[3] = {{bytes, 40}, {bytes, 50}, {bytes, 60}};
    const struct frame_out frame = {.pieces = pieces, .piece_count = 3, .cookie = bytes};

    return fix.nic.net.ops->send(&fix.nic.net, &frame);
}

static void a_used_id_that_is_not_posted_or_no_head_ends_in_a_reset(void **state)
{
    (void)state;
    static const enum fake_fault lies[] = {FAKE_USED_ID_NOT_POSTED, FAKE_USED_ID_NOT_A_HEAD};

    for (size_t i = 0; i < ARRAY_COUNT(lies); i++)
        for (unsigned f = 0; f < VNET_FLAVOURS; f++) {
            fix_open(&fix, vnet_flavours[f].offered, vnet_flavours[f].legacy, 16);
            assert_int_equal(send_pieces(), 0);
            fix.fake.fault = lies[i];
            fake_net_transmit(&fix.fake, 1, NULL, NULL);
            traffic(1);
            check_recovered();
            fix_close(&fix);
        }
}

static void a_sent_frame_completed_twice_ends_in_a_reset(void **state)
{
    (void)state;
    for (unsigned f = 0; f < VNET_FLAVOURS; f++) {
        fix_open(&fix, vnet_flavours[f].offered, vnet_flavours[f].legacy, 16);
        for (unsigned i = 0; i < 4; i++)
            assert_int_equal(fix_send(&fix, bytes, 60, &bytes[i]), 0);
        fix.fake.fault = FAKE_COMPLETED_TWICE;
        fake_net_transmit(&fix.fake, 1, NULL, NULL);
        traffic(1);
        check_recovered();
        assert_true(fix.sent_count >= 4); /* each of the four once, whatever was sent meanwhile */
        fix_close(&fix);
        fix.sent_count = 0;
    }
}

/* The buffer is posted again before the second completion is looked at, so that one is as good as any: the
 * device has merely said that it is done with a buffer. */
static void a_received_frame_completed_twice_harms_nobody(void **state)
{
    (void)state;
    for (unsigned f = 0; f < VNET_FLAVOURS; f++)
        for (unsigned after = 0; after < 8; after++) {
            fix_open(&fix, vnet_flavours[f].offered, vnet_flavours[f].legacy, 16);
            fix.fake.fault = FAKE_COMPLETED_TWICE;
            fix.fake.fault_after = after;
            traffic(100);
            assert_true(net_env_errors() <= 1);
            fix.fake.violations = 0; /* the fake counts on its own books, which are wrong now */
            fix_close(&fix);
        }
}

static void lengths_beyond_the_buffer_end_in_a_reset(void **state)
{
    (void)state;
    static const enum fake_fault lies[] = {FAKE_LEN_PAST_CHAIN, FAKE_LEN_ALL_ONES};
    struct frame_in frame;

    for (size_t i = 0; i < ARRAY_COUNT(lies); i++)
        for (unsigned f = 0; f < VNET_FLAVOURS; f++) {
            fix_open(&fix, vnet_flavours[f].offered, vnet_flavours[f].legacy, 16);
            fix.fake.fault = lies[i];
            fake_net_receive(&fix.fake, bytes, 100, NULL);
            assert_false(fix_poll(&fix, &frame));
            check_recovered();
            fix_close(&fix);
        }
}

static void what_waits_to_be_sent_is_reported_at_a_reset(void **state)
{
    (void)state;
    struct frame_in frame;

    fix_open(&fix, vnet_flavours[0].offered, false, 16);
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(fix_send(&fix, bytes, 60, &bytes[i]), 0);
    fix.fake.fault = FAKE_USED_IDX_JUMPS;
    fake_net_receive(&fix.fake, bytes, 100, NULL);
    assert_false(fix_poll(&fix, &frame));
    assert_int_equal(fix.sent_count, 5);
    for (unsigned i = 0; i < 5; i++)
        assert_ptr_equal(fix.sent[i], &bytes[i]);
    check_recovered();
    fix_close(&fix);
}

static void a_half_joined_frame_is_given_back_at_a_reset(void **state)
{
    (void)state;
    struct frame_in frame;

    fix_open(&fix, vnet_flavours[0].offered, false, 16);
    fix.fake.fault = FAKE_NUM_BUFFERS_ONE_MORE;
    fake_net_receive(&fix.fake, bytes, 1500, NULL);
    assert_false(fix_poll(&fix, &frame));
    fix.fake.fault = FAKE_USED_IDX_BACKWARDS;
    fix.fake.fault_told = false;
    fake_net_receive(&fix.fake, bytes, 100, NULL);
    assert_false(fix_poll(&fix, &frame));
    assert_false(fix_poll(&fix, &frame));
    check_recovered();
    fix_close(&fix);
}

/* ---- lies that cost a frame -------------------------------------------------------------- */

static void lies_about_one_frame_cost_that_frame(void **state)
{
    (void)state;
    static const struct {
        enum fake_fault fault;
        size_t len;
        enum rx_drop drop;
    } cases[] = {
        {FAKE_LEN_ZERO, 100, RX_DROP_SHORT},
        {FAKE_LEN_SHORT_OF_HEADER, 100, RX_DROP_SHORT},
        {FAKE_NUM_BUFFERS_HUGE, 100, RX_DROP_COUNT},
        {FAKE_LATER_PIECE_EMPTY, 4000, RX_DROP_PIECE},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct frame_in frame;

        fix.opt.rxbuf = OPT_RXBUF_MTU;
        fix_open(&fix, vnet_flavours[0].offered, false, 16);
        fix.fake.fault = cases[i].fault;
        for (unsigned n = 0; n < 20; n++) {
            fix_fill(bytes, cases[i].len, n);
            fake_net_receive(&fix.fake, bytes, cases[i].len, NULL);
            if (n == 0) {
                assert_false(fix_poll(&fix, &frame));
                continue;
            }
            assert_true(fix_poll(&fix, &frame));
            assert_true(fix_same(&frame, cases[i].len, n));
            frag_give_list(frame.head);
        }
        assert_int_equal(fix.nic.rx.drops[cases[i].drop], 1);
        assert_true(net_env_logged("received frame dropped"));
        assert_int_equal(net_env_errors(), 0);
        assert_false(fix.nic.net.broken);
        assert_int_equal(vq_posted_count(&fix.nic.rx.vq), 16);
        fix_close(&fix);
    }
}

static void num_buffers_of_0_costs_nothing(void **state)
{
    (void)state;
    struct frame_in frame;

    fix_open(&fix, vnet_flavours[0].offered, false, 16);
    fix.fake.fault = FAKE_NUM_BUFFERS_ZERO;
    fix_fill(bytes, 100, 1);
    fake_net_receive(&fix.fake, bytes, 100, NULL);
    assert_true(fix_poll(&fix, &frame));
    assert_true(fix_same(&frame, 100, 1));
    frag_give_list(frame.head);
    fix_close(&fix);
}

/* A hardware device was seen to leave garbage there (hermit-os/kernel issue 1486). */
static void num_buffers_without_merging_is_ignored(void **state)
{
    (void)state;
    struct frame_in frame;

    fix_open(&fix, vnet_flavours[1].offered, false, 16);
    fix.fake.fault = FAKE_NUM_BUFFERS_HUGE;
    fix_fill(bytes, 100, 1);
    fake_net_receive(&fix.fake, bytes, 100, NULL);
    assert_true(fix_poll(&fix, &frame));
    assert_true(fix_same(&frame, 100, 1));
    frag_give_list(frame.head);
    fix_close(&fix);
}

static void unacceptable_offload_facts_cost_the_frame(void **state)
{
    (void)state;
    static const struct fake_net_hdr bad[] = {
        {.gso_type = 2},
        {.gso_type = 0x80},
        {.gso_type = 0xff, .gso_size = 1},
        {.gso_type = VNET_GSO_UDP, .flags = 1, .csum_start = 34, .csum_offset = 6, .gso_size = 9},
        {.gso_type = VNET_GSO_TCPV4, .flags = 1, .csum_start = 34, .csum_offset = 16},
        {.flags = 1, .csum_start = 34, .csum_offset = 65},
        {.flags = 1, .csum_start = 0, .csum_offset = 16},
        {.flags = 1, .csum_start = 65535, .csum_offset = 65535},
    };
    struct frame_in frame;

    fix_open(&fix, vnet_flavours[0].offered, false, 16);
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        fake_net_receive(&fix.fake, bytes, 100, &bad[i]);
        assert_false(fix_poll(&fix, &frame));
        assert_int_equal(fix.nic.rx.drops[RX_DROP_OFFLOAD], i + 1);
    }
    fake_net_receive(&fix.fake, bytes, 100, NULL);
    assert_true(fix_poll(&fix, &frame));
    frag_give_list(frame.head);
    fix_close(&fix);
}

/* ---- a value that changes ---- */

static const uint8_t *header, *entries; /* of the frame looked at; of the used ring */
static const void *seen[16];
static unsigned seen_count;

static bool written_by_the_device(const void *addr)
{
    const uint8_t *at = addr;

    return (at >= header && at < header + VNET_HDR_BYTES) ||
           (at >= entries && at < entries + 16 * 8);
}

/* Whatever has been read once changes before the next read of anything. */
static void change_what_was_read(enum shared_op op, const void *addr, uint32_t value)
{
    (void)value;
    if (op != SHARED_LOAD || !written_by_the_device(addr))
        return;
    for (unsigned i = 0; i < seen_count; i++) {
        assert_ptr_not_equal(seen[i], addr);
        memset((void *)(uintptr_t)seen[i], 0xff, sizeof(le32));
    }
    assert_true(seen_count < ARRAY_COUNT(seen));
    seen[seen_count++] = addr;
}

static void values_that_change_between_two_reads_are_read_once(void **state)
{
    const struct fake_net_hdr hdr = {
        .flags = VNET_HDR_NEEDS_CSUM, .csum_start = 34, .csum_offset = 16};
    struct frame_in frame;

    (void)state;
    fix_open(&fix, vnet_flavours[0].offered, false, 16);
    fix_fill(bytes, 1000, 1);
    fake_net_receive(&fix.fake, bytes, 1000, &hdr);
    header = frag_start(fix.nic.rx.vq.chains[0].cookie);
    entries = (const uint8_t *)fix.nic.rx.vq.used->ring;
    seen_count = 0;
    shared_hook = change_what_was_read;
    const bool got = fix_poll(&fix, &frame);
    shared_hook = NULL;
    assert_true(got);
    assert_int_equal(seen_count, 5); /* id and length; three words of header */
    assert_true(fix_same(&frame, 1000, 1));
    assert_int_equal(frame.offload.flags, FRAME_CSUM_PARTIAL);
    assert_int_equal(frame.offload.csum_start, 34);
    assert_int_equal(frame.offload.csum_offset, 16);
    frag_give_list(frame.head);
    fix_check_runs(&fix);
    fix_close(&fix);
}

/* A device was seen to send large frames though that had been declined (firecracker issue 3905). */
static void a_large_frame_that_was_declined_is_dropped(void **state)
{
    const struct fake_net_hdr large = {.gso_type = VNET_GSO_TCPV4,
                                       .flags = VNET_HDR_NEEDS_CSUM,
                                       .gso_size = 1448,
                                       .csum_start = 34,
                                       .csum_offset = 16};
    struct frame_in frame;

    (void)state;
    fix_open(&fix, vnet_flavours[0].offered & ~(BIT(VNET_F_GUEST_TSO4) | BIT(VNET_F_GUEST_TSO6)),
             false, 64);
    fake_net_receive(&fix.fake, bytes, 20000, &large);
    assert_false(fix_poll(&fix, &frame));
    assert_int_equal(fix.nic.rx.drops[RX_DROP_OFFLOAD], 1);
    assert_int_equal(net_env_errors(), 0);
    fix_check_runs(&fix);
    fix_close(&fix);
}

/* Completions that nobody announces (cloud-hypervisor issue 1202), and announcements of nothing. */
static void interrupts_are_neither_needed_nor_believed(void **state)
{
    struct frame_in frame;

    (void)state;
    for (unsigned f = 0; f < VNET_FLAVOURS; f++) {
        fix_open(&fix, vnet_flavours[f].offered, vnet_flavours[f].legacy, 16);
        fix.fake.irq = NULL;
        for (unsigned n = 0; n < 16u / 2; n++)
            assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
        fix.nic.net.ops->arm(&fix.nic.net);
        fake_net_transmit(&fix.fake, 16, NULL, NULL);
        fix_ticks(&fix, 1);
        assert_int_equal(fix.sent_count, 8);
        for (unsigned n = 0; n < 10000; n++)
            vnet_interrupt(&fix.nic, n % 2);
        assert_false(fix_poll(&fix, &frame));
        fix_check_runs(&fix);
        assert_int_equal(fix.nic.recover.faults[VNET_FAULT_LIE], 0);
        fix_close(&fix);
        fix.sent_count = 0;
    }
}

/* Whatever a device may say when it starts, it may say at a reset; and be honest later. */
static void lies_told_at_a_reset_cost_an_attempt(void **state)
{
    (void)state;
    static const enum fake_fault lies[] = {
        FAKE_QUEUE_SIZE_ZERO, FAKE_QUEUE_SIZE_ODD,   FAKE_QUEUE_SIZE_HUGE,
        FAKE_QUEUE_REFUSED,   FAKE_FEATURES_REFUSED, FAKE_CONFIG_NEVER_SETTLES,
    };

    for (size_t i = 0; i < ARRAY_COUNT(lies); i++)
        for (unsigned f = 0; f < VNET_FLAVOURS; f++) {
            const uint64_t offered = vnet_flavours[f].offered | BIT(VNET_F_MAC);
            if (vnet_flavours[f].legacy &&
                (lies[i] == FAKE_FEATURES_REFUSED || lies[i] == FAKE_CONFIG_NEVER_SETTLES))
                continue; /* has neither */
            fix_open(&fix, offered, vnet_flavours[f].legacy, 16);
            fix.fake.fault = lies[i];
            fix.fake.status |= 64;
            fix_ticks(&fix, VNET_LOOK_TICKS);
            assert_true(fix.nic.recover.failures >= 1);
            fix.fake.fault = FAKE_HONEST;
            fix_ticks(&fix, 1000);
            fix_check_runs(&fix);
            fix_close(&fix);
        }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, fresh)
        T(lies_about_the_used_ring_end_in_a_reset),
        T(a_used_id_that_is_not_posted_or_no_head_ends_in_a_reset),
        T(a_sent_frame_completed_twice_ends_in_a_reset),
        T(a_received_frame_completed_twice_harms_nobody),
        T(lengths_beyond_the_buffer_end_in_a_reset),
        T(what_waits_to_be_sent_is_reported_at_a_reset),
        T(a_half_joined_frame_is_given_back_at_a_reset),
        T(lies_about_one_frame_cost_that_frame),
        T(num_buffers_of_0_costs_nothing),
        T(num_buffers_without_merging_is_ignored),
        T(unacceptable_offload_facts_cost_the_frame),
        T(values_that_change_between_two_reads_are_read_once),
        T(a_large_frame_that_was_declined_is_dropped),
        T(interrupts_are_neither_needed_nor_believed),
        T(lies_told_at_a_reset_cost_an_attempt),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
