/* Which transport a device gets, and how its interrupts arrive. virtio 1.2 §4.1.2, §4.1.5. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/virtio/spec.h"
#include "tests/host/support/irq.h"
#include "tests/host/support/vpci_fixture.h"

static struct vpci_fixture fix;
static const struct fake_vpci_setup *const layouts[] = {&vpci_modern, &vpci_legacy};

/* ---- which device, which transport ---- */

static void net_devices_are_known_by_their_ids(void **state)
{
    struct pci_function fn = {.vendor = 0x1af4, .device = 0x1041};
    (void)state;
    assert_true(virtio_pci_match(&fn, VIRTIO_TYPE_NET));
    assert_false(virtio_pci_match(&fn, 2));
    fn.revision = 9; /* any will do (§4.1.2.1) */
    assert_true(virtio_pci_match(&fn, VIRTIO_TYPE_NET));
    fn.device = 0x1042;
    assert_false(virtio_pci_match(&fn, VIRTIO_TYPE_NET));

    fn = (struct pci_function){.vendor = 0x1af4, .device = 0x1000, .subsystem = 1};
    assert_true(virtio_pci_match(&fn, VIRTIO_TYPE_NET));
    fn.subsystem = 2;
    assert_false(virtio_pci_match(&fn, VIRTIO_TYPE_NET));
    fn = (struct pci_function){.vendor = 0x8086, .device = 0x1041};
    assert_false(virtio_pci_match(&fn, VIRTIO_TYPE_NET));
    fn = (struct pci_function){.vendor = 0x1af4, .device = 0x1080, .subsystem = 1};
    assert_false(virtio_pci_match(&fn, VIRTIO_TYPE_NET));
    fn.device = 0x0fff;
    assert_false(virtio_pci_match(&fn, VIRTIO_TYPE_NET));
}

static void a_transitional_device_is_driven_by_its_modern_registers(void **state)
{
    (void)state;
    vpci_negotiate(&fix, &vpci_transitional);
    assert_string_equal(fix.vp.dev.transport->name, "modern");
    assert_int_equal(fix.fake.vdev.features, VIRTIO_VERSION_1 | 1u << 5);
    vpci_close(&fix);
}

static void and_by_its_legacy_ones_when_those_cannot_be_reached(void **state)
{
    (void)state;
    for (unsigned fault = FAKE_CAP_MISSING; fault <= FAKE_CAP_LAST_FAULT; fault++) {
        struct fake_vpci_setup setup = vpci_transitional;
        setup.fault = (enum fake_vpci_fault)fault;
        setup.fault_type = 1;
        vpci_negotiate(&fix, &setup);
        assert_string_equal(fix.vp.dev.transport->name, "legacy");
        assert_int_equal(fix.fake.vdev.features, 1u << 5);
        assert_int_equal(net_env_errors(), 0);
        vpci_close(&fix);
    }
}

static void and_by_its_legacy_ones_when_the_processor_reaches_no_further(void **state)
{
    struct pci_function fn;
    (void)state;
    assert_int_equal(vpci_open(&fix, &vpci_transitional), 0);
    fn = fix.vp.fn;
    host_bus_refuse_map(FAKE_VPCI_BASE);
    assert_int_equal(virtio_pci_open(&fix.vp, &fn), 0);
    assert_string_equal(fix.vp.dev.transport->name, "legacy");
    vpci_close(&fix);
}

/* ---- MSI-X ---- */

/* Device events as the fake sees them: one on each queue, one on the configuration. */
static void raise_all(void)
{
    fix.fake.vdev.irq(&fix.fake, 0);
    fix.fake.vdev.irq(&fix.fake, 1);
    fake_vpci_config_interrupt(&fix.fake);
}

static int irqs_and_queues(enum virtio_irqs kind, uint16_t vectors[2])
{
    int err = vpci_irqs(&fix, kind, vectors);

    for (uint16_t i = 0; i < 2 && !err; i++)
        err = vpci_queue(&fix, i, 0, vectors[i]);
    return err;
}

static void each_queue_has_its_vector_when_there_are_three(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(layouts); i++) {
        uint16_t vectors[2];
        vpci_negotiate(&fix, layouts[i]);
        assert_int_equal(irqs_and_queues(VIRTIO_IRQ_PER_QUEUE, vectors), 0);
        assert_true(fix.vp.dev.msix);
        assert_int_equal(vectors[0], 1);
        assert_int_equal(vectors[1], 2);
        assert_int_equal(fix.fake.queue[0].vector, 1);
        assert_int_equal(fix.fake.queue[1].vector, 2);
        assert_int_equal(fix.fake.config_vector, 0);
        raise_all();
        assert_int_equal(fix.queue_events, 2);
        assert_int_equal(fix.config_events, 1);
        assert_int_equal(fix.fake.isr_reads, 0);
        vpci_close(&fix);
    }
}

static void two_vectors_serve_configuration_and_all_queues(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(layouts); i++) {
        struct fake_vpci_setup setup = *layouts[i];
        uint16_t vectors[2];
        setup.vectors = 2;
        vpci_negotiate(&fix, &setup);
        assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_PER_QUEUE, vectors), -ENOSPC);
        assert_int_equal(irqs_and_queues(VIRTIO_IRQ_TWO, vectors), 0);
        assert_int_equal(vectors[0], 1);
        assert_int_equal(vectors[1], 1);
        raise_all();
        assert_int_equal(fix.queue_events, 2);
        assert_int_equal(fix.config_events, 1);
        vpci_close(&fix);
    }
}

static void one_vector_serves_everything(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(layouts); i++) {
        struct fake_vpci_setup setup = *layouts[i];
        uint16_t vectors[2];
        setup.vectors = 1;
        vpci_negotiate(&fix, &setup);
        assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_PER_QUEUE, vectors), -ENOSPC);
        assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_TWO, vectors), -ENOSPC);
        assert_int_equal(irqs_and_queues(VIRTIO_IRQ_SHARED, vectors), 0);
        assert_int_equal(vectors[0], 0);
        assert_int_equal(vectors[1], 0);
        raise_all();
        assert_int_equal(fix.config_events, 3); /* each may have been about the configuration */
        vpci_close(&fix);
    }
}

static void a_refused_vector_is_an_error_that_fewer_vectors_cure(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(layouts); i++) {
        struct fake_vpci_setup setup = *layouts[i];
        uint16_t vectors[2];
        setup.fault = FAKE_VECTORS_ONE;
        vpci_negotiate(&fix, &setup);
        assert_int_equal(irqs_and_queues(VIRTIO_IRQ_PER_QUEUE, vectors), -EIO);
        virtio_reset(&fix.vp.dev);
        assert_int_equal(irqs_and_queues(VIRTIO_IRQ_TWO, vectors), -EIO);
        virtio_reset(&fix.vp.dev);
        assert_int_equal(irqs_and_queues(VIRTIO_IRQ_SHARED, vectors), 0);
        raise_all();
        assert_int_equal(fix.config_events, 3);
        vpci_close(&fix);
    }
}

static void a_device_that_accepts_two_vectors_gets_two(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(layouts); i++) {
        struct fake_vpci_setup setup = *layouts[i];
        uint16_t vectors[2];
        setup.fault = FAKE_VECTORS_TWO;
        vpci_negotiate(&fix, &setup);
        assert_int_equal(irqs_and_queues(VIRTIO_IRQ_PER_QUEUE, vectors), -EIO);
        virtio_reset(&fix.vp.dev);
        vq_close(&fix.vq[0], NULL, NULL);
        assert_int_equal(irqs_and_queues(VIRTIO_IRQ_TWO, vectors), 0);
        raise_all();
        assert_int_equal(fix.queue_events, 2);
        assert_int_equal(fix.config_events, 1);
        vpci_close(&fix);
    }
}

static void a_device_that_accepts_no_vector_gets_its_line(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(layouts); i++) {
        struct fake_vpci_setup setup = *layouts[i];
        uint16_t vectors[2];
        setup.fault = FAKE_VECTORS_REFUSED;
        vpci_negotiate(&fix, &setup);
        for (int kind = VIRTIO_IRQ_PER_QUEUE; kind <= VIRTIO_IRQ_SHARED; kind++)
            assert_int_equal(vpci_irqs(&fix, (enum virtio_irqs)kind, vectors), -EIO);
        assert_false(fake_msix_on(&fix.fake.fn));
        assert_int_equal(irqs_and_queues(VIRTIO_IRQ_LINE, vectors), 0);
        raise_all();
        assert_int_equal(fix.queue_events, 2);
        assert_int_equal(fix.config_events, 1);
        vpci_close(&fix);
    }
}

static void trying_fewer_vectors_takes_no_more_of_the_processors(void **state)
{
    uint16_t vectors[2];
    (void)state;
    vpci_negotiate(&fix, &vpci_modern);
    host_irq_limit(3);
    for (int round = 0; round < 10; round++) {
        assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_PER_QUEUE, vectors), 0);
        assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_SHARED, vectors), 0);
        assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_TWO, vectors), 0);
    }
    vpci_close(&fix);
}

static void a_processor_short_of_vectors_leaves_fewer(void **state)
{
    uint16_t vectors[2];
    (void)state;
    vpci_negotiate(&fix, &vpci_modern);
    host_irq_limit(2);
    assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_PER_QUEUE, vectors), -ENOSPC);
    assert_int_equal(irqs_and_queues(VIRTIO_IRQ_TWO, vectors), 0);
    raise_all();
    assert_int_equal(fix.queue_events, 2);
    vpci_close(&fix);
}

static void a_table_that_lies_outside_its_bar_is_not_used(void **state)
{
    struct fake_vpci_setup setup = vpci_modern;
    uint16_t vectors[2];
    (void)state;
    setup.fault = FAKE_MSIX_TABLE_OUTSIDE;
    vpci_negotiate(&fix, &setup);
    assert_true(net_env_logged("MSI-X table"));
    assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_SHARED, vectors), -ENOENT);
    assert_int_equal(irqs_and_queues(VIRTIO_IRQ_LINE, vectors), 0);
    vpci_close(&fix);
}

/* ---- INTx ---- */

static void a_device_without_msix_uses_its_line(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(layouts); i++) {
        struct fake_vpci_setup setup = *layouts[i];
        uint16_t vectors[2];
        setup.vectors = 0;
        vpci_negotiate(&fix, &setup);
        assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_SHARED, vectors), -ENOENT);
        assert_int_equal(irqs_and_queues(VIRTIO_IRQ_LINE, vectors), 0);
        assert_false(fix.vp.dev.msix);
        assert_int_equal(vectors[0], VIRTIO_NO_VECTOR);
        raise_all();
        assert_int_equal(fix.queue_events, 2);
        assert_int_equal(fix.config_events, 1);
        assert_int_equal(fix.fake.isr, 0); /* each was read, which lowers the line */
        vpci_close(&fix);
    }
}

static void anothers_interrupt_on_the_same_line_is_no_event(void **state)
{
    uint16_t vectors[2];
    (void)state;
    vpci_negotiate(&fix, &vpci_modern);
    assert_int_equal(irqs_and_queues(VIRTIO_IRQ_LINE, vectors), 0);
    assert_int_equal(host_irq_line(11), 1);
    assert_int_equal(fix.fake.isr_reads, 1);
    assert_int_equal(fix.queue_events + fix.config_events, 0);
    vpci_close(&fix);
}

static void the_line_is_attached_once_and_the_isr_left_alone_under_msix(void **state)
{
    uint16_t vectors[2];
    (void)state;
    vpci_negotiate(&fix, &vpci_modern);
    assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_LINE, vectors), 0);
    assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_LINE, vectors), 0);
    assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_PER_QUEUE, vectors), 0);
    assert_int_equal(host_irq_line(11), 1);
    assert_int_equal(fix.fake.isr_reads, 0);
    vpci_close(&fix);
}

static void the_line_is_quiet_until_somebody_listens_and_after_the_close(void **state)
{
    uint16_t vectors[2];
    (void)state;
    vpci_negotiate(&fix, &vpci_modern);
    raise_all();
    assert_int_equal(fix.fake.interrupts, 0);
    assert_int_equal(irqs_and_queues(VIRTIO_IRQ_LINE, vectors), 0);
    raise_all();
    assert_int_equal(fix.fake.interrupts, 3);
    virtio_reset(&fix.vp.dev);
    virtio_pci_close(&fix.vp.dev);
    raise_all();
    assert_int_equal(fix.fake.interrupts, 3);
    assert_int_equal(host_irq_line(11), 1); /* the handler is there for good, and does nothing */
    assert_int_equal(fix.queue_events + fix.config_events, 3);
    vpci_close(&fix);
}

static void without_any_interrupt_the_device_is_kept_quiet(void **state)
{
    struct fake_vpci_setup setup = vpci_modern;
    uint16_t vectors[2];
    (void)state;
    setup.vectors = 0;
    vpci_negotiate(&fix, &setup);
    host_irq_refuse_lines(true);
    assert_int_equal(vpci_irqs(&fix, VIRTIO_IRQ_LINE, vectors), -EINVAL);
    assert_int_equal(irqs_and_queues(VIRTIO_IRQ_NONE, vectors), 0);
    assert_int_equal(fix.vp.irqs, VIRTIO_IRQ_NONE);
    raise_all();
    assert_int_equal(fix.fake.interrupts, 0);
    vpci_close(&fix);
}

static void every_way_of_interrupting_has_a_name(void **state)
{
    static const char *const names[VIRTIO_IRQ_KINDS] = {"msi-x 3", "msi-x 2", "msi-x 1", "intx",
                                                        "no interrupt"};
    uint16_t vectors[2];
    (void)state;
    vpci_negotiate(&fix, &vpci_modern);
    for (int kind = 0; kind < VIRTIO_IRQ_KINDS; kind++) {
        assert_int_equal(vpci_irqs(&fix, (enum virtio_irqs)kind, vectors), 0);
        assert_string_equal(fix.vp.dev.irqs, names[kind]);
    }
    vpci_close(&fix);
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(net_devices_are_known_by_their_ids),
        T(a_transitional_device_is_driven_by_its_modern_registers),
        T(and_by_its_legacy_ones_when_those_cannot_be_reached),
        T(and_by_its_legacy_ones_when_the_processor_reaches_no_further),
        T(each_queue_has_its_vector_when_there_are_three),
        T(two_vectors_serve_configuration_and_all_queues),
        T(one_vector_serves_everything),
        T(a_refused_vector_is_an_error_that_fewer_vectors_cure),
        T(a_device_that_accepts_two_vectors_gets_two),
        T(a_device_that_accepts_no_vector_gets_its_line),
        T(trying_fewer_vectors_takes_no_more_of_the_processors),
        T(a_processor_short_of_vectors_leaves_fewer),
        T(a_table_that_lies_outside_its_bar_is_not_used),
        T(a_device_without_msix_uses_its_line),
        T(anothers_interrupt_on_the_same_line_is_no_event),
        T(the_line_is_attached_once_and_the_isr_left_alone_under_msix),
        T(the_line_is_quiet_until_somebody_listens_and_after_the_close),
        T(without_any_interrupt_the_device_is_kept_quiet),
        T(every_way_of_interrupting_has_a_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
