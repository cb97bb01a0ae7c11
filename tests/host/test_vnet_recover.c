/*
 * From a fault to a NIC that runs again: resets that are slow, fail, never end, or find another device; the watchdog; the
 * end. After every case nothing is lost: posted + owned + free = size.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/virtio/spec.h"
#include "lib/page_alloc.h"
#include "port/clock.h"
#include "tests/host/support/clock.h"
#include "tests/host/support/vnet_fixture.h"

enum { RING = 16, WAITS = 511 /* 1 + 2 + … + 256 ticks */ };

static struct vnet_fixture fix;
static uint8_t bytes[FAKE_FRAME_MAX];
static struct frame_in frame;

static int fresh(void **state)
{
    (void)state;
    memset(&fix, 0, sizeof(fix));
    return 0;
}

static void open_all(void)
{
    fix_open(&fix, vnet_flavours[0].offered, false, RING);
}

static void ask_for_reset(void)
{
    fix.fake.status |= VIRTIO_S_NEEDS_RESET;
    vnet_interrupt(&fix.nic, true);
    fix_poll(&fix, &frame);
}

static void run_for_long(void)
{
    fix_ticks(&fix, VNET_STABLE_TICKS);
}

static uint64_t held(void)
{
    struct frag_stats stats;

    frag_stats_get(&stats);
    return stats.takes - stats.gives;
}

static const struct vnet_recover *recovery(void)
{
    return &fix.nic.recover;
}

/* A NIC out of use takes nothing, gives nothing, asks for nothing. */
static void check_dead(void)
{
    const struct netdev_ops *ops = fix.nic.net.ops;

    assert_true(fix.nic.net.broken);
    assert_false(fix.nic.net.link_up);
    assert_int_equal(recovery()->life, VNET_DEAD);
    assert_false(fix_poll(&fix, &frame));
    assert_int_equal(fix_send(&fix, bytes, 60, bytes), -EIO);
    assert_false(ops->arm(&fix.nic.net));
    ops->flush(&fix.nic.net);
    ops->disarm(&fix.nic.net);
    fix_ticks(&fix, 2 * VNET_LOOK_TICKS);
    assert_int_equal(recovery()->life, VNET_DEAD);
}

/* ---- faults ------------------------------------------------------------------------------ */

static void a_device_that_asks_for_reset_gets_it_at_once(void **state)
{
    (void)state;
    for (unsigned f = 0; f < VNET_FLAVOURS; f++) {
        fix_open(&fix, vnet_flavours[f].offered, vnet_flavours[f].legacy, RING);
        const unsigned resets = fix.fake.resets;

        assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
        ask_for_reset();
        assert_int_equal(fix.fake.resets, resets + 1);
        assert_int_equal(recovery()->faults[VNET_FAULT_ASKED], 1);
        assert_int_equal(fix.sent_count, 1); /* what was under way is lost, and free again */
        assert_int_equal(net_env_errors(), 0);
        assert_true(net_env_logged("reset, because the device asked for it"));
        fix_check_runs(&fix);
        fix_close(&fix);
    }
}

static void a_wish_for_reset_without_interrupt_is_seen_within_a_second(void **state)
{
    (void)state;
    open_all();
    fix.fake.status |= VIRTIO_S_NEEDS_RESET;
    fix_ticks(&fix, VNET_LOOK_TICKS);
    assert_int_equal(recovery()->faults[VNET_FAULT_ASKED], 1);
    fix_check_runs(&fix);
    fix_close(&fix);
}

/* Somebody on the host reset it behind our back. */
static void a_device_that_has_lost_its_state_is_started_again(void **state)
{
    (void)state;
    open_all();
    fake_lose_state(&fix.fake);
    assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
    fix.nic.net.ops->flush(&fix.nic.net);
    fix_ticks(&fix, VNET_LOOK_TICKS);
    assert_int_equal(recovery()->faults[VNET_FAULT_LOST], 1);
    fix_check_runs(&fix);
    fix_close(&fix);
}

static void a_wish_for_reset_at_any_moment_loses_nothing(void **state)
{
    unsigned seed = 1;

    (void)state;
    for (unsigned run = 0; run < 300; run++) {
        const struct vnet_flavour *f = &vnet_flavours[run % VNET_FLAVOURS];
        fix_open(&fix, f->offered, f->legacy, RING);
        for (unsigned step = 0; step < 60; step++) {
            seed = seed * 1664525 + 1013904223;
            switch (seed >> 29) {
            case 0:
                fix.fake.status |= fix.fake.status ? VIRTIO_S_NEEDS_RESET : 0;
                vnet_interrupt(&fix.nic, true);
                fix.fake.reset_reads = seed >> 24 & 3;
                break;
            case 1:
            case 2:
                fix_send(&fix, bytes, 60 + (seed >> 16 & 1023), bytes);
                break;
            case 3:
            case 4:
                if (fix.fake.status & VIRTIO_S_DRIVER_OK)
                    fake_net_receive(&fix.fake, bytes, 60 + (seed >> 16 & 4095), NULL);
                break;
            case 5:
                if (fix.fake.status & VIRTIO_S_DRIVER_OK)
                    fake_net_transmit(&fix.fake, seed >> 16 & 7, NULL, NULL);
                break;
            case 6:
                fix_ticks(&fix, 1);
                break;
            default:
                if (fix_poll(&fix, &frame))
                    frag_give_list(frame.head);
                break;
            }
        }
        fix_ticks(&fix, 1000); /* whatever it waits for */
        while (fix_poll(&fix, &frame))
            frag_give_list(frame.head);
        fix_check_runs(&fix);
        assert_int_equal(fix.sent_count, fix.nic.tx.frames);
        fix_close(&fix);
    }
}

static void counters_of_the_queues_only_grow(void **state)
{
    (void)state;
    open_all();
    fix_check_runs(&fix);
    const uint64_t rx = fix.nic.rx.vq.kicks + fix.nic.rx.vq.kicks_saved, frames = fix.nic.rx.frames;
    assert_true(rx > 0);
    ask_for_reset();
    assert_true(fix.nic.rx.vq.kicks + fix.nic.rx.vq.kicks_saved >= rx);
    assert_int_equal(fix.nic.rx.frames, frames);
    fix_close(&fix);
}

/* ---- meanwhile --------------------------------------------------------------------------- */

static void a_slow_reset_is_not_waited_for(void **state)
{
    (void)state;
    open_all();
    assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
    const uint64_t begin_us = clock_now_us();
    fix.fake.reset_reads = 5;
    ask_for_reset();
    for (unsigned n = 0; n < 5; n++) {
        assert_int_equal(recovery()->life, VNET_RESETTING);
        /* The device may still read and write all it was given. */
        assert_int_equal(held(), RING);
        assert_int_equal(fix.sent_count, 0);
        /* Meanwhile nothing passes, and nobody is told to give up. */
        assert_int_equal(fix_send(&fix, bytes, 60, bytes), -EAGAIN);
        assert_false(fix_poll(&fix, &frame));
        assert_false(fix.nic.net.ops->arm(&fix.nic.net));
        fix.nic.net.ops->flush(&fix.nic.net);
        fix.nic.net.ops->disarm(&fix.nic.net);
        assert_true(fix.nic.net.link_up);
        assert_int_equal(fix.room_calls, 0);
        fix_ticks(&fix, 1);
    }
    assert_int_equal(clock_now_us(), begin_us);
    assert_int_equal(fix.sent_count, 1);
    assert_int_equal(fix.room_calls, 1); /* the refused one may come */
    fix_check_runs(&fix);
    fix_close(&fix);
}

static void a_first_attempt_that_fails_takes_the_link_down_until_one_succeeds(void **state)
{
    (void)state;
    open_all();
    fix.fake.fault = FAKE_QUEUE_REFUSED;
    ask_for_reset();
    assert_int_equal(recovery()->life, VNET_WAITING);
    assert_int_equal(recovery()->failures, 1);
    assert_false(fix.nic.net.link_up);
    assert_int_equal(fix.nic.net.link_changes, 1);
    assert_false(fix.nic.net.broken);
    assert_int_equal(fix_send(&fix, bytes, 60, bytes), -EAGAIN);
    assert_int_equal(held(), 0);
    fix.fake.fault = FAKE_HONEST;
    fix_ticks(&fix, 1);
    assert_int_equal(fix.room_calls, 1);
    fix_check_runs(&fix);
    fix_close(&fix);
}

static void a_restart_without_memory_is_tried_again(void **state)
{
    static void *pages[FIX_PAGES];
    size_t count = 0;

    (void)state;
    fix_open(&fix, vnet_flavours[3].offered, true,
             RING); /* legacy: a queue can't be made smaller */
    while ((pages[count] = page_take(1)))
        count++;
    fix.fake.queue[VNET_RXQ].offered_size = 4096;
    ask_for_reset();
    assert_int_equal(recovery()->life, VNET_WAITING);
    assert_true(net_env_logged("reset 1 of 10 failed: Cannot allocate memory"));
    while (count)
        page_give(pages[--count], 1);
    fix_ticks(&fix, 1);
    assert_int_equal(fix.nic.rx.vq.size, 4096);
    fix_check(&fix);
    fix.fake.queue[VNET_RXQ].offered_size = RING;
    ask_for_reset();
    fix_ticks(&fix, 2);
    fix_check_runs(&fix);
    fix_close(&fix);
}

/* ---- another device than before ---------------------------------------------------------- */

static void fewer_features_after_the_reset_are_told_to_the_stack(void **state)
{
    (void)state;
    open_all();
    assert_true(fix.nic.net.features.tx_csum && fix.nic.net.features.rx_gso);
    fix.fake.dev.offered = vnet_flavours[1].offered;
    ask_for_reset();
    assert_false(fix.nic.net.features.tx_csum || fix.nic.net.features.tx_tso4);
    assert_false(fix.nic.net.features.rx_csum || fix.nic.net.features.rx_gso);
    fix_check_runs(&fix);
    fix_close(&fix);
}

static void a_frame_made_for_features_that_are_gone_is_refused(void **state)
{
    const struct frame_piece piece = {bytes, 100};
    const struct frame_out out = {
        .pieces = &piece,
        .piece_count = 1,
        .cookie = bytes,
        .offload = {.flags = FRAME_CSUM_PARTIAL, .csum_start = 34, .csum_offset = 16}};

    (void)state;
    open_all();
    assert_int_equal(fix.nic.net.ops->send(&fix.nic.net, &out), 0);
    fix.fake.dev.offered = vnet_flavours[1].offered;
    ask_for_reset();
    assert_int_equal(fix.nic.net.ops->send(&fix.nic.net, &out), -EINVAL);
    assert_int_equal(fix.nic.tx.refused, 1);
    fix_check_runs(&fix);
    fix_close(&fix);
}

static void another_queue_size_after_the_reset_is_taken(void **state)
{
    static const uint16_t sizes[] = {64, 2, 256, 4, 16};

    (void)state;
    for (unsigned f = 0; f < VNET_FLAVOURS; f++) {
        fix_open(&fix, vnet_flavours[f].offered, vnet_flavours[f].legacy, RING);
        for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
            fix.fake.queue[VNET_RXQ].offered_size = fix.fake.queue[VNET_TXQ].offered_size =
                sizes[i];
            run_for_long();
            ask_for_reset();
            assert_int_equal(fix.nic.rx.vq.size, sizes[i]);
            assert_int_equal(recovery()->life, VNET_RUNNING);
            fix_check(&fix);
            assert_int_equal(held(), vq_posted_count(&fix.nic.rx.vq));
        }
        fix_check_runs(&fix);
        fix_close(&fix);
    }
}

static void a_chosen_address_outlives_the_reset(void **state)
{
    uint8_t mac[6];

    (void)state;
    open_all(); /* without MAC: we have chosen one */
    memcpy(mac, fix.nic.net.mac, 6);
    ask_for_reset();
    assert_memory_equal(fix.nic.net.mac, mac, 6);
    fix_close(&fix);
}

/* ---- attempts and their end -------------------------------------------------------------- */

static void attempts_in_a_row_wait_twice_as_long_each(void **state)
{
    unsigned last = 0, pause = 0;

    (void)state;
    open_all();
    fix.fake.fault = FAKE_QUEUE_REFUSED;
    ask_for_reset();
    for (unsigned tick = 1; recovery()->life != VNET_DEAD; tick++) {
        const uint64_t before = recovery()->failures;
        fix_ticks(&fix, 1);
        if (recovery()->failures == before)
            continue;
        assert_int_equal(tick - last, pause ? 2 * pause : tick);
        pause = tick - last;
        last = tick;
        assert_true(tick < 1000);
    }
    assert_int_equal(recovery()->failures, VNET_RESETS_MAX);
    assert_int_equal(last, WAITS);
    assert_true(net_env_logged("out of use: 10 resets in a row were no help"));
    assert_int_equal(held(), 0);
    check_dead();
    fix_close(&fix);
}

static void a_device_that_lies_after_every_reset_is_given_up_in_the_end(void **state)
{
    unsigned ticks = 0;

    (void)state;
    open_all();
    fix.fake.fault = FAKE_LEN_ALL_ONES;
    for (; !fix.nic.net.broken; ticks++) {
        fix.fake.fault_told = false;
        if (fix.fake.status & VIRTIO_S_DRIVER_OK)
            fake_net_receive(&fix.fake, bytes, 60, NULL);
        assert_false(fix_poll(&fix, &frame));
        fix_ticks(&fix, 1);
        assert_true(ticks < 2 * WAITS);
    }
    assert_int_equal(recovery()->faults[VNET_FAULT_LIE], VNET_RESETS_MAX + 1);
    assert_int_equal(fix.fake.status, 0);
    assert_int_equal(held(), 0);
    check_dead();
    fix_close(&fix);
}

static void a_device_that_runs_for_a_while_is_forgiven(void **state)
{
    (void)state;
    open_all();
    for (unsigned n = 0; n < 3 * VNET_RESETS_MAX; n++) {
        run_for_long();
        ask_for_reset();
        assert_int_equal(recovery()->life, VNET_RUNNING);
        assert_int_equal(recovery()->in_a_row, 1);
    }
    assert_int_equal(recovery()->faults[VNET_FAULT_ASKED], 3 * VNET_RESETS_MAX);
    fix_check_runs(&fix);
    fix_close(&fix);
}

/* Remember what is posted, so that the test can give it back where the driver must not. */
static void memory_stays_with_a_device_that_can_not_be_reset(void **state)
{
    struct frag *posted[RING];
    unsigned ticks = 0;

    (void)state;
    open_all();
    for (unsigned i = 0; i < RING; i++)
        posted[i] = fix.nic.rx.vq.chains[i].cookie;
    for (unsigned i = 0; i < 5; i++)
        assert_int_equal(fix_send(&fix, bytes, 60, &bytes[i]), 0);
    const uint64_t begin_us = clock_now_us();
    fix.fake.fault = FAKE_RESET_NEVER_ENDS;
    ask_for_reset();
    for (; !fix.nic.net.broken; ticks++) {
        assert_int_equal(fix.sent_count, 0);
        fix_ticks(&fix, 1);
        assert_true(ticks < 1000);
    }
    assert_int_equal(recovery()->failures, VNET_RESETS_MAX);
    assert_true(net_env_logged("reset never ended"));
    assert_true(clock_now_us() - begin_us <=
                (VIRTIO_RESET_SPIN_MS + 1) * 1000); /* once, in the end */
    assert_int_equal(fix.sent_count, 5);            /* what it only reads comes back */
    assert_int_equal(held(), RING);                 /* what it may write to doesn't */
    check_dead();
    vnet_close(&fix.nic);
    for (unsigned i = 0; i < RING; i++)
        frag_give(posted[i]);
}

static void a_reset_that_ends_after_all_is_as_good_as_any(void **state)
{
    (void)state;
    open_all();
    fix.fake.fault = FAKE_RESET_NEVER_ENDS;
    ask_for_reset();
    fix_ticks(&fix, 3 * VNET_RESET_TICKS);
    assert_true(recovery()->failures >= 2);
    fix.fake.fault = FAKE_HONEST;
    fix_ticks(&fix, 100);
    fix_check_runs(&fix);
    fix_close(&fix);
}

static void a_nic_is_closed_in_any_state(void **state)
{
    (void)state;
    open_all(); /* RESETTING */
    fix.fake.reset_reads = 3;
    ask_for_reset();
    assert_int_equal(recovery()->life, VNET_RESETTING);
    fix_close(&fix);

    memset(&fix, 0, sizeof(fix));
    open_all(); /* WAITING */
    fix.fake.fault = FAKE_QUEUE_REFUSED;
    ask_for_reset();
    assert_int_equal(recovery()->life, VNET_WAITING);
    fix_close(&fix);
}

/* ---- unplugged --------------------------------------------------------------------------- */

static const enum fake_fault ways_to_go[] = {FAKE_GONE, FAKE_GONE_ZERO};

static void check_unplugged(void)
{
    assert_int_equal(fix.sent_count, 1);
    assert_int_equal(held(), 0); /* what is gone writes no more: its buffers are back */
    assert_true(net_env_logged("net0: unplugged"));
    assert_int_equal(net_env_errors(), 1);
    check_dead();
    assert_int_equal(net_env_errors(), 1);
    assert_int_equal(recovery()->failures, 0);
    fix_close(&fix);
    memset(&fix, 0, sizeof(fix));
}

static void a_device_that_is_gone_is_closed_with_one_line(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(ways_to_go); i++) {
        open_all();
        assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
        fix.fake.fault = ways_to_go[i];
        vnet_interrupt(&fix.nic, true);
        fix_ticks(&fix, 1);
        check_unplugged();
    }
}

static void a_device_that_goes_without_a_word_is_missed_within_a_second(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(ways_to_go); i++) {
        open_all();
        assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
        fix.fake.fault = ways_to_go[i];
        fix_ticks(&fix, VNET_LOOK_TICKS);
        check_unplugged();
    }
}

static void a_device_that_goes_while_it_is_reset_is_closed(void **state)
{
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(ways_to_go); i++) {
        open_all();
        assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
        fix.fake.reset_reads = 100;
        ask_for_reset();
        fix_ticks(&fix, 2);
        fix.fake.fault = ways_to_go[i];
        fix_ticks(&fix, 1);
        check_unplugged();
    }
}

/* ---- the watchdog ------------------------------------------------------------------------ */

static void a_device_that_stops_sending_is_kicked_then_reset(void **state)
{
    (void)state;
    open_all();
    fake_want_kicks(&fix.fake, VNET_TXQ, false); /* it has forgotten that it sleeps */
    assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
    fix.nic.net.ops->flush(&fix.nic.net);
    const unsigned kicks = fix.fake.queue[VNET_TXQ].kicks;

    fix_ticks(&fix, VNET_STALL_TICKS - 1);
    assert_int_equal(fix.fake.queue[VNET_TXQ].kicks, kicks + 4);
    assert_int_equal(recovery()->kicks_again, 4);
    assert_int_equal(recovery()->faults[VNET_FAULT_STALL], 0);
    assert_int_equal(fix.sent_count, 0);
    fix_ticks(&fix, 1);
    assert_int_equal(recovery()->faults[VNET_FAULT_STALL], 1);
    assert_int_equal(fix.sent_count, 1);
    assert_true(net_env_logged("reset, because the device had stopped sending"));
    fix_check_runs(&fix);
    fix_close(&fix);
}

static void a_kick_that_was_missed_is_all_it_takes(void **state)
{
    (void)state;
    open_all();
    assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
    fix_ticks(&fix, VNET_STALL_KICK_TICKS + 1);
    assert_int_equal(recovery()->kicks_again, 1);
    fake_net_transmit(&fix.fake, 1, NULL, NULL);
    fix_ticks(&fix, 2 * VNET_STALL_TICKS);
    assert_int_equal(fix.sent_count, 1);
    assert_int_equal(recovery()->faults[VNET_FAULT_STALL], 0);
    fix_close(&fix);
}

static void a_device_that_is_merely_slow_is_left_alone(void **state)
{
    (void)state;
    open_all();
    for (unsigned n = 0; n < 20; n++) {
        assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
        fix_ticks(&fix, VNET_STALL_TICKS - 1);
        fake_net_transmit(&fix.fake, n % 2, NULL, NULL); /* one of two */
        if (n % 2)
            continue;
        fake_net_transmit(&fix.fake, 1, NULL, NULL);
    }
    assert_int_equal(recovery()->faults[VNET_FAULT_STALL], 0);
    fix_close(&fix);
}

static void without_a_link_nothing_is_missed(void **state)
{
    const uint8_t down[2] = {0, 0}, up[2] = {1, 0};

    (void)state;
    fix_open(&fix, vnet_flavours[0].offered | BIT(VNET_F_STATUS), false, RING);
    fake_config_set(&fix.fake, 6, down, 2);
    vnet_interrupt(&fix.nic, true);
    fix_poll(&fix, &frame);
    assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
    fix_ticks(&fix, 10 * VNET_STALL_TICKS);
    assert_int_equal(recovery()->kicks_again, 0);
    assert_int_equal(recovery()->faults[VNET_FAULT_STALL], 0);
    fake_config_set(&fix.fake, 6, up, 2);
    vnet_interrupt(&fix.nic, true);
    fake_net_transmit(&fix.fake, 1, NULL, NULL);
    fix_ticks(&fix, 1);
    fix_check_runs(&fix);
    fix_close(&fix);
}

/* A back end that is stopped for an hour: resets get rarer, and the NIC outlives it. */
static void a_stall_is_never_the_end(void **state)
{
    (void)state;
    open_all();
    for (unsigned tick = 0; tick < 36000; tick++) {
        fix_send(&fix, bytes, 60, bytes);
        fix_ticks(&fix, 1);
    }
    assert_int_equal(recovery()->life, VNET_RUNNING);
    assert_in_range(recovery()->faults[VNET_FAULT_STALL], 10, 20);
    fake_net_transmit(&fix.fake, RING, NULL, NULL);
    fix_ticks(&fix, 1);
    assert_int_equal(recovery()->stall_limit,
                     VNET_STALL_TICKS); /* it has sent: patience as before */
    fix_check_runs(&fix);
    fix_close(&fix);
}

static void a_back_end_that_falters_again_and_again_is_not_given_up(void **state)
{
    (void)state;
    open_all();
    for (unsigned n = 0; n < 3 * VNET_RESETS_MAX; n++) {
        assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
        fake_net_transmit(&fix.fake, 1, NULL, NULL);
        assert_int_equal(fix_send(&fix, bytes, 60, bytes), 0);
        fix_ticks(&fix, 1 + VNET_STALL_TICKS);
        assert_int_equal(recovery()->faults[VNET_FAULT_STALL], n + 1);
        assert_int_equal(recovery()->life, VNET_RUNNING);
    }
    fix_check_runs(&fix);
    fix_close(&fix);
}

/* ---- ticks heal -------------------------------------------------------------------------- */

static void frames_without_an_interrupt_are_found(void **state)
{
    (void)state;
    open_all();
    fix.fake.irq = NULL;
    fix.nic.net.ops->arm(&fix.nic.net);
    fix_fill(bytes, 100, 1);
    fake_net_receive(&fix.fake, bytes, 100, NULL);
    assert_false(fix.nic.net.irq_seen);
    assert_true(fix_poll(&fix, &frame)); /* the loop polls at every tick */
    assert_true(fix_same(&frame, 100, 1));
    frag_give_list(frame.head);
    fix_close(&fix);
}

/* Nothing but a tick can fill a ring that no frame comes to: there is no event for memory that is free again. */
static void a_ring_that_memory_could_not_fill_is_filled_by_the_tick(void **state)
{
    static struct frag *hoard[8 * FIX_PAGES];
    size_t count = 0;

    (void)state;
    fix.pages = 512;
    fix_open(&fix, vnet_flavours[1].offered, false, RING);
    ask_for_reset();
    ask_for_reset(); /* the second in a row waits a tick */
    assert_int_equal(recovery()->life, VNET_WAITING);
    while (count < ARRAY_COUNT(hoard) && (hoard[count] = frag_take(VNET_BUF_MIN, FRAG_BULK)))
        count++;
    for (unsigned i = 0; i < 3; i++)
        frag_give(hoard[--count]);
    fix_ticks(&fix, 1);
    assert_int_equal(recovery()->life, VNET_RUNNING);
    assert_int_equal(vq_posted_count(&fix.nic.rx.vq), 3);
    assert_true(fix.nic.rx.refill_failures > 0);
    while (count)
        frag_give(hoard[--count]);
    fix_ticks(&fix, 1);
    fix_check_runs(&fix);
    fix_close(&fix);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, fresh)
        T(a_device_that_asks_for_reset_gets_it_at_once),
        T(a_wish_for_reset_without_interrupt_is_seen_within_a_second),
        T(a_device_that_has_lost_its_state_is_started_again),
        T(a_wish_for_reset_at_any_moment_loses_nothing),
        T(counters_of_the_queues_only_grow),
        T(a_slow_reset_is_not_waited_for),
        T(a_first_attempt_that_fails_takes_the_link_down_until_one_succeeds),
        T(a_restart_without_memory_is_tried_again),
        T(fewer_features_after_the_reset_are_told_to_the_stack),
        T(a_frame_made_for_features_that_are_gone_is_refused),
        T(another_queue_size_after_the_reset_is_taken),
        T(a_chosen_address_outlives_the_reset),
        T(attempts_in_a_row_wait_twice_as_long_each),
        T(a_device_that_lies_after_every_reset_is_given_up_in_the_end),
        T(a_device_that_runs_for_a_while_is_forgiven),
        T(memory_stays_with_a_device_that_can_not_be_reset),
        T(a_reset_that_ends_after_all_is_as_good_as_any),
        T(a_nic_is_closed_in_any_state),
        T(a_device_that_is_gone_is_closed_with_one_line),
        T(a_device_that_goes_without_a_word_is_missed_within_a_second),
        T(a_device_that_goes_while_it_is_reset_is_closed),
        T(a_device_that_stops_sending_is_kicked_then_reset),
        T(a_kick_that_was_missed_is_all_it_takes),
        T(a_device_that_is_merely_slow_is_left_alone),
        T(without_a_link_nothing_is_missed),
        T(a_stall_is_never_the_end),
        T(a_back_end_that_falters_again_and_again_is_not_given_up),
        T(frames_without_an_interrupt_are_found),
        T(a_ring_that_memory_could_not_fill_is_filled_by_the_tick),
    };
    host_clock_stop(); /* from now on only waiting moves it */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
