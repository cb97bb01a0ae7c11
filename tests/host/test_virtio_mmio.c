/* Registers in memory, of both versions: found, set up, interrupting, lying. virtio 1.2 §4.2. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/virtio/mmio.h"
#include "drivers/virtio/spec.h"
#include "drivers/virtio/virtqueue.h"
#include "drivers/virtio_net/vnet.h"
#include "tests/fake/fake_mmio.h"
#include "tests/host/support/bus.h"
#include "tests/host/support/irq.h"
#include "tests/host/support/net_env.h"

#define BIT(n) (1ull << (n))

enum { PAGES = 4096, SIZE = 64, FRAME_BYTES = 200 };

static struct fake_mmio fakes[3];
static struct fake_mmio *const fake = &fakes[0];
static struct virtio_mmio vm;
static struct virtqueue vq[FAKE_QUEUES];
static struct netdev *nics[OPT_NICS_MAX];
static unsigned queue_events, config_events;

static const uint64_t net_features =
    VIRTIO_VERSION_1 | BIT(VNET_F_MAC) | BIT(VNET_F_STATUS) | BIT(VNET_F_MRG_RXBUF);

static void start_machine(void)
{
    net_env_init(PAGES);
    host_bus_reset();
    host_irq_reset();
    queue_events = config_events = 0;
}

static uint64_t features_of(uint32_t version)
{
    return version == 2 ? VIRTIO_VERSION_1 : BIT(5);
}

static struct virtio_mmio_place place_of(const struct fake_mmio *m)
{
    return (struct virtio_mmio_place){
        .base = m->base, .len = FAKE_MMIO_BYTES, .gsi = m->line, .has_irq = true};
}

static int open_fake(uint32_t version)
{
    start_machine();
    fake_mmio_init(fake, 0, version, features_of(version), SIZE);
    const struct virtio_mmio_place place = place_of(fake);
    return virtio_mmio_open(&vm, &place, VIRTIO_TYPE_NET);
}

static void negotiate(uint32_t version)
{
    assert_int_equal(open_fake(version), 0);
    assert_int_equal(virtio_negotiate(&vm.dev, UINT64_MAX, 0, NULL), 0);
}

static int open_queue(uint16_t idx, uint16_t max)
{
    return vq_open(&vq[idx], &vm.dev, idx, max, 1, VIRTIO_NO_VECTOR);
}

static void forget(void *arg, void *cookie)
{
    (void)arg;
    (void)cookie;
}

static void finish(void)
{
    if (vm.dev.transport)
        virtio_reset(&vm.dev);
    for (unsigned i = 0; i < FAKE_QUEUES; i++)
        vq_close(&vq[i], forget, NULL);
    for (unsigned i = 0; i < ARRAY_COUNT(fakes); i++) {
        if (fakes[i].vdev.violations)
            fail_msg("driver: %s", fakes[i].vdev.violation);
    }
    assert_true(net_env_clean());
    assert_int_equal(host_bus_strays(), 0);
    assert_int_equal(host_bus_misaligned(), 0);
    memset(fakes, 0, sizeof(fakes));
    vm = (struct virtio_mmio){0};
}

static void count_event(void *arg, bool config)
{
    (void)arg;
    config_events += config;
    queue_events += !config;
}

/* ---- finding ---- */

static void both_versions_are_opened(void **state)
{
    (void)state;
    negotiate(2);
    assert_string_equal(vm.dev.transport->name, "mmio");
    assert_false(vm.dev.transport->legacy);
    assert_int_equal(vm.dev.device_id, 1);
    assert_string_equal(vm.dev.where, "feb00000");
    assert_int_equal(fake->vdev.features, VIRTIO_VERSION_1);
    finish();
    negotiate(1);
    assert_string_equal(vm.dev.transport->name, "mmio legacy");
    assert_true(vm.dev.transport->legacy);
    assert_int_equal(fake->vdev.features, BIT(5));
    finish();
}

static void an_empty_place_and_another_device_are_skipped_silently(void **state)
{
    const uint32_t ids[] = {0, 2, 0x10001};
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++) {
        start_machine();
        fake_mmio_init(fake, 0, 2, features_of(2), SIZE);
        fake->device_id = ids[i];
        const struct virtio_mmio_place place = place_of(fake);
        assert_int_equal(virtio_mmio_open(&vm, &place, VIRTIO_TYPE_NET), -ENOENT);
        assert_int_equal(net_env_errors(), 0);
        vm.dev.transport = NULL;
        finish();
    }
}

static void what_is_no_virtio_device_is_refused_in_one_line(void **state)
{
    static const struct {
        enum fake_mmio_fault fault;
        uint32_t version;
    } cases[] = {{FAKE_MMIO_NO_MAGIC, 2}, {FAKE_MMIO_HONEST, 0}, {FAKE_MMIO_HONEST, 3}};
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        start_machine();
        fake_mmio_init(fake, 0, cases[i].version, features_of(2), SIZE);
        fake->fault = cases[i].fault;
        const struct virtio_mmio_place place = place_of(fake);
        assert_int_equal(virtio_mmio_open(&vm, &place, VIRTIO_TYPE_NET), -ENODEV);
        assert_int_equal(net_env_errors(), 1);
        vm.dev.transport = NULL;
        finish();
    }
}

static void a_place_that_is_too_small_odd_or_out_of_reach_is_refused(void **state)
{
    const struct virtio_mmio_place places[] = {
        {.base = FAKE_MMIO_BASE, .len = 255},     {.base = FAKE_MMIO_BASE, .len = 1ull << 32},
        {.base = FAKE_MMIO_BASE + 2, .len = 512}, {.base = 0, .len = 512},
        {.base = UINT64_MAX - 255, .len = 512},
    };
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(places); i++) {
        start_machine();
        assert_int_equal(virtio_mmio_open(&vm, &places[i], VIRTIO_TYPE_NET), -ENODEV);
        assert_int_equal(net_env_errors(), 1);
        finish();
    }
}

/* ---- queues and configuration ---- */

static void queues_of_any_offered_size_are_set_up(void **state)
{
    (void)state;
    for (uint32_t version = 1; version <= 2; version++) {
        negotiate(version);
        assert_int_equal(open_queue(0, 0), 0);
        assert_int_equal(open_queue(1, 16), 0);
        assert_int_equal(vq[0].size, SIZE);
        assert_int_equal(fake->vdev.queue[0].size, SIZE);
        assert_int_equal(fake->vdev.queue[1].size, vq[1].size);
        finish();
    }
}

static void a_queue_that_lies_is_refused(void **state)
{
    static const enum fake_mmio_fault faults[] = {FAKE_MMIO_QUEUE_BUSY, FAKE_MMIO_QUEUE_NOT_READY,
                                                  FAKE_MMIO_MAX_HUGE};
    static const enum fake_fault sizes[] = {FAKE_QUEUE_SIZE_ZERO, FAKE_QUEUE_SIZE_ODD,
                                            FAKE_QUEUE_SIZE_HUGE, FAKE_QUEUE_REFUSED};
    (void)state;
    for (uint32_t version = 1; version <= 2; version++) {
        for (size_t i = 0; i < ARRAY_COUNT(faults); i++) {
            negotiate(version);
            fake->fault = faults[i];
            assert_true(open_queue(0, 0) < 0);
            finish();
        }
        for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
            negotiate(version);
            fake->vdev.fault = sizes[i];
            assert_true(open_queue(0, 0) < 0);
            finish();
        }
    }
}

static void a_queue_larger_than_offered_is_not_set_up(void **state)
{
    const struct virtio_queue_mem mem = {4096, 8192, 12288, 2 * SIZE};
    (void)state;
    for (uint32_t version = 1; version <= 2; version++) {
        negotiate(version);
        assert_int_equal(vm.dev.transport->queue_setup(&vm.dev, 0, &mem, VIRTIO_NO_VECTOR), -EIO);
        finish();
    }
}

static void the_configuration_is_read_in_natural_widths(void **state)
{
    uint8_t mac[6], again[6];
    uint32_t word;
    (void)state;
    for (uint32_t version = 1; version <= 2; version++) {
        negotiate(version);
        fake->config_reads = 0;
        assert_int_equal(virtio_config_read(&vm.dev, 0, mac, 6), 0);
        assert_int_equal(fake->config_reads, version == 1 ? 12 : 6); /* legacy: twice */
        assert_int_equal(mac[0], 0x52);
        fake->config_reads = 0;
        assert_int_equal(virtio_config_read(&vm.dev, 4, &word, 4), 0);
        assert_int_equal(fake->config_reads, version == 1 ? 2 : 1);
        memcpy(again, mac, 6);
        assert_memory_equal(&word, again + 4, 2);
        assert_int_equal(virtio_config_read(&vm.dev, FAKE_MMIO_BYTES - 256 - 2, &word, 4), -ERANGE);
        finish();
    }
}

static void a_generation_that_never_settles_is_an_error(void **state)
{
    uint8_t mac[6];
    (void)state;
    negotiate(2);
    fake->vdev.fault = FAKE_CONFIG_NEVER_SETTLES;
    assert_int_equal(virtio_config_read(&vm.dev, 0, mac, 6), -EAGAIN);
    finish();
}

static void a_reset_that_never_ends_is_given_up(void **state)
{
    (void)state;
    assert_int_equal(open_fake(2), 0);
    fake->vdev.fault = FAKE_RESET_NEVER_ENDS;
    assert_int_equal(virtio_negotiate(&vm.dev, 0, 0, NULL), -ETIMEDOUT);
    fake->vdev.fault = FAKE_HONEST;
    finish();
}

static void a_device_that_is_gone_is_seen(void **state)
{
    (void)state;
    negotiate(2);
    fake->vdev.fault = FAKE_GONE;
    assert_int_equal(vm.dev.transport->get_status(&vm.dev), VIRTIO_S_GONE);
    assert_int_equal(virtio_reset(&vm.dev), -ENODEV);
    fake->vdev.fault = FAKE_HONEST;
    finish();
}

/* ---- interrupts ---- */

static int irqs(enum virtio_irqs kind)
{
    uint16_t vectors[2] = {1, 1};
    const int err = vm.dev.transport->irqs(&vm.dev, kind, count_event, NULL, 2, vectors);
    if (!err) {
        assert_int_equal(vectors[0], VIRTIO_NO_VECTOR);
        assert_int_equal(vectors[1], VIRTIO_NO_VECTOR);
    }
    return err;
}

static void there_is_one_line_and_no_vectors(void **state)
{
    (void)state;
    negotiate(2);
    assert_int_equal(irqs(VIRTIO_IRQ_PER_QUEUE), -ENOENT);
    assert_int_equal(irqs(VIRTIO_IRQ_TWO), -ENOENT);
    assert_int_equal(irqs(VIRTIO_IRQ_SHARED), -ENOENT);
    assert_int_equal(irqs(VIRTIO_IRQ_LINE), 0);
    assert_string_equal(vm.dev.irqs, "line");
    fake_mmio_config_interrupt(fake);
    assert_int_equal(config_events, 1);
    assert_int_equal(fake->interrupt_status, 0);
    assert_int_equal(irqs(VIRTIO_IRQ_NONE), 0);
    fake_mmio_config_interrupt(fake);
    assert_int_equal(config_events, 1);
    finish();
}

static void a_line_attached_once_is_not_attached_again(void **state)
{
    (void)state;
    negotiate(2);
    assert_int_equal(irqs(VIRTIO_IRQ_LINE), 0);
    assert_int_equal(irqs(VIRTIO_IRQ_LINE), 0);
    assert_int_equal(host_irq_line(FAKE_MMIO_LINE), 1);
    finish();
}

static void a_device_whose_line_is_missing_or_refused_has_no_interrupts(void **state)
{
    (void)state;
    negotiate(2);
    vm.place.has_irq = false;
    assert_int_equal(irqs(VIRTIO_IRQ_LINE), -ENOENT);
    vm.place.has_irq = true;
    host_irq_refuse_lines(true);
    assert_int_equal(irqs(VIRTIO_IRQ_LINE), -EINVAL);
    assert_string_equal(vm.dev.irqs, "no interrupt");
    finish();
}

static void another_devices_interrupt_on_the_line_is_not_ours(void **state)
{
    (void)state;
    negotiate(2);
    assert_int_equal(irqs(VIRTIO_IRQ_LINE), 0);
    assert_int_equal(host_irq_line(FAKE_MMIO_LINE), 1);
    assert_int_equal(queue_events + config_events, 0);
    finish();
}

static void a_line_that_is_never_lowered_ends(void **state)
{
    (void)state;
    negotiate(2);
    assert_int_equal(irqs(VIRTIO_IRQ_LINE), 0);
    fake->fault = FAKE_MMIO_LINE_STUCK;
    fake_mmio_config_interrupt(fake);
    assert_true(config_events > 0 && config_events < 100);
    fake->fault = FAKE_MMIO_STATUS_ONES;
    host_irq_line(FAKE_MMIO_LINE);
    assert_true(config_events < 100);
    finish();
}

static void a_device_may_have_no_interrupt_after_close(void **state)
{
    (void)state;
    negotiate(2);
    assert_int_equal(irqs(VIRTIO_IRQ_LINE), 0);
    vm.dev.transport->close(&vm.dev);
    fake_mmio_config_interrupt(fake);
    assert_int_equal(config_events, 0);
    finish();
}

/* ---- NICs ---- */

static void count_frame(void *arg, const struct fake_net_hdr *hdr, const uint8_t *frame, size_t len)
{
    (void)hdr;
    (void)frame;
    assert_int_equal(len, FRAME_BYTES);
    ++*(unsigned *)arg;
}

static void on_sent(void *stack, void *cookie)
{
    (void)stack;
    (void)cookie;
}

/* One frame each way, by interrupt. */
static void exchange(struct netdev *net, struct fake_mmio *m)
{
    static const uint8_t bytes[FRAME_BYTES] = {0x52, 0x54, 0, 0x12, 0x34, 0x56};
    const struct frame_piece piece = {bytes, sizeof(bytes)};
    struct frame_in in;
    unsigned count = 0;

    net->on_sent = on_sent;
    assert_false(net->ops->arm(net));
    net->irq_seen = false;
    assert_true(fake_net_receive(&m->vdev, bytes, sizeof(bytes), NULL));
    assert_true(net->irq_seen);
    assert_int_equal(net->ops->poll(net, &in, 1), 1);
    frag_give_list(in.head);

    const struct frame_out out = {.pieces = &piece, .piece_count = 1, .cookie = m};
    assert_int_equal(net->ops->send(net, &out), 0);
    net->ops->flush(net);
    assert_int_equal(fake_net_transmit(&m->vdev, 4, count_frame, &count), 1);
    assert_int_equal(count, 1);
    net->ops->tick(net);
}

static void nics_are_found_in_the_lists_order_and_share_a_line(void **state)
{
    static struct options opt;
    (void)state;
    for (uint32_t version = 1; version <= 2; version++) {
        start_machine();
        for (unsigned i = 0; i < 3; i++)
            fake_mmio_init(&fakes[i], i, version,
                           version == 2 ? net_features : net_features & UINT32_MAX, SIZE);
        fakes[1].device_id = 0;
        const struct virtio_mmio_place places[] = {place_of(&fakes[2]), place_of(&fakes[1]),
                                                   place_of(&fakes[0]), place_of(&fakes[2])};
        const struct vnet_buses buses = {.mmio = places, .mmio_count = ARRAY_COUNT(places)};

        assert_int_equal(vnet_probe_all(nics, OPT_NICS_MAX, &opt, &buses), 2);
        assert_string_equal(vnet_of(nics[0])->dev->where, "feb00400");
        exchange(nics[0], &fakes[2]);
        exchange(nics[1], &fakes[0]);
        vnet_close(vnet_of(nics[0]));
        vnet_close(vnet_of(nics[1]));
        finish();
    }
}

static void a_nic_without_an_interrupt_is_polled(void **state)
{
    static struct options opt;
    (void)state;
    start_machine();
    fake_mmio_init(fake, 0, 2, net_features, SIZE);
    struct virtio_mmio_place place = place_of(fake);
    place.has_irq = false;
    const struct vnet_buses buses = {.mmio = &place, .mmio_count = 1};

    assert_int_equal(vnet_probe_all(nics, OPT_NICS_MAX, &opt, &buses), 1);
    assert_string_equal(vnet_of(nics[0])->dev->irqs, "no interrupt");
    vnet_close(vnet_of(nics[0]));
    finish();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(both_versions_are_opened),
        cmocka_unit_test(an_empty_place_and_another_device_are_skipped_silently),
        cmocka_unit_test(what_is_no_virtio_device_is_refused_in_one_line),
        cmocka_unit_test(a_place_that_is_too_small_odd_or_out_of_reach_is_refused),
        cmocka_unit_test(queues_of_any_offered_size_are_set_up),
        cmocka_unit_test(a_queue_that_lies_is_refused),
        cmocka_unit_test(a_queue_larger_than_offered_is_not_set_up),
        cmocka_unit_test(the_configuration_is_read_in_natural_widths),
        cmocka_unit_test(a_generation_that_never_settles_is_an_error),
        cmocka_unit_test(a_reset_that_never_ends_is_given_up),
        cmocka_unit_test(a_device_that_is_gone_is_seen),
        cmocka_unit_test(there_is_one_line_and_no_vectors),
        cmocka_unit_test(a_line_attached_once_is_not_attached_again),
        cmocka_unit_test(a_device_whose_line_is_missing_or_refused_has_no_interrupts),
        cmocka_unit_test(another_devices_interrupt_on_the_line_is_not_ours),
        cmocka_unit_test(a_line_that_is_never_lowered_ends),
        cmocka_unit_test(a_device_may_have_no_interrupt_after_close),
        cmocka_unit_test(nics_are_found_in_the_lists_order_and_share_a_line),
        cmocka_unit_test(a_nic_without_an_interrupt_is_polled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
