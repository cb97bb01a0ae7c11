/* The legacy registers: ten of them, in ports or memory. virtio 1.2 §4.1.4.10, §2.7.2. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/virtio/spec.h"
#include "tests/host/support/vpci_fixture.h"

static struct vpci_fixture fix;

static void the_registers_are_bar_0_in_ports_or_memory(void **state)
{
    (void)state;
    for (int in_memory = 0; in_memory <= 1; in_memory++) {
        struct fake_vpci_setup setup = vpci_legacy;
        setup.legacy_in_memory = in_memory;
        vpci_negotiate(&fix, &setup);
        assert_string_equal(fix.vp.dev.transport->name, "legacy");
        assert_true(fix.vp.dev.transport->legacy);
        assert_int_equal(fix.vp.dev.device_id, 1);
        assert_int_equal(fix.fake.vdev.features, 1u << 5);
        assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), 0);
        assert_int_equal(host_bus_strays(), 0);
        vpci_close(&fix);
    }
}

static void only_the_space_of_bar_0_is_enabled(void **state)
{
    struct fake_vpci_setup setup = vpci_legacy;
    (void)state;
    setup.vectors = 0;
    assert_int_equal(vpci_open(&fix, &setup), 0);
    assert_int_equal(fake_pci_get16(&fix.fake.fn, PCI_COMMAND),
                     PCI_COMMAND_IO | PCI_COMMAND_MASTER | PCI_COMMAND_NO_INTX);
    vpci_close(&fix);
}

static void another_revision_or_a_modern_id_is_refused(void **state)
{
    struct pci_function fn;
    (void)state;
    assert_int_equal(vpci_open(&fix, &vpci_legacy), 0);
    fn = fix.vp.fn;
    fn.revision = 1;
    assert_int_equal(virtio_pci_open(&fix.vp, &fn), -ENODEV);
    fn.revision = 0;
    fn.device = 0x1041;
    assert_int_equal(virtio_pci_open(&fix.vp, &fn), -ENODEV);
    assert_int_equal(net_env_errors(), 2);
}

static void a_bar_too_small_for_the_registers_is_refused(void **state)
{
    struct pci_function fn;
    (void)state;
    assert_int_equal(vpci_open(&fix, &vpci_legacy), 0);
    fn = fix.vp.fn;
    fix.fake.fn.bar[0].size = 16;
    fake_pci_put16(&fix.fake.fn, PCI_COMMAND, 0);
    fake_pci_place_bar(&fix.fake.fn, 0, FAKE_VPCI_PORT);
    assert_int_equal(virtio_pci_open(&fix.vp, &fn), -ENODEV);
    assert_int_equal(net_env_errors(), 1);
}

static void memory_registers_beyond_the_processors_reach_are_refused(void **state)
{
    struct fake_vpci_setup setup = vpci_legacy;
    struct pci_function fn;
    (void)state;
    setup.legacy_in_memory = true;
    assert_int_equal(vpci_open(&fix, &setup), 0);
    fn = fix.vp.fn;
    host_bus_refuse_map(FAKE_VPCI_BASE);
    assert_int_equal(virtio_pci_open(&fix.vp, &fn), -ENODEV);
    assert_int_equal(net_env_errors(), 1);
}

static void a_queue_is_published_by_its_page_number(void **state)
{
    const struct fake_vpci_queue *q = &fix.fake.queue[1];
    (void)state;
    vpci_negotiate(&fix, &vpci_legacy);
    assert_int_equal(vpci_queue(&fix, 1, 0, VIRTIO_NO_VECTOR), 0);
    assert_true(q->enabled);
    assert_ptr_equal((void *)(uintptr_t)q->desc, fix.vq[1].desc);
    assert_ptr_equal((void *)(uintptr_t)q->driver, fix.vq[1].avail);
    assert_ptr_equal((void *)(uintptr_t)q->device, fix.vq[1].used);
    virtio_start(&fix.vp.dev);
    fix.vp.dev.transport->notify(&fix.vp.dev, 1);
    assert_int_equal(fix.fake.vdev.queue[1].kicks, 1);
    vpci_close(&fix);
}

static void the_queue_size_is_the_devices_choice(void **state)
{
    static const uint16_t sizes[] = {2, 64, 256, 1024, 8192};
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(sizes); i++) {
        struct fake_vpci_setup setup = vpci_legacy;
        setup.queue_size = sizes[i];
        vpci_negotiate(&fix, &setup);
        assert_int_equal(vpci_queue(&fix, 0, 1, VIRTIO_NO_VECTOR), 0);
        assert_int_equal(fix.vq[0].size, sizes[i]);
        vpci_close(&fix);
    }
}

static int setup_at(dma_addr desc, uint16_t size)
{
    const struct virtio_queue_mem mem = {.desc = desc, .size = size};

    return fix.vp.dev.transport->queue_setup(&fix.vp.dev, 0, &mem, VIRTIO_NO_VECTOR);
}

static void memory_that_32_bits_of_page_number_cannot_name_is_refused(void **state)
{
    (void)state;
    vpci_negotiate(&fix, &vpci_legacy);
    assert_int_equal(setup_at(1ull << 44, 256), -ENOMEM);
    assert_int_equal(setup_at(0, 256), -ENOMEM);
    assert_int_equal(fix.fake.queue[0].page, 0);
    vpci_close(&fix);
}

static void another_size_than_the_devices_is_refused(void **state)
{
    (void)state;
    vpci_negotiate(&fix, &vpci_legacy);
    assert_int_equal(setup_at(0x10000, 128), -EIO);
    assert_int_equal(fix.fake.queue[0].page, 0);
    vpci_close(&fix);
}

static void a_page_number_that_does_not_stick_is_an_error(void **state)
{
    struct fake_vpci_setup setup = vpci_legacy;
    (void)state;
    setup.fault = FAKE_QUEUE_NOT_ENABLED;
    vpci_negotiate(&fix, &setup);
    assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), -EIO);
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
        vpci_negotiate(&fix, &vpci_legacy);
        fix.fake.vdev.fault = cases[i].fault;
        assert_int_equal(vpci_queue(&fix, 0, 0, VIRTIO_NO_VECTOR), cases[i].err);
        vpci_close(&fix);
    }
}

static void configuration_moves_when_msix_is_on(void **state)
{
    uint16_t vectors[2];
    uint8_t mac[6];
    (void)state;
    vpci_negotiate(&fix, &vpci_legacy);
    assert_int_equal(virtio_config_read(&fix.vp.dev, 0, mac, 6), 0);
    assert_memory_equal(mac, "\x52\x54\x00\x12\x34\x56", 6);
    assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_PER_QUEUE, vectors), 0);
    assert_int_equal(virtio_config_read(&fix.vp.dev, 0, mac, 6), 0);
    assert_memory_equal(mac, "\x52\x54\x00\x12\x34\x56", 6);
    assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_LINE, vectors), 0);
    assert_int_equal(virtio_config_read(&fix.vp.dev, 0, mac, 6), 0);
    assert_memory_equal(mac, "\x52\x54\x00\x12\x34\x56", 6);
    vpci_close(&fix);
}

static void configuration_ends_with_the_bar(void **state)
{
    uint8_t bytes[8];
    (void)state;
    vpci_negotiate(&fix, &vpci_legacy);
    assert_int_equal(virtio_config_read(&fix.vp.dev, 128 - 20 - 8, bytes, 8), 0);
    assert_int_equal(virtio_config_read(&fix.vp.dev, 128 - 20 - 7, bytes, 8), -ERANGE);
    assert_int_equal(virtio_config_read(&fix.vp.dev, UINT32_MAX, bytes, 8), -ERANGE);
    vpci_close(&fix);
}

static void configuration_that_differs_at_every_read_is_an_error(void **state)
{
    struct fake_vpci_setup setup = vpci_legacy;
    uint16_t mtu;
    (void)state;
    setup.fault = FAKE_CONFIG_TEARS;
    vpci_negotiate(&fix, &setup);
    assert_int_equal(virtio_config_read(&fix.vp.dev, 10, &mtu, 2), -EAGAIN);
    vpci_close(&fix);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(the_registers_are_bar_0_in_ports_or_memory),
        T(only_the_space_of_bar_0_is_enabled),
        T(another_revision_or_a_modern_id_is_refused),
        T(a_bar_too_small_for_the_registers_is_refused),
        T(memory_registers_beyond_the_processors_reach_are_refused),
        T(a_queue_is_published_by_its_page_number),
        T(the_queue_size_is_the_devices_choice),
        T(memory_that_32_bits_of_page_number_cannot_name_is_refused),
        T(another_size_than_the_devices_is_refused),
        T(a_page_number_that_does_not_stick_is_an_error),
        T(impossible_sizes_are_refused),
        T(configuration_moves_when_msix_is_on),
        T(configuration_ends_with_the_bar),
        T(configuration_that_differs_at_every_read_is_an_error),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
