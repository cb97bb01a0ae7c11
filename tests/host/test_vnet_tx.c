/* Sending: bytes, completions, back-pressure, notifications both ways. virtio 1.2 §5.1.6.2, §2.7. */
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

static struct {
    unsigned count;
    size_t len;
    struct fake_net_hdr hdr;
    uint8_t data[FAKE_FRAME_MAX];
} seen;

static int fresh(void **state)
{
    (void)state;
    memset(&fix, 0, sizeof(fix));
    memset(&seen, 0, sizeof(seen));
    return 0;
}

static void see(void *arg, const struct fake_net_hdr *hdr, const uint8_t *frame, size_t len)
{
    (void)arg;
    seen.count++;
    seen.hdr = *hdr;
    seen.len = len;
    memcpy(seen.data, frame, len);
}

static const struct netdev_ops *ops(void)
{
    return fix.nic.net.ops;
}

static size_t poll_all(void)
{
    struct frame_in frames[NETDEV_POLL_MAX];

    return ops()->poll(&fix.nic.net, frames, NETDEV_POLL_MAX);
}

static unsigned device_sends(unsigned max)
{
    return fake_net_transmit(&fix.fake, max, see, NULL);
}

static unsigned kicks(void)
{
    return fix.fake.queue[VNET_TXQ].kicks;
}

static unsigned irqs(void)
{
    return fix.fake.queue[VNET_TXQ].irqs;
}

/* Send until the ring refuses. Returns how many went in. */
static unsigned fill_ring(void)
{
    unsigned n = 0;

    while (fix_send(&fix, bytes, 60, &bytes[n]) == 0)
        n++;
    return n;
}

/* ---- bytes ------------------------------------------------------------------------------- */

static void a_frame_leaves_as_it_was_and_its_cookie_comes_back(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VNET_FLAVOURS; i++) {
        fix_open(&fix, vnet_flavours[i].offered, vnet_flavours[i].legacy, 16);
        static const struct fake_net_hdr nothing;

        for (unsigned len = 14; len <= 1514; len += 50) {
            fix_fill(bytes, len, len);
            assert_int_equal(fix_send(&fix, bytes, len, &bytes[len]), 0);
            ops()->flush(&fix.nic.net);
            assert_int_equal(device_sends(9), 1);
            assert_int_equal(seen.len, len);
            assert_memory_equal(seen.data, bytes, len);
            assert_memory_equal(&seen.hdr, &nothing, sizeof(nothing));
            assert_int_equal(fix.sent_count, 0); /* nobody looked yet */
            poll_all();
            assert_int_equal(fix.sent_count, 1);
            assert_ptr_equal(fix.sent[0], &bytes[len]);
            fix.sent_count = 0;
        }
        fix_close(&fix);
    }
}

static void frames_of_many_pieces_leave_joined(void **state)
{
    (void)state;
    struct frame_piece pieces[NETDEV_PIECES_MAX];

    for (unsigned i = 0; i < VNET_FLAVOURS; i++) {
        fix_open(&fix, vnet_flavours[i].offered, vnet_flavours[i].legacy, 64);
        fix_fill(bytes, 6000, i);
        for (unsigned count = 1; count <= NETDEV_PIECES_MAX; count++) {
            uint32_t at = 0;
            for (unsigned p = 0; p < count; p++) {
                pieces[p] = (struct frame_piece){bytes + at, 20 + p};
                at += 20 + p;
            }
            const struct frame_out frame = {
                .pieces = pieces, .piece_count = count, .cookie = bytes};
            for (unsigned n = 0; n < 3; n++) { /* roomy ring and narrow */
                const int err = ops()->send(&fix.nic.net, &frame);
                if (err == -EAGAIN)
                    break;
                assert_int_equal(err, 0);
            }
            while (device_sends(1)) {
                assert_int_equal(seen.len, at);
                assert_memory_equal(seen.data, bytes, at);
            }
            poll_all();
        }
        fix_close(&fix);
    }
}

static void a_frame_of_more_pieces_than_the_ring_has_is_refused(void **state)
{
    (void)state;
    struct frame_piece pieces[NETDEV_PIECES_MAX];
    struct frame_out frame = {.pieces = pieces, .cookie = bytes};

    for (unsigned p = 0; p < NETDEV_PIECES_MAX; p++)
        pieces[p] = (struct frame_piece){bytes, 20};
    fix_open(&fix, vnet_flavours[0].offered, false, 8);
    frame.piece_count = 8;
    assert_int_equal(ops()->send(&fix.nic.net, &frame), -EINVAL);
    assert_int_equal(fix.nic.tx.refused, 1);
    frame.piece_count = 7;
    assert_int_equal(ops()->send(&fix.nic.net, &frame), 0);
    assert_int_equal(device_sends(9), 1);
    fix_close(&fix);
}

static void checksum_and_segmentation_facts_reach_the_device(void **state)
{
    (void)state;
    const struct frame_piece piece = {bytes, 30000};
    struct frame_out frame = {.pieces = &piece, .piece_count = 1, .cookie = bytes};

    fix_open(&fix, vnet_flavours[0].offered, false, 16);
    assert_true(fix.nic.net.features.tx_csum && fix.nic.net.features.tx_tso4 &&
                fix.nic.net.features.tx_tso6);
    for (unsigned n = 0; n < 40; n++) {
        /* Three wait at once: each must have a header of its own. */
        for (unsigned k = 0; k < 3; k++) {
            frame.offload = (struct frame_offload){.flags = FRAME_CSUM_PARTIAL,
                                                   .gso = FRAME_GSO_TCP4,
                                                   .gso_size = (uint16_t)(1000 + n + k),
                                                   .hdr_len = 66,
                                                   .csum_start = 34,
                                                   .csum_offset = 16};
            if (k == 1)
                frame.offload = (struct frame_offload){0};
            assert_int_equal(ops()->send(&fix.nic.net, &frame), 0);
        }
        for (unsigned k = 0; k < 3; k++) {
            assert_int_equal(device_sends(1), 1);
            assert_int_equal(seen.hdr.flags, k == 1 ? 0 : VNET_HDR_NEEDS_CSUM);
            assert_int_equal(seen.hdr.gso_type, k == 1 ? 0 : VNET_GSO_TCPV4);
            assert_int_equal(seen.hdr.gso_size, k == 1 ? 0 : 1000 + n + k);
            assert_int_equal(seen.hdr.csum_start, k == 1 ? 0 : 34);
            assert_int_equal(seen.hdr.csum_offset, k == 1 ? 0 : 16);
        }
        poll_all();
    }
    assert_int_equal(fix.nic.tx.csum, 80);
    assert_int_equal(fix.nic.tx.gso, 80);
    fix_close(&fix);
}

static void what_was_not_negotiated_is_refused(void **state)
{
    (void)state;
    const struct frame_piece piece = {bytes, 3000};
    struct frame_out frame = {.pieces = &piece, .piece_count = 1, .cookie = bytes};

    fix_open(&fix, vnet_flavours[1].offered, false, 16);
    assert_false(fix.nic.net.features.tx_csum || fix.nic.net.features.tx_tso4);
    frame.offload =
        (struct frame_offload){.flags = FRAME_CSUM_PARTIAL, .csum_start = 34, .csum_offset = 16};
    assert_int_equal(ops()->send(&fix.nic.net, &frame), -EINVAL);
    frame.offload.gso = FRAME_GSO_TCP4;
    frame.offload.gso_size = 1448;
    assert_int_equal(ops()->send(&fix.nic.net, &frame), -EINVAL);
    assert_int_equal(fix.nic.tx.refused, 2);
    assert_int_equal(fake_avail_count(&fix.fake, VNET_TXQ), 0);
    fix_close(&fix);
}

/* ---- full ring --------------------------------------------------------------------------- */

static void a_full_ring_refuses_and_tells_when_a_quarter_is_free(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VNET_FLAVOURS; i++) {
        fix_open(&fix, vnet_flavours[i].offered, vnet_flavours[i].legacy, 64);
        const unsigned went = fill_ring();

        assert_true(went >= 32);
        assert_int_equal(fix_send(&fix, bytes, 60, bytes), -EAGAIN);
        assert_true(kicks() > 0); /* the device is told, without flush */
        assert_int_equal(fix.room_calls, 0);
        poll_all();
        assert_int_equal(fix.room_calls, 0); /* nothing is free yet */

        while (fix.nic.tx.vq.free_count < 16) {
            assert_int_equal(fix.room_calls, 0);
            assert_int_equal(device_sends(1), 1);
            poll_all();
        }
        assert_int_equal(fix.room_calls, 1);
        assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
        device_sends(1000);
        poll_all();
        assert_int_equal(fix.room_calls, 1); /* told once */
        assert_int_equal(fix.sent_count, went + 1);
        fix_close(&fix);
    }
}

static void send_takes_completions_itself_when_the_ring_is_full(void **state)
{
    (void)state;
    fix_open(&fix, vnet_flavours[1].offered, false, 16);
    assert_int_equal(fill_ring(), 8);
    device_sends(1);
    assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
    assert_int_equal(fix.sent_count, 1);
    fix_close(&fix);
}

static void send_from_room(struct vnet_fixture *f)
{
    while (fix_send(f, bytes, 60, bytes) == 0)
        ;
}

static void the_stack_may_send_from_within_on_room(void **state)
{
    (void)state;
    fix_open(&fix, vnet_flavours[0].offered, false, 16);
    fix.in_room = send_from_room;
    fill_ring();
    for (unsigned n = 0; n < 50; n++) {
        device_sends(100);
        poll_all();
    }
    assert_int_equal(fix.room_calls, 50);
    fix_close(&fix);
}

static void a_tick_reclaims_a_quiet_ring(void **state)
{
    (void)state;
    fix_open(&fix, vnet_flavours[0].offered, false, 16);
    fix_send(&fix, bytes, 60, bytes);
    device_sends(1);
    ops()->tick(&fix.nic.net);
    assert_int_equal(fix.sent_count, 1);
    fix_close(&fix);
}

static void two_hundred_thousand_frames_leave(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VNET_FLAVOURS; i += 4) {
        unsigned sent = 0, seed = 1;

        fix_open(&fix, vnet_flavours[i].offered, vnet_flavours[i].legacy, 32);
        seen.count = 0;
        while (sent < 200000) {
            seed = seed * 1103515245 + 12345;
            for (unsigned n = (seed >> 16) % 20; n; n--)
                sent += fix_send(&fix, bytes, 60, bytes) == 0;
            ops()->flush(&fix.nic.net);
            device_sends((seed >> 24) % 16);
            poll_all();
        }
        device_sends(1000);
        poll_all();
        assert_int_equal(seen.count, sent);
        assert_int_equal(fix.sent_count, sent);
        fix_close(&fix);
        fix.sent_count = 0;
    }
}

static void closing_reports_what_was_not_sent(void **state)
{
    (void)state;
    fix_open(&fix, vnet_flavours[0].offered, false, 16);
    for (unsigned i = 0; i < 5; i++)
        fix_send(&fix, bytes, 60, &bytes[i]);
    fix_close(&fix);
    assert_int_equal(fix.sent_count, 5);
}

/* ---- notifications ----------------------------------------------------------------------- */

static void a_batch_costs_one_kick(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        fix_open(&fix, vnet_flavours[i].offered, false, 64);
        for (unsigned n = 0; n < 20; n++)
            fix_send(&fix, bytes, 60, bytes);
        assert_int_equal(kicks(), 0);
        ops()->flush(&fix.nic.net);
        ops()->flush(&fix.nic.net);
        assert_int_equal(kicks(), 1);
        fix_close(&fix);
    }
}

static void kick_each_costs_one_kick_a_frame(void **state)
{
    (void)state;
    fix.opt.kick = OPT_KICK_EACH;
    fix_open(&fix, vnet_flavours[1].offered, false, 64);
    for (unsigned n = 0; n < 20; n++)
        fix_send(&fix, bytes, 60, bytes);
    assert_int_equal(kicks(), 20);
    fix_close(&fix);
}

static void completions_of_a_half_empty_ring_do_not_interrupt(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        fix_open(&fix, vnet_flavours[i].offered, false, 64);
        for (unsigned round = 0; round < 100; round++) {
            for (unsigned n = 0; n < 10; n++)
                fix_send(&fix, bytes, 60, bytes);
            ops()->flush(&fix.nic.net);
            assert_false(ops()->arm(&fix.nic.net));
            device_sends(100);
            poll_all();
            ops()->disarm(&fix.nic.net);
        }
        assert_int_equal(irqs(), 0);
        fix_close(&fix);
    }
}

static void a_full_ring_interrupts_once_after_a_batch(void **state)
{
    (void)state;
    fix_open(&fix, vnet_flavours[0].offered, false, 64);
    const unsigned went = fill_ring();

    assert_false(ops()->arm(&fix.nic.net));
    fix.nic.net.irq_seen = false;
    device_sends(went / 2);
    assert_false(fix.nic.net.irq_seen);
    while (!fix.nic.net.irq_seen)
        assert_int_equal(device_sends(1), 1);
    assert_int_equal(irqs(), 1);
    poll_all();
    assert_int_equal(fix.room_calls, 1);
    fix_close(&fix);
}

static void txirq_each_interrupts_for_every_frame(void **state)
{
    (void)state;
    fix.opt.txirq = OPT_TXIRQ_EACH;
    fix_open(&fix, vnet_flavours[0].offered, false, 64);
    for (unsigned n = 0; n < 20; n++) {
        fix_send(&fix, bytes, 60, bytes);
        ops()->arm(&fix.nic.net);
        device_sends(1);
        poll_all();
    }
    assert_int_equal(irqs(), 20);
    fix_close(&fix);
}

static void arm_finds_room_that_came_before_it(void **state)
{
    (void)state;
    fix_open(&fix, vnet_flavours[0].offered, false, 64);
    fill_ring();
    device_sends(100); /* between the last look and the arming */
    assert_true(ops()->arm(&fix.nic.net));
    poll_all();
    assert_int_equal(fix.room_calls, 1);
    assert_false(ops()->arm(&fix.nic.net));
    fix_close(&fix);
}

static void arm_finds_a_frame_that_came_before_it(void **state)
{
    (void)state;
    for (unsigned i = 0; i < VNET_FLAVOURS; i++) {
        struct frame_in frame;

        fix_open(&fix, vnet_flavours[i].offered, vnet_flavours[i].legacy, 64);
        assert_false(fix_poll(&fix, &frame));
        fake_net_receive(&fix.fake, bytes, 60, NULL);
        assert_true(ops()->arm(&fix.nic.net));
        assert_true(fix_poll(&fix, &frame));
        frag_give_list(frame.head);
        assert_false(ops()->arm(&fix.nic.net));
        fix.nic.net.irq_seen = false;
        fake_net_receive(&fix.fake, bytes, 60, NULL);
        assert_true(fix.nic.net.irq_seen);
        assert_true(fix_poll(&fix, &frame));
        frag_give_list(frame.head);
        ops()->disarm(&fix.nic.net);
        fix.nic.net.irq_seen = false;
        fake_net_receive(&fix.fake, bytes, 60, NULL);
        assert_false(fix.nic.net.irq_seen);
        fix_close(&fix);
    }
}

static void spinning_never_sleeps_and_irq_mode_always_interrupts(void **state)
{
    (void)state;
    struct frame_in frame;

    fix.opt.poll = OPT_POLL_SPIN;
    fix_open(&fix, vnet_flavours[0].offered, false, 64);
    assert_true(ops()->arm(&fix.nic.net));
    fix_close(&fix);

    fix.opt.poll = OPT_POLL_IRQ;
    fix_open(&fix, vnet_flavours[0].offered, false, 64);
    for (unsigned n = 1; n <= 20; n++) {
        ops()->disarm(&fix.nic.net);
        poll_all();
        fake_net_receive(&fix.fake, bytes, 60, NULL);
        assert_int_equal(fix.fake.queue[VNET_RXQ].irqs, n);
        assert_true(fix_poll(&fix, &frame));
        frag_give_list(frame.head);
    }
    fix_close(&fix);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, fresh)
        T(a_frame_leaves_as_it_was_and_its_cookie_comes_back),
        T(frames_of_many_pieces_leave_joined),
        T(a_frame_of_more_pieces_than_the_ring_has_is_refused),
        T(checksum_and_segmentation_facts_reach_the_device),
        T(what_was_not_negotiated_is_refused),
        T(a_full_ring_refuses_and_tells_when_a_quarter_is_free),
        T(send_takes_completions_itself_when_the_ring_is_full),
        T(the_stack_may_send_from_within_on_room),
        T(a_tick_reclaims_a_quiet_ring),
        T(two_hundred_thousand_frames_leave),
        T(closing_reports_what_was_not_sent),
        T(a_batch_costs_one_kick),
        T(kick_each_costs_one_kick_a_frame),
        T(completions_of_a_half_empty_ring_do_not_interrupt),
        T(a_full_ring_interrupts_once_after_a_batch),
        T(txirq_each_interrupts_for_every_frame),
        T(arm_finds_room_that_came_before_it),
        T(arm_finds_a_frame_that_came_before_it),
        T(spinning_never_sleeps_and_irq_mode_always_interrupts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
