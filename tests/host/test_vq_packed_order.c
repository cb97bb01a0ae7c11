/*
 * Who sees what when in the packed ring: the order of the accesses, and the device acting between any two of them. As
 * test_vq_order.c for the split ring; the rules A–E are those of vq_packed.c. virtio 1.2 §2.8.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <cmocka.h>

#include "drivers/virtio/vq_packed.h"
#include "drivers/virtio_net/spec.h"
#include "port/shared.h"
#include "tests/fake/fake_vdev.h"
#include "tests/host/support/net_env.h"

#define BIT(n) (1ull << (n))
#define PACKED (BIT(VNET_F_VERSION_1) | BIT(VNET_F_RING_PACKED))
static const uint64_t feature_sets[2] = {PACKED, PACKED | BIT(VNET_F_EVENT_IDX)};

enum { TRACE_MAX = 16 };

static struct fake_vdev fake;
static struct virtqueue vq;
static char buffers[16]; /* one byte each: cookies and addresses */

static void open_queue(uint64_t features, uint16_t size, uint16_t chain_max)
{
    net_env_init(256);
    fake_vdev_init(&fake, features, size, false);
    fake.dev.accepted = fake.features = features;
    assert_int_equal(vq_open(&vq, &fake.dev, 0, 0, chain_max, VIRTIO_NO_VECTOR), 0);
    fake.status = 0x0f;
}

static void close_queue(void)
{
    shared_hook = NULL;
    vq_close(&vq, NULL, NULL);
    if (fake.violations)
        fail_msg("driver: %s", fake.violation);
    assert_true(net_env_clean());
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

/* Move both sides on by `count` slots. */
static void pass(unsigned count)
{
    struct vq_done done;

    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(post_in(0), 0);
        vq_kick(&vq);
        assert_int_equal(complete(1), 1);
        assert_int_equal(vq_take(&vq, &done), 0);
    }
}

/* ---- the text ---------------------------------------------------------------------------- */

static struct {
    enum shared_op op;
    const void *addr;
} trace[TRACE_MAX];
static unsigned trace_len;

static void record(enum shared_op op, const void *addr, uint32_t value)
{
    (void)value;
    if (trace_len < TRACE_MAX) {
        trace[trace_len].op = op;
        trace[trace_len].addr = addr;
    }
    trace_len++;
}

/* The place of (op, addr) in the trace, from `from` on; fails when it isn't there. */
static unsigned at(unsigned from, enum shared_op op, const void *addr)
{
    for (unsigned i = from; i < trace_len && i < TRACE_MAX; i++)
        if (trace[i].op == op && trace[i].addr == addr)
            return i;
    fail_msg("the trace lacks an access of kind %d from place %u on", (int)op, from);
    return 0;
}

/* When the head is about to become available, the rest of its chain must stand. */
static void look_at_publishing(enum shared_op op, const void *addr, uint32_t value)
{
    const struct vring_packed_desc *ring = vq.ring.desc;

    if (op != SHARED_STORE_RELEASE || addr != &ring[6].flags)
        return;
    trace_len++;
    assert_int_equal(ring[6].flags.raw, 0xabcd); /* not yet visible */
    assert_int_equal(value, VRING_PACKED_AVAIL | VRING_DESC_NEXT);
    assert_int_equal(ring[6].addr.raw, (uintptr_t)&buffers[8]);
    assert_int_equal(ring[0].addr.raw, (uintptr_t)&buffers[9]);
    assert_int_equal(ring[1].addr.raw, (uintptr_t)&buffers[10]);
    assert_int_equal(ring[0].flags.raw, VRING_PACKED_USED | VRING_DESC_NEXT); /* the next lap */
    assert_int_equal(ring[1].flags.raw, VRING_PACKED_USED | VRING_DESC_WRITE);
    assert_int_equal(ring[1].id.raw, 1);
    assert_int_equal(ring[6].id.raw, 1); /* QEMU 7.2 takes this one, against §2.8.6 */
}

static void a_chain_stands_before_its_head_becomes_available(void **state)
{
    (void)state;
    open_queue(PACKED, 7, 3);
    pass(5);
    post_in(0); /* its id is 0 */
    for (unsigned i = 0; i < 7; i++)
        vq.ring.desc[i].flags.raw = 0xabcd;
    trace_len = 0;
    shared_hook = look_at_publishing;
    assert_int_equal(post(8, 2, 1), 0);
    assert_int_equal(trace_len, 1); /* rule A */
    close_queue();
}

static void the_device_is_asked_behind_a_barrier_and_once(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        open_queue(feature_sets[f], 8, 1);
        trace_len = 0;
        shared_hook = record;
        post_in(0);
        vq_kick(&vq);
        const unsigned store = at(0, SHARED_STORE_RELEASE, &vq.ring.desc[0].flags);
        const unsigned barrier = at(store, SHARED_BARRIER, NULL);
        at(barrier, SHARED_LOAD, &vq.ring.device_event->both);
        assert_int_equal(trace_len, 3);
        close_queue();
    }
}

static void used_flags_are_acquired_before_what_they_vouch_for(void **state)
{
    (void)state;
    struct vq_done done;

    open_queue(PACKED, 8, 1);
    post_in(0);
    complete(1);
    trace_len = 0;
    shared_hook = record;
    assert_int_equal(vq_take(&vq, &done), 0);
    const unsigned flags = at(0, SHARED_LOAD_ACQUIRE, &vq.ring.desc[0].flags);
    at(flags, SHARED_LOAD, &vq.ring.desc[0].id);
    at(flags, SHARED_LOAD, &vq.ring.desc[0].len);
    assert_int_equal(trace_len, 3); /* each is read once */
    close_queue();
}

static void the_wish_for_an_interrupt_is_visible_before_the_last_look(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        open_queue(feature_sets[f], 8, 1);
        trace_len = 0;
        shared_hook = record;
        vq_irq_enable(&vq, 1);
        const void *flags = &vq.ring.driver_event->flags;
        const unsigned slot = f ? at(0, SHARED_STORE, &vq.ring.driver_event->off_wrap) : 0;
        const unsigned wish = at(slot, f ? SHARED_STORE_RELEASE : SHARED_STORE, flags); /* E */
        const unsigned barrier = at(wish, SHARED_BARRIER, NULL);
        at(barrier, SHARED_LOAD_ACQUIRE, &vq.ring.desc[0].flags);
        close_queue();
    }
}

/* ---- exhaustion -------------------------------------------------------------------------- */

static unsigned step, act_at;
static void (*act)(void);

static void act_in_turn(enum shared_op op, const void *addr, uint32_t value)
{
    (void)op;
    (void)addr;
    (void)value;
    if (step++ == act_at)
        act();
}

static void device_completes(void)
{
    shared_hook = NULL;
    complete(1);
    shared_hook = act_in_turn;
}

static void no_interrupt_is_lost_wherever_the_device_completes(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++)
        for (unsigned start = 0; start < 6; start++) {
            bool acted = true;
            for (unsigned point = 0; acted; point++) {
                open_queue(feature_sets[f], 3, 1);
                vq_irq_disable(&vq);
                pass(start);
                post_in(0);
                post_in(1);
                act = device_completes;
                act_at = point;
                step = 0;
                shared_hook = act_in_turn;
                const bool look_again = vq_irq_enable(&vq, 1);
                shared_hook = NULL;
                acted = step > point;
                if (!acted)
                    complete(1);
                if (!look_again && !fake.queue[0].irqs)
                    fail_msg("used at step %u: neither seen nor interrupted", point);
                close_queue();
            }
        }
}

static bool device_sleeps;

/* The device runs out of buffers and goes to sleep: says so, then looks once more. */
static void device_falls_asleep(void)
{
    shared_hook = NULL;
    complete(100);
    fake_want_kicks(&fake, 0, true);
    device_sleeps = fake_avail_count(&fake, 0) == 0;
    shared_hook = act_in_turn;
}

static void no_kick_is_lost_wherever_the_device_falls_asleep(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++)
        for (unsigned start = 0; start < 10; start++) {
            bool acted = true;
            for (unsigned point = 0; acted; point++) {
                open_queue(feature_sets[f], 5, 2);
                pass(start);
                const unsigned before = fake.queue[0].kicks;
                fake_want_kicks(&fake, 0, false); /* awake: polling */
                device_sleeps = false;
                act = device_falls_asleep;
                act_at = point;
                step = 0;
                shared_hook = act_in_turn;
                post(0, 1, 1);
                post(8, 1, 1);
                vq_kick(&vq);
                shared_hook = NULL;
                acted = step > point;
                if (acted && device_sleeps && fake_avail_count(&fake, 0) &&
                    fake.queue[0].kicks == before)
                    fail_msg("asleep from step %u on, and not kicked", point);
                close_queue();
            }
        }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_chain_stands_before_its_head_becomes_available),
        cmocka_unit_test(the_device_is_asked_behind_a_barrier_and_once),
        cmocka_unit_test(used_flags_are_acquired_before_what_they_vouch_for),
        cmocka_unit_test(the_wish_for_an_interrupt_is_visible_before_the_last_look),
        cmocka_unit_test(no_interrupt_is_lost_wherever_the_device_completes),
        cmocka_unit_test(no_kick_is_lost_wherever_the_device_falls_asleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
