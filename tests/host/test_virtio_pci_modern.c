/* The modern registers: capabilities, queues, configuration. virtio 1.2 §4.1.4, §4.1.5. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/virtio/spec.h"
#include "tests/host/support/vpci_fixture.h"

enum { CAP_COMMON = 1, CAP_NOTIFY, CAP_ISR, CAP_DEVICE };

static struct vpci_fixture fix;

static struct fake_vpci_setup with_fault(enum fake_vpci_fault fault, uint8_t type)
{
    struct fake_vpci_setup setup = vpci_modern;

    setup.fault = fault;
    setup.fault_type = type;
    return setup;
}

/* ---- capabilities ---- */

static void the_registers_are_found_through_capabilities(void **state)
{
    (void)state;
    assert_int_equal(vpci_open(&fix, &vpci_modern), 0);
    assert_string_equal(fix.vp.dev.transport->name, "modern");
    assert_false(fix.vp.dev.transport->legacy);
    assert_string_equal(fix.vp.dev.where, "00:03.0");
    assert_int_equal(fix.vp.dev.device_id, 1);
    assert_int_equal(host_bus_strays(), 0);
    vpci_close(&fix);
}

static void the_first_usable_capability_of_each_type_is_taken(void **state)
{
    struct fake_vpci_setup setup = vpci_modern;
    (void)state;
    setup.decoys = true;
    vpci_negotiate(&fix, &setup);
    assert_int_equal(fix.fake.vdev.features, VIRTIO_VERSION_1);
    vpci_close(&fix);
}

static void a_bar_above_4_gib_is_reached(void **state)
{
    struct fake_vpci_setup setup = vpci_modern;
    (void)state;
    setup.base = 0x380000000000;
    vpci_negotiate(&fix, &setup);
    assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), 0);
    assert_int_equal(host_bus_strays(), 0);
    vpci_close(&fix);
}

static void a_bar_beyond_the_processors_reach_is_refused(void **state)
{
    struct fake_vpci_setup setup = vpci_modern;
    (void)state;
    setup.base = 0x380000000000;
    assert_int_equal(vpci_open(&fix, &setup), 0);
    host_bus_refuse_map(1ull << 36);
    assert_int_equal(virtio_pci_modern_open(&fix.vp), -ENODEV);
    vpci_close(&fix);
}

/* Without the device configuration a device still works; without the others it doesn't. */
static void a_capability_that_lies_is_not_used(void **state)
{
    (void)state;
    for (unsigned fault = FAKE_CAP_MISSING; fault <= FAKE_CAP_LAST_FAULT; fault++) {
        for (uint8_t type = CAP_COMMON; type <= CAP_DEVICE; type++) {
            const struct fake_vpci_setup setup = with_fault((enum fake_vpci_fault)fault, type);
            const bool harmless = fault == FAKE_CAP_MISALIGNED && type == CAP_ISR;
            const int err = vpci_open(&fix, &setup);

            if (type == CAP_DEVICE && err == 0)
                assert_int_equal(fix.vp.config.len, 0);
            if ((err == 0) != (type == CAP_DEVICE || harmless))
                fail_msg("fault %u in capability %u: %d", fault, type, err);
            assert_int_equal(net_env_errors(), err ? 1 : 0);
            assert_int_equal(host_bus_strays(), 0);
            if (!harmless)
                vpci_close(&fix);
        }
    }
}

static void a_list_that_loops_hangs_nobody(void **state)
{
    const struct fake_vpci_setup setup = with_fault(FAKE_CAP_LOOP, 0);
    (void)state;
    assert_int_equal(vpci_open(&fix, &setup), 0);               /* everything needed is in it */
    fix.fake.fn.config[fix.fake.fn.last_capability + 3] = 0x42; /* now the last type is not */
    assert_int_equal(virtio_pci_modern_open(&fix.vp), -ENODEV);
    vpci_close(&fix);
}

static void registers_without_an_address_are_refused_in_one_line(void **state)
{
    struct fake_vpci_setup setup = vpci_modern;
    (void)state;
    setup.no_address = true;
    assert_int_equal(vpci_open(&fix, &setup), -ENODEV);
    assert_int_equal(net_env_errors(), 1);
    assert_true(net_env_logged("no address"));
    assert_int_equal(fake_pci_get16(&fix.fake.fn, PCI_COMMAND) & PCI_COMMAND_MEMORY, 0);
}

/* Everything works but INTx, whose handler would get between two halves of an access. */
static void registers_out_of_reach_are_reached_through_the_window(void **state)
{
    struct fake_vpci_setup setup = vpci_modern;
    uint16_t vectors[2];
    uint8_t mac[6];
    (void)state;
    setup.window = setup.no_address = true;
    vpci_negotiate(&fix, &setup);
    assert_true(net_env_logged("through configuration space"));
    assert_int_equal(fake_pci_get16(&fix.fake.fn, PCI_COMMAND) & PCI_COMMAND_MEMORY, 0);
    assert_int_equal(fix.fake.vdev.features, VIRTIO_VERSION_1);
    assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_SHARED, vectors), -ENOENT);
    assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_LINE, vectors), -ENOENT);
    assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_NONE, vectors), 0);
    assert_int_equal(vpci_queue(&fix, 0, 0, vectors[0]), 0);
    assert_int_equal(vpci_queue(&fix, 1, 64, vectors[1]), 0);
    assert_int_equal(virtio_config_read(&fix.vp.dev, 0, mac, sizeof(mac)), 0);
    assert_int_equal(mac[0], 0x52);
    virtio_start(&fix.vp.dev);
    fix.vp.dev.transport->notify(&fix.vp.dev, 1);
    assert_int_equal(fix.fake.vdev.queue[1].kicks, 1);
    assert_int_equal(host_bus_strays(), 0);
    vpci_close(&fix);
}

static void the_window_is_not_used_while_memory_or_ports_can_be(void **state)
{
    struct fake_vpci_setup setup = vpci_transitional;
    (void)state;
    setup.window = true;
    vpci_negotiate(&fix, &setup);
    assert_string_equal(fix.vp.dev.transport->name, "modern");
    assert_int_equal(fix.fake.window_accesses, 0);
    vpci_close(&fix);
    setup.no_address = true;
    assert_int_equal(vpci_open(&fix, &setup), 0);
    assert_string_equal(fix.vp.dev.transport->name, "legacy");
    assert_int_equal(fix.fake.window_accesses, 0);
    vpci_close(&fix);
}

static void the_window_leads_only_where_a_bar_is(void **state)
{
    static const enum fake_vpci_fault faults[] = {FAKE_CAP_OUTSIDE_BAR, FAKE_CAP_OFFSET_WRAPS,
                                                  FAKE_CAP_RESERVED_BAR, FAKE_CAP_OTHER_BAR,
                                                  FAKE_CAP_LENGTH_HUGE};
    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(faults); i++) {
        struct fake_vpci_setup setup = with_fault(faults[i], CAP_COMMON);
        setup.window = setup.no_address = true;
        assert_int_equal(vpci_open(&fix, &setup), -ENODEV);
        assert_int_equal(net_env_errors(), 1);
    }
}

static void a_device_that_is_pulled_out_is_refused(void **state)
{
    struct pci_function fn;
    (void)state;
    assert_int_equal(vpci_open(&fix, &vpci_modern), 0);
    fn = fix.vp.fn;
    fake_pci_unplug(&fix.fake.fn);
    assert_int_equal(virtio_pci_open(&fix.vp, &fn), -ENODEV);
    assert_int_equal(net_env_errors(), 1);
}

static void memory_and_mastering_are_enabled_and_ports_are_not(void **state)
{
    (void)state;
    assert_int_equal(vpci_open(&fix, &vpci_modern), 0);
    assert_int_equal(fake_pci_get16(&fix.fake.fn, PCI_COMMAND),
                     PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER | PCI_COMMAND_NO_INTX);
    virtio_pci_close(&fix.vp.dev);
    assert_int_equal(fake_pci_get16(&fix.fake.fn, PCI_COMMAND) & PCI_COMMAND_MASTER, 0);
    vpci_close(&fix);
}

/* ---- features ---- */

static void all_64_feature_bits_pass(void **state)
{
    struct fake_vpci_setup setup = vpci_modern;
    (void)state;
    setup.features = 0x8000000180000001;
    vpci_negotiate(&fix, &setup);
    assert_int_equal(fix.vp.dev.offered, setup.features);
    assert_int_equal(fix.fake.vdev.features, setup.features);
    vpci_close(&fix);
}

/* ---- queues ---- */

static void a_queue_is_published_before_it_is_enabled(void **state)
{
    const struct fake_vpci_queue *q = &fix.fake.queue[1];
    (void)state;
    vpci_negotiate(&fix, &vpci_modern);
    assert_int_equal(vpci_queue(&fix, 1, 0, VIRTIO_NO_VECTOR), 0);
    assert_true(q->enabled);
    assert_int_equal(fix.vq[1].size, 256);
    assert_ptr_equal((void *)(uintptr_t)q->desc, fix.vq[1].desc);
    assert_ptr_equal((void *)(uintptr_t)q->driver, fix.vq[1].avail);
    assert_ptr_equal((void *)(uintptr_t)q->device, fix.vq[1].used);
    vpci_close(&fix);
}

static void rings_above_4_gib_are_published_whole(void **state)
{
    static uint8_t rings[3][4096] __attribute__((aligned(4096))); /* the host puts these high */
    const struct virtio_queue_mem mem = {.desc = (uintptr_t)rings[0],
                                         .driver = (uintptr_t)rings[1],
                                         .device = (uintptr_t)rings[2],
                                         .size = 64};
    (void)state;
    assert_true(mem.desc > UINT32_MAX);
    vpci_negotiate(&fix, &vpci_modern);
    assert_int_equal(fix.vp.dev.transport->queue_setup(&fix.vp.dev, 0, &mem, VIRTIO_NO_VECTOR), 0);
    assert_int_equal(fix.fake.queue[0].desc, mem.desc);
    assert_int_equal(fix.fake.queue[0].driver, mem.driver);
    assert_int_equal(fix.fake.queue[0].device, mem.device);
    vpci_close(&fix);
}

static void the_queue_size_is_written_only_to_lower_it(void **state)
{
    (void)state;
    vpci_negotiate(&fix, &vpci_modern);
    assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), 0);
    assert_int_equal(fix.fake.queue[0].size, 0); /* never written */
    assert_int_equal(vpci_queue(&fix, 1, 64, VIRTIO_NO_VECTOR), 0);
    assert_int_equal(fix.fake.queue[1].size, 64);
    vpci_close(&fix);
}

static void every_power_of_two_is_a_size(void **state)
{
    (void)state;
    for (unsigned size = 1; size <= 32768; size *= 2) {
        struct fake_vpci_setup setup = vpci_modern;
        setup.queue_size = (uint16_t)size;
        vpci_negotiate(&fix, &setup);
        assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), 0);
        assert_int_equal(fix.vq[0].size, size);
        vpci_close(&fix);
    }
}

static void a_notification_goes_to_its_queues_own_place(void **state)
{
    static const uint32_t multipliers[] = {0, 2, 4, 64};
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(multipliers); i++) {
        struct fake_vpci_setup setup = vpci_modern;
        setup.notify_multiplier = multipliers[i];
        vpci_negotiate(&fix, &setup);
        assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), 0);
        assert_int_equal(vpci_queue(&fix, 1, 0, VIRTIO_NO_VECTOR), 0);
        virtio_start(&fix.vp.dev);
        fix.vp.dev.transport->notify(&fix.vp.dev, 1);
        assert_int_equal(fix.fake.vdev.queue[0].kicks, 0);
        assert_int_equal(fix.fake.vdev.queue[1].kicks, 1);
        fix.vp.dev.transport->notify(&fix.vp.dev, 0);
        assert_int_equal(fix.fake.vdev.queue[0].kicks, 1);
        vpci_close(&fix);
    }
}

static void a_notification_place_outside_its_region_or_odd_is_refused(void **state)
{
    struct fake_vpci_setup setup = with_fault(FAKE_NOTIFY_OUTSIDE, 0);
    (void)state;
    vpci_negotiate(&fix, &setup);
    assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), -EIO);
    assert_int_equal(net_env_errors(), 1);
    vpci_close(&fix);

    setup.fault = FAKE_VPCI_HONEST;
    setup.notify_multiplier = UINT32_MAX; /* times 5: far outside, and no overflow on the way */
    vpci_negotiate(&fix, &setup);
    assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), -EIO);
    vpci_close(&fix);

    setup.notify_multiplier = 0x33333334; /* times 5 is 4 in 32 bits */
    vpci_negotiate(&fix, &setup);
    assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), -EIO);
    vpci_close(&fix);

    setup.notify_multiplier = 1;
    vpci_negotiate(&fix, &setup);
    assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), -EIO); /* 5 × 1 */
    assert_int_equal(vpci_queue(&fix, 1, 0, VIRTIO_NO_VECTOR), 0);    /* 6 × 1 */
    vpci_close(&fix);
}

static void a_queue_that_does_not_become_live_is_an_error(void **state)
{
    const struct fake_vpci_setup setup = with_fault(FAKE_QUEUE_NOT_ENABLED, 0);
    (void)state;
    vpci_negotiate(&fix, &setup);
    assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), -EIO);
    vpci_close(&fix);
}

static void a_size_that_does_not_stick_is_an_error(void **state)
{
    const struct fake_vpci_setup setup = with_fault(FAKE_QUEUE_SIZE_STUCK, 0);
    (void)state;
    vpci_negotiate(&fix, &setup);
    assert_int_equal(vpci_queue(&fix, 0, 64, VIRTIO_NO_VECTOR), -EIO);
    vpci_close(&fix);
}

static void a_size_larger_than_offered_is_never_written(void **state)
{
    const struct virtio_queue_mem mem = {.desc = 0x1000, .driver = 0x2000, .device = 0x3000, 512};
    (void)state;
    vpci_negotiate(&fix, &vpci_modern);
    assert_int_equal(fix.vp.dev.transport->queue_setup(&fix.vp.dev, 0, &mem, VIRTIO_NO_VECTOR),
                     -EIO);
    assert_int_equal(fix.fake.queue[0].size, 0);
    vpci_close(&fix);
}

static void impossible_sizes_are_refused(void **state)
{
    static const struct {
        enum fake_fault fault;
        int err;
    } cases[] = {{FAKE_QUEUE_SIZE_ZERO, -ENOENT},
                 {FAKE_QUEUE_SIZE_ODD, -EPROTO},
                 {FAKE_QUEUE_SIZE_HUGE, -EPROTO}};
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(cases); i++) {
        vpci_negotiate(&fix, &vpci_modern);
        fix.fake.vdev.fault = cases[i].fault;
        assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), cases[i].err);
        vpci_close(&fix);
    }
}

static void a_queue_that_does_not_exist_is_not_there(void **state)
{
    struct virtio_dev *dev = &fix.vp.dev;
    const struct virtio_queue_mem mem = {.desc = 0x1000, .driver = 0x2000, .device = 0x3000, 256};
    (void)state;
    vpci_negotiate(&fix, &vpci_modern);
    assert_int_equal(dev->transport->queue_max_size(dev, FAKE_QUEUES), 0);
    assert_int_equal(dev->transport->queue_max_size(dev, VIRTIO_PCI_QUEUES_MAX), 0);
    assert_int_equal(dev->transport->queue_max_size(dev, UINT16_MAX), 0);
    assert_int_equal(dev->transport->queue_setup(dev, UINT16_MAX, &mem, VIRTIO_NO_VECTOR), -EIO);
    vpci_close(&fix);

    const struct fake_vpci_setup fewer = with_fault(FAKE_QUEUES_FEWER, 0);
    vpci_negotiate(&fix, &fewer);
    assert_int_equal(dev->transport->queue_max_size(dev, 0), 256);
    assert_int_equal(dev->transport->queue_max_size(dev, 1), 0);
    vpci_close(&fix);
}

/* ---- configuration ---- */

static void configuration_is_read_in_natural_widths(void **state)
{
    uint8_t mac[6], eight[8];
    uint16_t status;
    uint32_t four;
    (void)state;
    vpci_negotiate(&fix, &vpci_modern);
    memcpy(fix.fake.vdev.config + 16, "abcdefgh", 8);

    assert_int_equal(virtio_config_read(&fix.vp.dev, 0, mac, 6), 0);
    assert_memory_equal(mac, "\x52\x54\x00\x12\x34\x56", 6);
    assert_int_equal(fix.fake.config_reads, 6); /* an array of bytes */
    assert_int_equal(virtio_config_read(&fix.vp.dev, 6, &status, 2), 0);
    assert_int_equal(status, 1);
    assert_int_equal(fix.fake.config_reads, 7);
    assert_int_equal(virtio_config_read(&fix.vp.dev, 16, &four, 4), 0);
    assert_memory_equal(&four, "abcd", 4);
    assert_int_equal(fix.fake.config_reads, 8);
    assert_int_equal(virtio_config_read(&fix.vp.dev, 16, eight, 8), 0);
    assert_memory_equal(eight, "abcdefgh", 8);
    assert_int_equal(fix.fake.config_reads, 10);                          /* two halves */
    assert_int_equal(virtio_config_read(&fix.vp.dev, 17, &status, 2), 0); /* no field lies so */
    assert_int_equal(fix.fake.config_reads, 12);
    vpci_close(&fix);
}

static void configuration_ends_with_its_region(void **state)
{
    uint8_t bytes[8];
    (void)state;
    vpci_negotiate(&fix, &vpci_modern);
    assert_int_equal(virtio_config_read(&fix.vp.dev, FAKE_CONFIG_BYTES - 8, bytes, 8), 0);
    assert_int_equal(virtio_config_read(&fix.vp.dev, FAKE_CONFIG_BYTES - 7, bytes, 8), -ERANGE);
    assert_int_equal(virtio_config_read(&fix.vp.dev, UINT32_MAX, bytes, 8), -ERANGE);
    fix.fake.vdev.fault = FAKE_CONFIG_NEVER_SETTLES;
    assert_int_equal(virtio_config_read(&fix.vp.dev, 0, bytes, 6), -EAGAIN);
    vpci_close(&fix);
}

static void a_reset_that_never_ends_and_features_refused_come_through(void **state)
{
    (void)state;
    assert_int_equal(vpci_open(&fix, &vpci_modern), 0);
    fix.fake.vdev.fault = FAKE_RESET_NEVER_ENDS;
    assert_int_equal(virtio_negotiate(&fix.vp.dev, 0, 0, NULL), -ETIMEDOUT);
    fix.fake.vdev.fault = FAKE_FEATURES_REFUSED;
    assert_int_equal(virtio_negotiate(&fix.vp.dev, 0, 0, NULL), -ENOTSUP);
    fix.fake.vdev.fault = FAKE_HONEST;
    fake_pci_unplug(&fix.fake.fn);
    assert_int_equal(virtio_negotiate(&fix.vp.dev, 0, 0, NULL), -ENODEV);
    assert_int_equal(net_env_errors(), 3);
    vpci_close(&fix);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_registers_are_found_through_capabilities),
        T(the_first_usable_capability_of_each_type_is_taken),
        T(a_bar_above_4_gib_is_reached),
        T(a_bar_beyond_the_processors_reach_is_refused),
        T(a_capability_that_lies_is_not_used),
        T(a_list_that_loops_hangs_nobody),
        T(registers_without_an_address_are_refused_in_one_line),
        T(registers_out_of_reach_are_reached_through_the_window),
        T(the_window_is_not_used_while_memory_or_ports_can_be),
        T(the_window_leads_only_where_a_bar_is),
        T(a_device_that_is_pulled_out_is_refused),
        T(memory_and_mastering_are_enabled_and_ports_are_not),
        T(all_64_feature_bits_pass),
        T(a_queue_is_published_before_it_is_enabled),
        T(rings_above_4_gib_are_published_whole),
        T(the_queue_size_is_written_only_to_lower_it),
        T(every_power_of_two_is_a_size),
        T(a_notification_goes_to_its_queues_own_place),
        T(a_notification_place_outside_its_region_or_odd_is_refused),
        T(a_queue_that_does_not_become_live_is_an_error),
        T(a_size_that_does_not_stick_is_an_error),
        T(a_size_larger_than_offered_is_never_written),
        T(impossible_sizes_are_refused),
        T(a_queue_that_does_not_exist_is_not_there),
        T(configuration_is_read_in_natural_widths),
        T(configuration_ends_with_its_region),
        T(a_reset_that_never_ends_and_features_refused_come_through),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
