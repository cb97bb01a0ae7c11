/* The packed virtqueue against a device that obeys, and one that lies. virtio 1.2 §2.8. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/virtio/vq_packed.h"
#include "drivers/virtio_net/spec.h"
#include "tests/fake/fake_vdev.h"
#include "tests/host/support/net_env.h"

enum { PAGES = 2048 };
#define BIT(n) (1ull << (n))
#define PACKED (BIT(VNET_F_VERSION_1) | BIT(VNET_F_RING_PACKED))
static const uint64_t feature_sets[2] = {PACKED, PACKED | BIT(VNET_F_EVENT_IDX)};
static const uint16_t sizes[] = {1, 2, 3, 7, 256, 1000};

static struct fake_vdev fake;
static struct virtqueue vq;
static char buffers[4096]; /* one byte each: cookies and addresses */

static void open_queue(uint64_t features, uint16_t size, uint16_t chain_max)
{
    net_env_init(PAGES);
    fake_vdev_init(&fake, features, size, false);
    fake.dev.accepted = fake.features = features;
    assert_int_equal(vq_open(&vq, &fake.dev, 0, 0, chain_max, VIRTIO_NO_VECTOR), 0);
    assert_true(vq.packed);
    fake.status = 0x0f; /* DRIVER_OK and what comes before it */
}

static void count_cookie(void *arg, void *cookie)
{
    (void)cookie;
    ++*(unsigned *)arg;
}

/* Close; every chain still posted comes back; nothing is left; the driver broke no rule. */
static void close_queue(void)
{
    const unsigned posted = vq_posted_count(&vq);
    unsigned dropped = 0;

    fake.status = 0;
    vq_close(&vq, count_cookie, &dropped);
    assert_int_equal(dropped, posted);
    assert_true(net_env_clean());
    if (fake.violations)
        fail_msg("driver: %s", fake.violation);
}

static void check_invariant(void)
{
    unsigned held = 0;

    for (unsigned i = 0; i < vq.size; i++)
        held += vq.chains[i].desc_count;
    if (!vq.broken)
        assert_int_equal(held + vq.free_count, vq.size);
}

static int post_in(unsigned i)
{
    return vq_post_in(&vq, (uintptr_t)&buffers[i], 1, &buffers[i]);
}

static int post(unsigned first, unsigned out_count, unsigned in_count)
{
    struct vq_seg segs[64];

    for (unsigned i = 0; i < out_count + in_count; i++)
        segs[i] = (struct vq_seg){(uintptr_t)&buffers[first + i], 1};
    return vq_post(&vq, segs, out_count, in_count, &buffers[first]);
}

/* Let the device complete up to n chains, each wholly written. */
static unsigned complete(unsigned n)
{
    struct fake_chain c;
    unsigned done = 0;

    while (done < n && fake_pop(&fake, 0, &c)) {
        fake_push(&fake, 0, c.head, (uint32_t)c.in_len);
        done++;
    }
    return done;
}

static unsigned take_all(void)
{
    struct vq_done done[8];
    unsigned all = 0, count;

    while ((count = vq_take_batch(&vq, done, ARRAY_COUNT(done))) > 0)
        all += count;
    return all;
}

/* Move both sides on by `count` slots. */
static void pass(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(post_in(0), 0);
        vq_kick(&vq);
        assert_int_equal(complete(1), 1);
        assert_int_equal(take_all(), 1);
    }
}

/* ---- the ordinary way -------------------------------------------------------------------- */

static void a_posted_buffer_comes_back_with_its_cookie_and_length(void **state)
{
    (void)state;
    open_queue(PACKED, 8, 1);
    struct vq_done done;

    assert_int_equal(vq_take(&vq, &done), -EAGAIN);
    assert_int_equal(post_in(3), 0);
    assert_false(vq_pending(&vq));
    assert_int_equal(vq_take(&vq, &done), -EAGAIN);
    complete(1);
    assert_true(vq_pending(&vq));
    assert_int_equal(vq_take(&vq, &done), 0);
    assert_ptr_equal(done.cookie, &buffers[3]);
    assert_int_equal(done.len, 1);
    assert_int_equal(vq_take(&vq, &done), -EAGAIN);
    check_invariant();
    close_queue();
}

/* Both wrap counters flip while the ring is full: nothing old may pass for new. */
static void every_size_fills_to_the_last_slot_on_every_lap(void **state)
{
    (void)state;
    for (unsigned s = 0; s < ARRAY_COUNT(sizes); s++) {
        const unsigned size = sizes[s];
        struct vq_done done;

        open_queue(PACKED, sizes[s], 1);
        assert_int_equal(vq.size, size);
        for (unsigned round = 0; round < 5; round++) {
            assert_int_equal(vq_room(&vq, 1), size);
            for (unsigned i = 0; i < size; i++)
                assert_int_equal(post_in(i), 0);
            assert_int_equal(post_in(0), -EAGAIN);
            assert_int_equal(vq_posted_count(&vq), size);
            assert_int_equal(vq_take(&vq, &done), -EAGAIN);
            assert_int_equal(fake_avail_count(&fake, 0), size);
            assert_int_equal(complete(size), size);
            assert_false(fake_avail_count(&fake, 0));
            for (unsigned i = 0; i < size; i++) {
                assert_int_equal(vq_take(&vq, &done), 0);
                assert_ptr_equal(done.cookie, &buffers[i]);
            }
            assert_int_equal(vq_take(&vq, &done), -EAGAIN);
        }
        check_invariant();
        close_queue();
    }
}

static void a_hundred_thousand_chains_pass_rings_of_every_size(void **state)
{
    (void)state;
    for (unsigned s = 0; s < ARRAY_COUNT(sizes) * 2; s++) {
        const uint16_t size = sizes[s / 2];
        const unsigned longest = size < 5 ? size : 5;
        struct vq_done done;
        unsigned posted = 0, taken = 0, seed = 7;

        open_queue(feature_sets[s % 2], size, (uint16_t)longest);
        while (taken < 100000) {
            seed = seed * 1103515245 + 12345;
            const unsigned burst = 1 + (seed >> 16) % 9;
            for (unsigned i = 0; i < burst; i++) {
                const unsigned count = 1 + posted % longest;
                if (post(posted % 500 * 8, count / 2, count - count / 2))
                    break;
                posted++;
            }
            vq_kick(&vq);
            complete(1 + (seed >> 20) % 8);
            while (vq_take(&vq, &done) == 0) {
                const unsigned count = 1 + taken % longest;
                assert_ptr_equal(done.cookie, &buffers[taken % 500 * 8]);
                assert_int_equal(done.len, count - count / 2);
                taken++;
            }
            assert_int_equal(vq_posted_count(&vq), posted - taken);
        }
        assert_true(fake.queue[0].kicks > 0);
        check_invariant();
        close_queue();
    }
}

static void a_chain_goes_on_at_the_start_of_the_ring(void **state)
{
    (void)state;
    for (unsigned start = 0; start < 14; start++) {
        struct fake_chain c;
        struct vq_done done;

        open_queue(PACKED, 7, 5);
        pass(start);
        assert_int_equal(post(10, 2, 3), 0);
        assert_int_equal(post(20, 1, 1), 0);
        assert_int_equal(post(30, 1, 0), -EAGAIN);
        assert_int_equal(fake_avail_count(&fake, 0), 2);
        assert_true(fake_pop(&fake, 0, &c));
        assert_int_equal(c.count, 5);
        assert_int_equal(c.out_count, 2);
        for (unsigned i = 0; i < 5; i++)
            assert_ptr_equal(c.iov[i].base, &buffers[10 + i]);
        fake_push(&fake, 0, c.head, 3);
        assert_int_equal(vq_take(&vq, &done), 0);
        assert_ptr_equal(done.cookie, &buffers[10]);
        assert_int_equal(vq_room(&vq, 5), 1);
        assert_int_equal(complete(1), 1);
        assert_int_equal(vq_take(&vq, &done), 0);
        assert_ptr_equal(done.cookie, &buffers[20]);
        check_invariant();
        close_queue();
    }
}

static void completions_may_come_in_any_order(void **state)
{
    (void)state;
    open_queue(PACKED, 7, 3);
    for (unsigned round = 0; round < 50; round++) {
        struct fake_chain c[3];
        struct vq_done done;

        for (unsigned i = 0; i < 3; i++)
            assert_int_equal(post(i * 8, 0, i + 1), 0);
        for (unsigned i = 0; i < 3; i++)
            assert_true(fake_pop(&fake, 0, &c[i]));
        for (unsigned i = 3; i-- > 0;)
            fake_push(&fake, 0, c[i].head, i + 1);
        for (unsigned i = 3; i-- > 0;) {
            assert_int_equal(vq_take(&vq, &done), 0);
            assert_ptr_equal(done.cookie, &buffers[i * 8]);
            assert_int_equal(done.len, i + 1);
        }
        check_invariant();
    }
    close_queue();
}

static void ids_are_below_the_size_and_no_two_alike(void **state)
{
    (void)state;
    open_queue(PACKED, 7, 1);
    for (unsigned round = 0; round < 3; round++) {
        unsigned seen = 0;

        for (unsigned i = 0; i < 7; i++) {
            seen |= 1u << vq_next_head(&vq);
            post_in(i);
        }
        assert_int_equal(seen, 0x7f);
        complete(7);
        assert_int_equal(take_all(), 7);
    }
    close_queue();
}

static void a_batch_of_pieces_shows_as_a_whole(void **state)
{
    (void)state;
    open_queue(PACKED, 4, 1);
    pass(3);
    struct fake_chain c[3];
    struct vq_done done[4];

    for (unsigned i = 0; i < 3; i++) {
        post_in(i);
        fake_pop(&fake, 0, &c[i]);
    }
    for (unsigned i = 0; i < 3; i++)
        fake_push_silent(&fake, 0, c[i].head, 1);
    assert_int_equal(vq_take_batch(&vq, done, 4), 0);
    fake_publish(&fake, 0);
    assert_int_equal(vq_take_batch(&vq, done, 2), 2);
    assert_int_equal(vq_take_batch(&vq, done, 2), 1);
    close_queue();
}

static void a_size_may_be_lowered_to_any_number(void **state)
{
    (void)state;
    net_env_init(PAGES);
    fake_vdev_init(&fake, PACKED, 256, false);
    fake.dev.accepted = fake.features = PACKED;
    assert_int_equal(vq_open(&vq, &fake.dev, 0, 100, 1, VIRTIO_NO_VECTOR), 0);
    assert_int_equal(vq.size, 100);
    close_queue();
    fake.fault = FAKE_QUEUE_SIZE_HUGE;
    assert_int_equal(vq_open(&vq, &fake.dev, 0, 0, 1, VIRTIO_NO_VECTOR), -EPROTO);
    assert_true(net_env_clean());
}

static void a_queue_opened_again_starts_its_first_lap(void **state)
{
    (void)state;
    open_queue(feature_sets[1], 5, 2);
    pass(7); /* the second lap: both wrap counters are 0 */
    post_in(0);
    fake.dev.transport->set_status(&fake.dev, 0);
    vq_close(&vq, NULL, NULL);
    fake.features = fake.dev.accepted;
    assert_int_equal(vq_open(&vq, &fake.dev, 0, 0, 2, VIRTIO_NO_VECTOR), 0);
    fake.status = 0x0f;
    assert_false(vq_pending(&vq));
    pass(12);
    check_invariant();
    close_queue();
}

static void an_abandoned_queue_takes_and_gives_nothing(void **state)
{
    (void)state;
    struct vq_done done;
    unsigned dropped = 0;

    open_queue(feature_sets[1], 4, 2);
    void *mem = vq.mem;
    post(0, 1, 1);
    vq_abandon(&vq, count_cookie, &dropped);
    assert_int_equal(dropped, 1);
    assert_int_equal(post_in(0), -EPROTO);
    assert_int_equal(post(0, 1, 1), -EPROTO);
    assert_int_equal(vq_take(&vq, &done), -EPROTO);
    assert_false(vq_pending(&vq));
    assert_false(vq_irq_enable(&vq, 1));
    vq_irq_disable(&vq);
    vq_kick(&vq);
    vq_kick_overdue(&vq);
    assert_int_equal(fake.queue[0].kicks, 0);
    assert_non_null(mem); /* given up on purpose */
}

/* ---- kicks ------------------------------------------------------------------------------- */

static void a_device_that_wants_no_kick_gets_none(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        open_queue(feature_sets[f], 8, 1);
        fake_want_kicks(&fake, 0, false);
        post_in(0);
        vq_kick(&vq);
        assert_int_equal(fake.queue[0].kicks, 0);
        assert_int_equal(vq.kicks_saved, 1);
        vq_kick_overdue(&vq);
        assert_int_equal(fake.queue[0].kicks, 0);
        complete(1);
        fake_want_kicks(&fake, 0, true);
        post_in(1);
        vq_kick(&vq);
        vq_kick(&vq); /* nothing new */
        assert_int_equal(fake.queue[0].kicks, 1);
        close_queue();
    }
}

static void the_event_is_passed_by_range_on_every_lap(void **state)
{
    (void)state;
    for (unsigned start = 0; start < 20; start++)
        for (unsigned length = 1; length <= 3; length++) {
            open_queue(feature_sets[1], 9, 3);
            pass(start);
            const unsigned before = fake.queue[0].kicks;

            fake_want_kicks(&fake, 0, true); /* names the next slot, and stays there */
            fake.queue[0].no_notify = true;
            post(0, length, 0);
            post(8, length, 0);
            vq_kick(&vq); /* passes it */
            assert_int_equal(fake.queue[0].kicks, before + 1);
            post(16, length, 0);
            vq_kick(&vq); /* it lies behind */
            assert_int_equal(fake.queue[0].kicks, before + 1);
            close_queue();
        }
}

static void words_that_make_no_sense_mean_yes(void **state)
{
    (void)state;
    for (unsigned flags = 0; flags < 4; flags++)
        for (unsigned slot = 8; slot < 0x8000; slot = slot * 2 + 1) {
            open_queue(feature_sets[1], 8, 1);
            post_in(0);
            vq.ring.device_event->off_wrap.raw = (uint16_t)slot;
            vq.ring.device_event->flags.raw = (uint16_t)(0xfffc | flags);
            vq_kick(&vq);
            assert_int_equal(fake.queue[0].kicks, flags != VRING_PACKED_EVENT_DISABLE);
            close_queue();
        }
    open_queue(feature_sets[0], 8, 1); /* DESC without EVENT_IDX */
    vq.ring.device_event->both.raw = VRING_PACKED_EVENT_DESC << 16 | 5;
    post_in(0);
    vq_kick(&vq);
    assert_int_equal(fake.queue[0].kicks, 1);
    close_queue();
}

static void a_kick_that_both_sides_missed_is_made_up_for(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        open_queue(feature_sets[f], 8, 1);
        pass(5);
        const unsigned before = fake.queue[0].kicks;

        fake_want_kicks(&fake, 0, false);
        post_in(0);
        post_in(1);
        vq_kick(&vq);
        vq_kick_overdue(&vq);
        assert_int_equal(fake.queue[0].kicks, before);
        fake_want_kicks(&fake, 0, true); /* it falls asleep, having looked too early */
        vq_kick_overdue(&vq);
        assert_int_equal(fake.queue[0].kicks, before + 1);
        assert_int_equal(vq.kicks_overdue, 1);
        vq_kick_overdue(&vq);
        assert_int_equal(fake.queue[0].kicks, before + 1);
        close_queue();
    }
}

static void a_kick_forgotten_for_many_rounds_is_made_up_for(void **state)
{
    (void)state;
    open_queue(feature_sets[1], 6, 1);
    for (unsigned i = 0; i < 0x4000 + 2; i++) {
        post_in(0);
        complete(1);
        take_all();
    }
    assert_int_equal(vq.kicks + vq.kicks_saved, 1);
    close_queue();
}

/* ---- interrupts -------------------------------------------------------------------------- */

static void disabled_interrupts_stay_away_and_enabled_ones_come(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        open_queue(feature_sets[f], 8, 1);
        vq_irq_disable(&vq);
        for (unsigned i = 0; i < 5; i++)
            post_in(i);
        complete(2);
        assert_int_equal(fake.queue[0].irqs, 0);
        assert_true(vq_irq_enable(&vq, 1)); /* two are there already */
        assert_int_equal(take_all(), 2);
        assert_false(vq_irq_enable(&vq, 1));
        complete(1);
        assert_int_equal(fake.queue[0].irqs, 1);
        close_queue();
    }
}

static void interrupts_come_on_every_lap(void **state)
{
    (void)state;
    for (unsigned s = 0; s < ARRAY_COUNT(sizes) * 2; s++) {
        open_queue(feature_sets[s % 2], sizes[s / 2], 1);
        for (unsigned i = 0; i < 3000; i++) {
            post_in(0);
            vq_kick(&vq);
            assert_false(vq_irq_enable(&vq, 1));
            complete(1);
            assert_int_equal(fake.queue[0].irqs, i + 1);
            assert_int_equal(take_all(), 1);
        }
        close_queue();
    }
}

/* With chains of one length the interrupt comes with just the buffer that was asked for. */
static void an_interrupt_can_wait_for_several_buffers(void **state)
{
    (void)state;
    for (unsigned start = 0; start < 26; start++)
        for (unsigned length = 1; length <= 3; length++) {
            open_queue(feature_sets[1], 13, 3);
            vq_irq_disable(&vq);
            pass(start);
            for (unsigned i = 0; i < 4; i++)
                post(i * 8, length, 0);
            assert_false(vq_irq_enable(&vq, 3));
            complete(2);
            assert_int_equal(fake.queue[0].irqs, 0);
            assert_false(vq_irq_enable(&vq, 3));
            complete(1);
            assert_int_equal(fake.queue[0].irqs, 1);
            assert_true(vq_irq_enable(&vq, 3));
            assert_false(vq_irq_enable(&vq, 1000)); /* lowered to the fourth */
            complete(1);
            assert_int_equal(fake.queue[0].irqs, 2);
            close_queue();
        }
}

/* Chains of unlike lengths: wherever the device is when it is asked, somebody wakes up in the end. */
static void no_interrupt_is_lost_with_chains_of_unlike_lengths(void **state)
{
    (void)state;
    for (unsigned mix = 0; mix < 81; mix++)
        for (uint16_t after = 1; after <= 4; after++)
            for (unsigned early = 0; early <= 4; early++) {
                open_queue(feature_sets[1], 13, 3);
                vq_irq_disable(&vq);
                pass(8);
                for (unsigned i = 0, m = mix; i < 4; i++, m /= 3)
                    post(i * 8, 1 + m % 3, 0);
                complete(early);
                const bool look_again = vq_irq_enable(&vq, after);
                complete(4 - early);
                assert_true(look_again || fake.queue[0].irqs);
                close_queue();
            }
}

/* ---- lies -------------------------------------------------------------------------------- */

static const struct {
    enum fake_fault fault;
    const char *says;
} lies[] = {
    {FAKE_USED_ID_OUT_OF_RANGE, "out of range"}, {FAKE_USED_ID_NOT_POSTED, "not posted"},
    {FAKE_COMPLETED_TWICE, "not posted"},        {FAKE_LEN_PAST_CHAIN, "beyond the buffer"},
    {FAKE_LEN_ALL_ONES, "beyond the buffer"},
};

/* Two chains, both popped before the first is used. */
static void complete_both(void)
{
    struct fake_chain c[2];

    assert_true(fake_pop(&fake, 0, &c[0]) && fake_pop(&fake, 0, &c[1]));
    for (unsigned i = 0; i < 2; i++)
        fake_push(&fake, 0, c[i].head, (uint32_t)c[i].in_len);
}

static void run_lie(unsigned lie, uint64_t features, unsigned after)
{
    struct vq_done done[4];
    unsigned good = 0, posted = 0;

    open_queue(features, 7, 2);
    fake.fault = lies[lie].fault;
    fake.fault_after = after;
    for (unsigned round = 0; round < 20 && !vq.broken; round++) {
        for (unsigned i = 0; i < 2; i++)
            posted += post(i * 8, 0, 2) == 0;
        vq_kick(&vq);
        complete_both();
        for (unsigned n; (n = vq_take_batch(&vq, done, 4)) > 0;)
            good += n;
    }
    assert_true(fake.fault_told && vq.broken);
    assert_int_equal(good, after + (lies[lie].fault == FAKE_COMPLETED_TWICE));
    assert_int_equal(vq_posted_count(&vq), posted - good);
    assert_int_equal(net_env_errors(), 1);
    assert_true(net_env_logged(lies[lie].says));
    assert_non_null(strstr(vq.broken_why, lies[lie].says));
    complete(4);
    assert_int_equal(post_in(0), -EPROTO);
    assert_int_equal(vq_take(&vq, done), -EPROTO);
    assert_false(vq_pending(&vq));
    assert_int_equal(net_env_errors(), 1);
    close_queue();
}

static void every_lie_breaks_the_queue_once_and_for_good(void **state)
{
    (void)state;
    for (unsigned lie = 0; lie < ARRAY_COUNT(lies); lie++)
        for (unsigned f = 0; f < 2; f++)
            for (unsigned after = 0; after < 12; after++)
                run_lie(lie, feature_sets[f], after);
}

static void a_length_for_a_chain_that_is_only_read_means_nothing(void **state)
{
    (void)state;
    struct fake_chain c;
    struct vq_done done;

    open_queue(PACKED, 4, 2);
    post(0, 2, 0);
    fake_pop(&fake, 0, &c);
    fake_push(&fake, 0, c.head, 12345);
    assert_int_equal(vq_take(&vq, &done), 0);
    assert_int_equal(done.len, 0);
    close_queue();
}

static void a_ring_overwritten_with_ones_is_a_lie_or_nothing(void **state)
{
    (void)state;
    for (unsigned start = 0; start < 8; start++) {
        struct vq_done done;

        open_queue(feature_sets[1], 4, 2);
        pass(start);
        post(0, 1, 1);
        post(8, 1, 1);
        fake.fault = FAKE_DESC_REWRITTEN;
        complete(1);
        assert_true(vq_take(&vq, &done) < 0);
        assert_true(vq_irq_enable(&vq, 1) == false);
        check_invariant();
        close_queue();
    }
}

static void a_lie_seen_when_going_to_sleep_is_not_slept_on(void **state)
{
    (void)state;
    for (unsigned id = 1; id < 9; id += 7) {
        struct vq_done done;

        open_queue(feature_sets[1], 4, 1);
        post_in(0);
        vq.ring.desc[0].id.raw = (uint16_t)id;
        vq.ring.desc[0].flags.raw = VRING_PACKED_AVAIL | VRING_PACKED_USED;
        assert_true(vq_irq_enable(&vq, 1));
        assert_int_equal(vq_take(&vq, &done), -EPROTO);
        close_queue();
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_posted_buffer_comes_back_with_its_cookie_and_length),
        cmocka_unit_test(every_size_fills_to_the_last_slot_on_every_lap),
        cmocka_unit_test(a_hundred_thousand_chains_pass_rings_of_every_size),
        cmocka_unit_test(a_chain_goes_on_at_the_start_of_the_ring),
        cmocka_unit_test(completions_may_come_in_any_order),
        cmocka_unit_test(ids_are_below_the_size_and_no_two_alike),
        cmocka_unit_test(a_batch_of_pieces_shows_as_a_whole),
        cmocka_unit_test(a_size_may_be_lowered_to_any_number),
        cmocka_unit_test(a_queue_opened_again_starts_its_first_lap),
        cmocka_unit_test(an_abandoned_queue_takes_and_gives_nothing),
        cmocka_unit_test(a_device_that_wants_no_kick_gets_none),
        cmocka_unit_test(the_event_is_passed_by_range_on_every_lap),
        cmocka_unit_test(words_that_make_no_sense_mean_yes),
        cmocka_unit_test(a_kick_that_both_sides_missed_is_made_up_for),
        cmocka_unit_test(a_kick_forgotten_for_many_rounds_is_made_up_for),
        cmocka_unit_test(disabled_interrupts_stay_away_and_enabled_ones_come),
        cmocka_unit_test(interrupts_come_on_every_lap),
        cmocka_unit_test(an_interrupt_can_wait_for_several_buffers),
        cmocka_unit_test(no_interrupt_is_lost_with_chains_of_unlike_lengths),
        cmocka_unit_test(every_lie_breaks_the_queue_once_and_for_good),
        cmocka_unit_test(a_length_for_a_chain_that_is_only_read_means_nothing),
        cmocka_unit_test(a_ring_overwritten_with_ones_is_a_lie_or_nothing),
        cmocka_unit_test(a_lie_seen_when_going_to_sleep_is_not_slept_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
