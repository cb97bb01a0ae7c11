/*
 * Who sees what when: the order of the virtqueue's accesses, and the device acting between any two of them.
 *
 * The order is checked twice. Once as text: the trace of a call must hold the store, the barrier and the load
 * of the rules A–D in virtqueue.c, in that order. And once by exhaustion: the device does its part of the
 * notification protocol at every point of the driver's, and nobody may be left asleep with work waiting.
 * virtio 1.2 §2.7.7, §2.7.10, §2.7.13.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/virtio/virtqueue.h"
#include "drivers/virtio_net/spec.h"
#include "port/shared.h"
#include "tests/fake/fake_vdev.h"
#include "tests/host/support/net_env.h"

#define EVENT (1ull << VNET_F_EVENT_IDX)

enum { SIZE = 8, TRACE_MAX = 64 };

static struct fake_vdev fake;
static struct virtqueue vq;
static char buffers[SIZE];

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

static void open_queue(uint64_t features)
{
    net_env_init(256);
    fake_vdev_init(&fake, features, SIZE, false);
    fake.dev.accepted = fake.features = features;
    assert_int_equal(vq_open(&vq, &fake.dev, 0, 0, 1, VIRTIO_NO_VECTOR), 0);
    fake.status = 0x0f;
    trace_len = 0;
}

static void close_queue(void)
{
    shared_hook = NULL;
    vq_close(&vq, NULL, NULL);
    if (fake.violations)
        fail_msg("driver: %s", fake.violation);
    assert_true(net_env_clean());
}

static void post(unsigned i)
{
    assert_int_equal(vq_post_in(&vq, (uintptr_t)&buffers[i], 1, &buffers[i]), 0);
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

static const le16 *used_event(void)
{
    return &vq.avail->ring[SIZE];
}

static const le16 *avail_event(void)
{
    return (const le16 *)(const void *)&vq.used->ring[SIZE];
}

/* ---- the text ---------------------------------------------------------------------------- */

/* At the moment the index is about to be stored, everything that it exposes must stand. */
static void look_at_publishing(enum shared_op op, const void *addr, uint32_t value)
{
    if (op != SHARED_STORE_RELEASE || addr != &vq.avail->idx)
        return;
    const uint16_t head = vq.avail->ring[(value - 1) % SIZE].raw;
    const struct vring_desc *d = &vq.desc[head];

    assert_int_equal(vq.avail->idx.raw, (uint16_t)(value - 1)); /* not yet visible */
    assert_true(head < SIZE);
    assert_true(d->addr.raw >= (uintptr_t)buffers && d->addr.raw < (uintptr_t)buffers + SIZE);
    assert_int_equal(d->len.raw, 1);
    assert_int_equal(d->flags.raw, VRING_DESC_WRITE);
    trace_len++;
}

static void a_descriptor_stands_before_the_index_that_exposes_it(void **state)
{
    (void)state;
    struct vq_done done;
    struct fake_chain c;

    open_queue(0);
    memset(vq.avail->ring, 0xff, sizeof(le16) * SIZE);
    shared_hook = look_at_publishing;
    for (unsigned n = 0; n < 100; n++) {
        post(n % SIZE);
        fake_pop(&fake, 0, &c);
        memset(vq.desc, 0xff, sizeof(*vq.desc) * SIZE); /* nothing old may pass for new */
        vq.avail->ring[(vq.avail_idx) % SIZE].raw = 0xffff;
        fake_push(&fake, 0, c.head, 1);
        assert_int_equal(vq_take(&vq, &done), 0);
    }
    assert_int_equal(trace_len, 100); /* published by a release store each time: rule A */
    close_queue();
}

static void the_index_is_published_before_the_device_is_asked_for_its_wish(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        open_queue(f ? EVENT : 0);
        shared_hook = record;
        post(0);
        vq_kick(&vq);
        const unsigned store = at(0, SHARED_STORE_RELEASE, &vq.avail->idx);
        const unsigned barrier = at(store, SHARED_BARRIER, NULL);
        at(barrier, SHARED_LOAD, f ? (const void *)avail_event() : &vq.used->flags);
        close_queue();
    }
}

static void the_used_index_is_acquired_before_its_entries(void **state)
{
    (void)state;
    struct vq_done done;
    struct fake_chain c;

    open_queue(0);
    post(0);
    fake_pop(&fake, 0, &c);
    fake_push(&fake, 0, c.head, 1);
    shared_hook = record;
    assert_int_equal(vq_take(&vq, &done), 0);
    const unsigned index = at(0, SHARED_LOAD_ACQUIRE, &vq.used->idx);
    const unsigned id = at(index, SHARED_LOAD, &vq.used->ring[0].id);
    const unsigned len = at(index, SHARED_LOAD, &vq.used->ring[0].len);
    assert_true(id > index && len > index);
    assert_int_equal(trace_len,
                     3); /* and each is read once: nothing can change between two reads */
    close_queue();
}

static void the_wish_for_an_interrupt_is_visible_before_the_last_look(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        open_queue(f ? EVENT : 0);
        shared_hook = record;
        vq_irq_enable(&vq, 1);
        const unsigned store =
            at(0, SHARED_STORE, f ? (const void *)used_event() : &vq.avail->flags);
        const unsigned barrier = at(store, SHARED_BARRIER, NULL);
        at(barrier, SHARED_LOAD, &vq.used->idx);
        close_queue();
    }
}

static void what_we_wrote_is_never_read_back(void **state)
{
    (void)state;
    struct vq_done done;
    struct fake_chain c;

    open_queue(EVENT);
    shared_hook = record;
    for (unsigned n = 0; n < 3; n++) {
        post(n);
        vq_kick(&vq);
        fake_pop(&fake, 0, &c);
        fake_push(&fake, 0, c.head, 1);
        vq_irq_enable(&vq, 1);
        assert_int_equal(vq_take(&vq, &done), 0);
        vq_irq_disable(&vq);
    }
    const uintptr_t ours = (uintptr_t)vq.desc, theirs = (uintptr_t)vq.used;
    for (unsigned i = 0; i < trace_len && i < TRACE_MAX; i++)
        if (trace[i].op == SHARED_LOAD || trace[i].op == SHARED_LOAD_ACQUIRE)
            assert_false((uintptr_t)trace[i].addr >= ours && (uintptr_t)trace[i].addr < theirs);
    close_queue();
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

/* The device completes one buffer, deciding about an interrupt as §2.7.7.2 says. */
static void device_completes(void)
{
    struct fake_chain c;

    shared_hook = NULL;
    if (fake_pop(&fake, 0, &c))
        fake_push(&fake, 0, c.head, 1);
    shared_hook = act_in_turn;
}

static void no_interrupt_is_lost_wherever_the_device_completes(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++) {
        bool acted = true;
        for (unsigned point = 0; acted; point++) {
            open_queue(f ? EVENT : 0);
            vq_irq_disable(&vq);
            post(0);
            post(1);
            act = device_completes;
            act_at = point;
            step = 0;
            shared_hook = act_in_turn;
            const bool look_again = vq_irq_enable(&vq, 1);
            shared_hook = NULL;
            acted = step > point;
            if (!acted)
                device_completes(); /* after the call: it must interrupt */
            if (!look_again && !fake.queue[0].irqs)
                fail_msg("%s: completed at step %u: neither seen nor interrupted",
                         f ? "EVENT_IDX" : "flags", point);
            close_queue();
        }
    }
}

static bool device_sleeps;

/* The device runs out of buffers and goes to sleep: says so, then looks once more (§2.7.10.2). */
static void device_falls_asleep(void)
{
    struct fake_chain c;

    shared_hook = NULL;
    while (fake_pop(&fake, 0, &c))
        fake_push(&fake, 0, c.head, 1);
    fake_want_kicks(&fake, 0, true);
    device_sleeps = fake_avail_count(&fake, 0) == 0;
    shared_hook = act_in_turn;
}

static void no_kick_is_lost_wherever_the_device_falls_asleep(void **state)
{
    (void)state;
    for (unsigned f = 0; f < 2; f++)
        for (unsigned batch = 1; batch <= 3; batch++) {
            bool acted = true;
            for (unsigned point = 0; acted; point++) {
                open_queue(f ? EVENT : 0);
                fake_want_kicks(&fake, 0, false); /* awake: polling */
                device_sleeps = false;
                act = device_falls_asleep;
                act_at = point;
                step = 0;
                shared_hook = act_in_turn;
                for (unsigned i = 0; i < batch; i++)
                    post(i);
                vq_kick(&vq);
                shared_hook = NULL;
                acted = step > point;
                if (acted && device_sleeps && fake_avail_count(&fake, 0) && !fake.queue[0].kicks)
                    fail_msg("%s: asleep from step %u on, and not kicked",
                             f ? "EVENT_IDX" : "flags", point);
                close_queue();
            }
        }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_descriptor_stands_before_the_index_that_exposes_it),
        cmocka_unit_test(the_index_is_published_before_the_device_is_asked_for_its_wish),
        cmocka_unit_test(the_used_index_is_acquired_before_its_entries),
        cmocka_unit_test(the_wish_for_an_interrupt_is_visible_before_the_last_look),
        cmocka_unit_test(what_we_wrote_is_never_read_back),
        cmocka_unit_test(no_interrupt_is_lost_wherever_the_device_completes),
        cmocka_unit_test(no_kick_is_lost_wherever_the_device_falls_asleep),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
