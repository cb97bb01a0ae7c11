/* The split virtqueue against a device that obeys, and one that lies. virtio 1.2 §2.7. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/virtio/virtqueue.h"
#include "drivers/virtio_net/spec.h"
#include "tests/fake/fake_vdev.h"
#include "tests/host/support/net_env.h"

enum { PAGES = 2048 };
#define BIT(n) (1ull << (n))
static const uint64_t feature_sets[] = {
    0,
    BIT(VNET_F_EVENT_IDX),
    BIT(VNET_F_INDIRECT_DESC),
    BIT(VNET_F_EVENT_IDX) | BIT(VNET_F_INDIRECT_DESC),
};

static struct fake_vdev fake;
static struct virtqueue vq;
static char buffers[32768]; /* one byte each: cookies and addresses */

/* A queue of `size` on a started device. */
static void open_queue(uint64_t features, uint16_t size, bool legacy, uint16_t chain_max)
{
    net_env_init(PAGES);
    fake_vdev_init(&fake, features, size, legacy);
    fake.dev.accepted = fake.features = features;
    assert_int_equal(vq_open(&vq, &fake.dev, 0, 0, chain_max, VIRTIO_NO_VECTOR), 0);
    fake.status = 0x0f; /* DRIVER_OK and what comes before it */
}

static void ignore_cookie(void *arg, void *cookie)
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
    vq_close(&vq, ignore_cookie, &dropped);
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

static int post_out(unsigned first, unsigned count)
{
    struct vq_seg segs[64];

    for (unsigned i = 0; i < count; i++)
        segs[i] = (struct vq_seg){(uintptr_t)&buffers[first + i], 1};
    return vq_post(&vq, segs, count, 0, &buffers[first]);
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

/* ---- the ordinary way -------------------------------------------------------------------- */

static void a_posted_buffer_comes_back_with_its_cookie_and_length(void **state)
{
    (void)state;
    open_queue(0, 8, false, 1);
    struct vq_done done;

    assert_int_equal(vq_take(&vq, &done), -EAGAIN);
    assert_int_equal(post_in(3), 0);
    assert_false(vq_pending(&vq));
    complete(1);
    assert_true(vq_pending(&vq));
    assert_int_equal(vq_take(&vq, &done), 0);
    assert_ptr_equal(done.cookie, &buffers[3]);
    assert_int_equal(done.len, 1);
    assert_int_equal(vq_take(&vq, &done), -EAGAIN);
    check_invariant();
    close_queue();
}

static void every_size_and_layout_fills_to_the_last_descriptor(void **state)
{
    (void)state;
    for (unsigned legacy = 0; legacy < 2; legacy++)
        for (uint32_t size = 1; size <= 32768; size *= 2) {
            open_queue(0, (uint16_t)size, legacy, 1);
            struct vq_done done;

            assert_int_equal(vq.size, size);
            for (unsigned round = 0; round < 3; round++) {
                for (unsigned i = 0; i < size; i++)
                    assert_int_equal(post_in(i), 0);
                assert_int_equal(post_in(0), -EAGAIN);
                assert_int_equal(vq_posted_count(&vq), size);
                assert_int_equal(complete(size), size);
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

static void two_hundred_thousand_buffers_pass_a_ring(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 4; f++) {
        open_queue(feature_sets[f], 16, false, 4);
        struct vq_done done;
        unsigned posted = 0, taken = 0, seed = 7;

        while (taken < 200000) {
            seed = seed * 1103515245 + 12345;
            const unsigned burst = 1 + (seed >> 16) % 9;
            for (unsigned i = 0; i < burst && post_out((posted % 1000) * 4, 1 + posted % 4) == 0;
                 i++)
                posted++;
            vq_kick(&vq);
            complete(1 + (seed >> 20) % 8);
            while (vq_take(&vq, &done) == 0) {
                assert_ptr_equal(done.cookie, &buffers[(taken % 1000) * 4]);
                taken++;
            }
            assert_int_equal(vq_posted_count(&vq), posted - taken);
        }
        check_invariant();
        assert_true(vq.kicks > 0);
        close_queue();
    }
}

static void completions_may_come_in_any_order(void **state)
{
    (void)state;
    open_queue(0, 8, false, 2);
    struct fake_chain c[4];
    struct vq_done done;

    for (unsigned i = 0; i < 4; i++)
        assert_int_equal(post_out(i * 2, 2), 0);
    assert_int_equal(post_out(0, 1), -EAGAIN);
    for (unsigned i = 0; i < 4; i++)
        assert_true(fake_pop(&fake, 0, &c[i]));
    static const unsigned order[4] = {2, 0, 3, 1};
    for (unsigned i = 0; i < 4; i++) {
        fake_push(&fake, 0, c[order[i]].head, 0);
        assert_int_equal(vq_take(&vq, &done), 0);
        assert_ptr_equal(done.cookie, &buffers[order[i] * 2]);
        check_invariant();
    }
    assert_int_equal(vq_room(&vq, 2), 4);
    close_queue();
}

static void readable_segments_go_before_writable_ones(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 4; f++) {
        open_queue(feature_sets[f], 8, false, 8);
        struct fake_chain c;
        const struct vq_seg segs[3] = {
            {(uintptr_t)buffers, 2}, {(uintptr_t)buffers + 2, 3}, {(uintptr_t)buffers + 5, 4}};
        struct vq_done done;

        for (unsigned i = 0; i < 2; i++) { /* roomy, then narrow: in the ring, then in a table */
            assert_int_equal(vq_post(&vq, segs, 2, 1, buffers), 0);
            assert_true(fake_pop(&fake, 0, &c));
            assert_int_equal(c.count, 3);
            assert_int_equal(c.out_len, 5);
            assert_int_equal(c.in_len, 4);
            fake_push(&fake, 0, c.head, 4);
        }
        assert_int_equal(vq_take(&vq, &done), 0);
        assert_int_equal(done.len, 4);
        close_queue();
    }
}

static void a_narrow_ring_holds_long_chains_in_tables(void **state)
{
    (void)state;
    open_queue(BIT(VNET_F_INDIRECT_DESC), 16, false, 40);
    struct fake_chain c;
    unsigned posted = 0, tables = 0;

    assert_int_equal(vq.indirect_max, VQ_INDIRECT_MAX);
    assert_int_equal(vq.chain_max, 16); /* never longer than the queue: §2.7.5.3.1 */
    assert_int_equal(vq_room(&vq, 8), 16);
    while (post_out(posted * 8, 8) == 0)
        posted++;
    assert_int_equal(posted, 16);
    while (fake_pop(&fake, 0, &c)) {
        assert_int_equal(c.count, 8);
        for (unsigned i = 0; i < 8; i++)
            assert_int_equal((uintptr_t)c.iov[i].base - (uintptr_t)buffers,
                             (size_t)(c.iov[0].base - (uint8_t *)buffers) + i);
        tables += c.indirect;
    }
    assert_true(tables >= 15);
    check_invariant();
    close_queue();
}

static void a_read_only_chain_reports_no_length(void **state)
{
    (void)state;
    open_queue(0, 4, false, 2);
    struct fake_chain c;
    struct vq_done done;

    post_out(0, 2);
    fake_pop(&fake, 0, &c);
    fake_push(&fake, 0, c.head, 4711);
    assert_int_equal(vq_take(&vq, &done), 0);
    assert_int_equal(done.len, 0);
    close_queue();
}

/* ---- opening ----------------------------------------------------------------------------- */

static void a_modern_queue_can_be_lowered_a_legacy_one_not(void **state)
{
    (void)state;
    net_env_init(PAGES);
    fake_vdev_init(&fake, 0, 1024, false);
    assert_int_equal(vq_open(&vq, &fake.dev, 0, 300, 1, 5), 0);
    assert_int_equal(vq.size, 256);
    assert_int_equal(fake.queue[0].size, 256);
    assert_int_equal(fake.queue[0].vector, 5);
    close_queue();
    net_env_init(PAGES);
    fake_vdev_init(&fake, 0, 1024, true);
    assert_int_equal(vq_open(&vq, &fake.dev, 0, 256, 1, 5), 0);
    assert_int_equal(vq.size, 1024);
    close_queue();
}

static void little_memory_halves_a_modern_queue(void **state)
{
    (void)state;
    net_env_init(64);
    fake_vdev_init(&fake, 0, 32768, false);
    assert_int_equal(vq_open(&vq, &fake.dev, 0, 0, 1, 0), 0);
    assert_true(vq.size >= 1024 && vq.size < 32768);
    close_queue();
    net_env_init(64);
    fake_vdev_init(&fake, 0, 32768, true);
    assert_int_equal(vq_open(&vq, &fake.dev, 0, 0, 1, 0), -ENOMEM);
    assert_true(net_env_clean());
}

static void an_impossible_queue_is_refused_with_nothing_held(void **state)
{
    (void)state;
    static const struct {
        enum fake_fault fault;
        int err;
    } cases[] = {{FAKE_QUEUE_SIZE_ZERO, -ENOENT},
                 {FAKE_QUEUE_SIZE_ODD, -EPROTO},
                 {FAKE_QUEUE_SIZE_HUGE, -EPROTO},
                 {FAKE_QUEUE_REFUSED, -EIO}};

    for (unsigned i = 0; i < ARRAY_COUNT(cases); i++) {
        net_env_init(PAGES);
        fake_vdev_init(&fake, 0, 256, false);
        fake.fault = cases[i].fault;
        assert_int_equal(vq_open(&vq, &fake.dev, 0, 0, 1, 0), cases[i].err);
        vq_close(&vq, NULL, NULL); /* does nothing */
        assert_true(net_env_clean());
    }
}

/* ---- notifications ----------------------------------------------------------------------- */

static void a_device_that_wants_no_kick_gets_none(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        open_queue(feature_sets[f], 8, false, 1);
        fake_want_kicks(&fake, 0, false);
        post_in(0);
        vq_kick(&vq);
        assert_int_equal(fake.queue[0].kicks, 0);
        assert_int_equal(vq.kicks_saved, 1);
        complete(1);
        fake_want_kicks(&fake, 0, true);
        vq_kick(&vq); /* nothing new */
        assert_int_equal(fake.queue[0].kicks, 0);
        post_in(1);
        post_in(2);
        vq_kick(&vq); /* one for both */
        assert_int_equal(fake.queue[0].kicks, 1);
        close_queue();
    }
}

/*
 * The device goes to sleep on an index that it read too early, while we decided by a wish that we read too early: what
 * TCG makes of two fences that it leaves out.
 */
static void a_kick_that_both_sides_missed_is_made_up_for_once(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        open_queue(feature_sets[f], 8, false, 1);
        fake_want_kicks(&fake, 0, false);
        post_in(0);
        vq_kick(&vq);
        fake_want_kicks(&fake, 0, true);
        assert_int_equal(fake.queue[0].kicks, 0);
        vq_kick_overdue(&vq);
        vq_kick_overdue(&vq);
        assert_int_equal(fake.queue[0].kicks, 1);
        assert_int_equal(vq.kicks_overdue, 1);
        close_queue();
    }
}

static void no_kick_is_overdue_while_the_device_works_or_when_all_is_done(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        open_queue(feature_sets[f], 8, false, 1);
        vq_kick_overdue(&vq); /* nothing was ever posted */
        fake_want_kicks(&fake, 0, false);
        post_in(0);
        vq_kick(&vq);
        vq_kick_overdue(&vq); /* it said that it looks by itself */
        complete(1);
        fake_want_kicks(&fake, 0, true);
        vq_kick_overdue(&vq); /* and it has */
        assert_int_equal(fake.queue[0].kicks, 0);
        close_queue();
    }
}

/* Wherever the event lies around the posted range, on every side of the wrap: kick if and only if passed. */
static void the_event_is_passed_by_range_across_the_wrap(void **state)
{
    (void)state;
    open_queue(BIT(VNET_F_EVENT_IDX), 16, false, 1);
    le16 *event = (le16 *)(void *)&fake.queue[0].used->ring[16];
    struct vq_done done;

    fake.queue[0].no_notify = true; /* the test sets the event */
    for (unsigned start = 0; start < 65536 + 40; start++) {
        const unsigned batch = 1 + start % 5;
        const uint16_t from = vq.avail_idx;
        const bool near_wrap = (uint16_t)(from + 20) < 40;
        const int off = near_wrap ? (int)(start % 9) - 3 : (int)batch; /* far ahead: not passed */

        event->raw = (uint16_t)(from + off);
        for (unsigned i = 0; i < batch; i++)
            assert_int_equal(post_in(i), 0);
        const unsigned before = fake.queue[0].kicks;
        vq_kick(&vq);
        assert_int_equal(fake.queue[0].kicks - before, off >= 0 && off < (int)batch);
        complete(batch);
        while (vq_take(&vq, &done) == 0)
            ;
        start += batch - 1;
    }
    close_queue();
}

static void a_kick_forgotten_for_many_rounds_is_made_up_for(void **state)
{
    (void)state;
    open_queue(0, 64, false, 1);
    struct vq_done done;

    for (unsigned i = 0; i < 70000; i++) {
        assert_int_equal(post_in(0), 0);
        complete(1);
        assert_int_equal(vq_take(&vq, &done), 0);
    }
    assert_true(fake.queue[0].kicks >= 1);
    assert_true((uint16_t)(vq.avail_idx - vq.kicked_idx) <= 0x4000);
    close_queue();
}

static void disabled_interrupts_stay_away_and_enabled_ones_come(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        open_queue(feature_sets[f], 8, false, 1);
        struct vq_done done;

        vq_irq_disable(&vq);
        for (unsigned i = 0; i < 5; i++)
            post_in(i);
        complete(2);
        assert_int_equal(fake.queue[0].irqs, 0);
        assert_true(vq_irq_enable(&vq, 1)); /* two are there already */
        while (vq_take(&vq, &done) == 0)
            ;
        assert_false(vq_irq_enable(&vq, 1));
        complete(1);
        assert_int_equal(fake.queue[0].irqs, 1);
        close_queue();
    }
}

static void an_interrupt_can_wait_for_several_buffers(void **state)
{
    (void)state;
    open_queue(BIT(VNET_F_EVENT_IDX), 8, false, 1);

    for (unsigned i = 0; i < 6; i++)
        post_in(i);
    assert_false(vq_irq_enable(&vq, 4));
    complete(3);
    assert_int_equal(fake.queue[0].irqs, 0);
    complete(1);
    assert_int_equal(fake.queue[0].irqs, 1);
    complete(2);
    assert_int_equal(fake.queue[0].irqs, 1);
    assert_true(vq_irq_enable(&vq, 6));
    close_queue();
}

static void an_interrupt_never_waits_for_more_than_is_posted(void **state)
{
    (void)state;
    open_queue(BIT(VNET_F_EVENT_IDX), 8, false, 1);
    post_in(0);
    post_in(1);
    assert_false(vq_irq_enable(&vq, 1000));
    complete(2);
    assert_int_equal(fake.queue[0].irqs, 1);
    close_queue();
}

static void interrupts_work_on_both_sides_of_the_wrap(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        open_queue(feature_sets[f], 4, false, 1);
        struct vq_done done;

        for (unsigned i = 0; i < 66000; i++) {
            post_in(0);
            vq_kick(&vq);
            assert_false(vq_irq_enable(&vq, 1));
            const unsigned before = fake.queue[0].irqs;
            complete(1);
            assert_int_equal(fake.queue[0].irqs, before + 1);
            assert_int_equal(vq_take(&vq, &done), 0);
            vq_irq_disable(&vq);
        }
        close_queue();
    }
}

/* ---- lies -------------------------------------------------------------------------------- */

static const struct {
    enum fake_fault fault;
    const char *name, *why;
} lies[] = {
    {FAKE_USED_ID_OUT_OF_RANGE, "id out of range", "used id out of range"},
    {FAKE_USED_ID_NOT_POSTED, "id not posted", "used id that is not posted"},
    {FAKE_USED_ID_NOT_A_HEAD, "id not a head", "used id that is not posted"},
    {FAKE_COMPLETED_TWICE, "completed twice", "used id that is not posted"},
    {FAKE_LEN_PAST_CHAIN, "length past the chain", "used length beyond the buffer"},
    {FAKE_LEN_ALL_ONES, "length all ones", "used length beyond the buffer"},
    {FAKE_USED_IDX_JUMPS, "index jumps", "used index beyond what is posted"},
    {FAKE_USED_IDX_JUMPS_BY_1, "index jumps by one", "used index beyond what is posted"},
    {FAKE_USED_IDX_BACKWARDS, "index runs backwards", "used index beyond what is posted"},
};

/* Post and take while the device lies at the n-th completion; the queue must break and refuse. */
static void run_lie(unsigned lie, uint64_t features, unsigned after)
{
    struct vq_seg in2[2] = {{(uintptr_t)buffers, 16}, {(uintptr_t)buffers + 16, 16}};
    struct vq_done done;
    int err = 0;

    open_queue(features, 8, false, 2);
    fake.fault = lies[lie].fault;
    fake.fault_after = after;
    for (unsigned i = 0; i < 40 && err != -EPROTO; i++) {
        while (vq_post(&vq, in2, 0, 2, buffers) == 0 && vq_posted_count(&vq) < 3)
            ;
        complete(1);
        while ((err = vq_take(&vq, &done)) == 0)
            ;
    }
    if (err != -EPROTO || !fake.fault_told)
        fail_msg("%s was believed", lies[lie].name);
    assert_true(vq.broken);
    assert_string_equal(vq.broken_why, lies[lie].why);
    assert_int_equal(net_env_errors(), 1);
    assert_true(net_env_logged(lies[lie].why));

    /* Nothing goes any more, nothing is read any more. */
    const unsigned kicks = fake.queue[0].kicks;
    assert_int_equal(vq_take(&vq, &done), -EPROTO);
    assert_int_equal(vq_post(&vq, in2, 0, 2, buffers), -EPROTO);
    assert_int_equal(vq_post_in(&vq, 4096, 1, buffers), -EPROTO);
    assert_int_equal(vq_room(&vq, 1), 0);
    assert_false(vq_pending(&vq));
    assert_false(vq_irq_enable(&vq, 1));
    vq_irq_disable(&vq);
    vq_kick(&vq);
    assert_int_equal(fake.queue[0].kicks, kicks);
    assert_int_equal(net_env_errors(), 1);
    close_queue();
}

static void every_lie_breaks_the_queue_once_and_for_good(void **state)
{
    (void)state;
    for (unsigned lie = 0; lie < ARRAY_COUNT(lies); lie++)
        for (unsigned f = 0; f < 2; f++) /* lies about tables have no second descriptor */
            for (unsigned after = 0; after < 12; after += 5)
                run_lie(lie, feature_sets[f], after);
}

static void rewritten_descriptors_change_nothing(void **state)
{
    (void)state;
    open_queue(0, 8, false, 4);
    struct fake_chain c[2];
    struct vq_done done;

    post_out(0, 3);
    post_out(8, 4);
    fake_pop(&fake, 0, &c[0]);
    fake_pop(&fake, 0, &c[1]);
    fake.fault = FAKE_DESC_REWRITTEN;
    fake_push(&fake, 0, c[0].head, 0);
    memset(vq.avail->ring, 0xff, 2u * vq.size); /* the other table as well */
    fake_push(&fake, 0, c[1].head, 0);
    assert_true(fake.fault_told);
    assert_int_equal(vq_take(&vq, &done), 0);
    assert_ptr_equal(done.cookie, &buffers[0]);
    assert_int_equal(vq_take(&vq, &done), 0);
    assert_ptr_equal(done.cookie, &buffers[8]);
    check_invariant();
    assert_int_equal(post_out(16, 4), 0);
    assert_int_equal(complete(1), 1);
    assert_int_equal(vq_take(&vq, &done), 0);
    close_queue();
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_posted_buffer_comes_back_with_its_cookie_and_length),
        cmocka_unit_test(every_size_and_layout_fills_to_the_last_descriptor),
        cmocka_unit_test(two_hundred_thousand_buffers_pass_a_ring),
        cmocka_unit_test(completions_may_come_in_any_order),
        cmocka_unit_test(readable_segments_go_before_writable_ones),
        cmocka_unit_test(a_narrow_ring_holds_long_chains_in_tables),
        cmocka_unit_test(a_read_only_chain_reports_no_length),
        cmocka_unit_test(a_modern_queue_can_be_lowered_a_legacy_one_not),
        cmocka_unit_test(little_memory_halves_a_modern_queue),
        cmocka_unit_test(an_impossible_queue_is_refused_with_nothing_held),
        cmocka_unit_test(a_device_that_wants_no_kick_gets_none),
        cmocka_unit_test(a_kick_that_both_sides_missed_is_made_up_for_once),
        cmocka_unit_test(no_kick_is_overdue_while_the_device_works_or_when_all_is_done),
        cmocka_unit_test(the_event_is_passed_by_range_across_the_wrap),
        cmocka_unit_test(a_kick_forgotten_for_many_rounds_is_made_up_for),
        cmocka_unit_test(disabled_interrupts_stay_away_and_enabled_ones_come),
        cmocka_unit_test(an_interrupt_can_wait_for_several_buffers),
        cmocka_unit_test(an_interrupt_never_waits_for_more_than_is_posted),
        cmocka_unit_test(interrupts_work_on_both_sides_of_the_wrap),
        cmocka_unit_test(every_lie_breaks_the_queue_once_and_for_good),
        cmocka_unit_test(rewritten_descriptors_change_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
