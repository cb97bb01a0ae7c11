/*
 * From the PCI bus to frames: NICs found, started with whatever interrupts there are, and used, register by register on
 * a fake machine.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/pci/pci.h"
#include "drivers/virtio/spec.h"
#include "drivers/virtio_net/vnet.h"
#include "tests/fake/fake_vpci.h"
#include "tests/host/support/irq.h"
#include "tests/host/support/net_env.h"

#define BIT(n) (1ull << (n))

enum { PAGES = 4096, NICS = 4, FRAME_BYTES = 100 };

static struct fake_pci machine;
static struct fake_vpci fakes[NICS];
static struct netdev *nics[NICS];
static size_t nic_count;
static struct options options;
static const struct vnet_buses buses = {.pci = &pci_ports};
static unsigned sent;

static const struct fake_vpci_setup modern = {
    .features = VIRTIO_VERSION_1 | BIT(VNET_F_MAC) | BIT(VNET_F_STATUS) | BIT(VNET_F_MRG_RXBUF),
    .queue_size = 64,
    .modern = true,
    .vectors = 3,
    .notify_multiplier = 4,
    .slot = 3};
static const struct fake_vpci_setup legacy = {.features = BIT(VNET_F_MAC) | BIT(VNET_F_STATUS),
                                              .queue_size = 64,
                                              .legacy = true,
                                              .vectors = 3,
                                              .slot = 3};
static const struct fake_vpci_setup *const layouts[] = {&modern, &legacy};

static void start_machine(void)
{
    net_env_init(PAGES);
    fake_pci_init(&machine);
    sent = 0;
}

static void on_sent(void *stack, void *cookie)
{
    (void)stack;
    (void)cookie;
    sent++;
}

static void probe(void)
{
    nic_count = vnet_probe_all(nics, NICS, &options, &buses);
    for (size_t i = 0; i < nic_count; i++)
        nics[i]->on_sent = on_sent;
}

/* strays: how often the driver may have reached where nothing is. */
static void close_all_after(unsigned strays)
{
    for (size_t i = 0; i < nic_count; i++)
        vnet_close(vnet_of(nics[i]));
    for (unsigned i = 0; i < NICS; i++) {
        if (fakes[i].vdev.violations)
            fail_msg("driver: %s", fakes[i].vdev.violation);
        fakes[i].vdev.violations = 0;
    }
    if (machine.violations)
        fail_msg("driver: %s", machine.violation);
    assert_int_equal(host_bus_strays(), strays);
    assert_true(net_env_clean());
}

static void close_all(void)
{
    close_all_after(0);
}

static void count_frame(void *arg, const struct fake_net_hdr *hdr, const uint8_t *frame, size_t len)
{
    (void)hdr;
    (void)frame;
    assert_int_equal(len, FRAME_BYTES);
    ++*(unsigned *)arg;
}

/* One frame each way. When armed, its arrival must interrupt, if anything can. */
static void pass_frames(struct netdev *nic, struct fake_vpci *fake, bool interrupts)
{
    static const uint8_t bytes[FRAME_BYTES] = {0x52, 0x54, 0, 0x12, 0x34, 0x56};
    const struct frame_piece piece = {bytes, sizeof(bytes)};
    const struct frame_out out = {.pieces = &piece, .piece_count = 1, .cookie = fake};
    struct frame_in in;
    unsigned seen = 0;

    assert_false(nic->ops->arm(nic));
    nic->irq_seen = false;
    assert_true(fake_net_receive(&fake->vdev, bytes, sizeof(bytes), NULL));
    assert_int_equal(nic->irq_seen, interrupts);
    assert_int_equal(nic->ops->poll(nic, &in, 1), 1);
    assert_int_equal(in.len, FRAME_BYTES);
    frag_give_list(in.head);

    sent = 0;
    assert_int_equal(nic->ops->send(nic, &out), 0);
    nic->ops->flush(nic);
    assert_int_equal(fake_net_transmit(&fake->vdev, 8, count_frame, &seen), 1);
    assert_int_equal(seen, 1);
    nic->ops->tick(nic);
    assert_int_equal(sent, 1);
}

/* The configuration's interrupt reaches the driver, and only it changes the link. */
static void pull_the_cable(struct netdev *nic, struct fake_vpci *fake)
{
    static const uint8_t down[2] = {0, 0};

    assert_true(nic->link_up);
    fake_config_set(&fake->vdev, 6, down, 2);
    fake_vpci_config_interrupt(fake);
    nic->ops->tick(nic);
    assert_false(nic->link_up);
}

static void one_nic(const struct fake_vpci_setup *setup, bool interrupts)
{
    start_machine();
    fake_vpci_init(&fakes[0], &machine, setup);
    probe();
    assert_int_equal(nic_count, 1);
    assert_string_equal(nics[0]->name, "net0");
    pass_frames(nics[0], &fakes[0], interrupts);
    if (interrupts)
        pull_the_cable(nics[0], &fakes[0]);
    assert_int_equal(net_env_errors(), 0);
}

static void a_nic_works_with_any_number_of_vectors(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(layouts); i++) {
        for (uint16_t vectors = 0; vectors <= 4; vectors++) {
            struct fake_vpci_setup setup = *layouts[i];
            setup.vectors = vectors;
            one_nic(&setup, true);
            assert_int_equal(vnet_of(nics[0])->dev->msix, vectors != 0);
            close_all();
        }
    }
}

static void a_nic_works_with_any_number_of_vectors_accepted(void **state)
{
    static const enum fake_vpci_fault faults[] = {FAKE_VECTORS_REFUSED, FAKE_VECTORS_ONE,
                                                  FAKE_VECTORS_TWO};
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(layouts); i++) {
        for (unsigned k = 0; k < ARRAY_COUNT(faults); k++) {
            struct fake_vpci_setup setup = *layouts[i];
            setup.fault = faults[k];
            one_nic(&setup, true);
            close_all();
        }
    }
}

static void a_nic_that_cannot_interrupt_is_polled_and_says_so(void **state)
{
    struct fake_vpci_setup setup = modern;
    (void)state;
    setup.vectors = 0;
    start_machine();
    host_irq_refuse_lines(true);
    fake_vpci_init(&fakes[0], &machine, &setup);
    probe();
    assert_int_equal(nic_count, 1);
    assert_true(net_env_logged("no interrupt reaches it"));
    pass_frames(nics[0], &fakes[0], false);
    close_all();
}

static void a_nic_above_4_gib_works(void **state)
{
    struct fake_vpci_setup setup = modern;
    (void)state;
    setup.base = 0x7000000000;
    one_nic(&setup, true);
    close_all();
}

static void nics_are_numbered_in_bus_order_and_a_bad_one_is_passed_over(void **state)
{
    struct fake_vpci_setup setup = modern;
    (void)state;
    start_machine();
    setup.slot = 9;
    fake_vpci_init(&fakes[0], &machine, &setup); /* put in first, found last */
    setup.slot = 5;
    setup.fault = FAKE_QUEUE_NOT_ENABLED;
    fake_vpci_init(&fakes[1], &machine, &setup);
    setup.slot = 7;
    setup.fault = FAKE_CAP_MISSING;
    setup.fault_type = 1;
    fake_vpci_init(&fakes[2], &machine, &setup);
    fake_vpci_init(&fakes[3], &machine, &legacy); /* slot 3 */
    probe();

    assert_int_equal(nic_count, 2);
    assert_string_equal(nics[0]->name, "net0");
    assert_string_equal(nics[1]->name, "net1");
    pass_frames(nics[0], &fakes[3], true);
    pass_frames(nics[1], &fakes[0], true);
    assert_int_equal(net_env_errors(), 2); /* one for each bad one */
    assert_false(fake_msix_on(&fakes[1].fn));
    close_all();
}

static void several_nics_share_a_line(void **state)
{
    struct fake_vpci_setup setup = modern;
    (void)state;
    start_machine();
    setup.vectors = 0;
    for (uint8_t i = 0; i < 3; i++) {
        setup.slot = (uint8_t)(3 + i);
        fake_vpci_init(&fakes[i], &machine, &setup);
    }
    probe();
    assert_int_equal(nic_count, 3);
    for (unsigned i = 0; i < 3; i++) {
        pass_frames(nics[i], &fakes[i], true);
        for (unsigned k = i + 1; k < 3; k++)
            assert_false(nics[k]->irq_seen); /* its ISR said that it wasn't meant */
    }
    close_all();
}

static void every_lie_of_the_device_ends_in_an_error_and_a_reset(void **state)
{
    static const enum fake_fault lies[] = {FAKE_QUEUE_SIZE_ZERO, FAKE_QUEUE_SIZE_ODD,
                                           FAKE_QUEUE_SIZE_HUGE, FAKE_RESET_NEVER_ENDS,
                                           FAKE_FEATURES_REFUSED};
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(lies); i++) {
        start_machine();
        fake_vpci_init(&fakes[0], &machine, &modern);
        fakes[0].vdev.fault = lies[i];
        probe();
        assert_int_equal(nic_count, 0);
        assert_true(net_env_errors() >= 1);
        close_all();
    }
}

/* A reset makes the device forget its vectors (§4.1.5.1.2). */
static void interrupts_come_as_before_after_a_reset(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(layouts); i++) {
        for (uint16_t vectors = 0; vectors <= 4; vectors++) {
            struct fake_vpci_setup setup = *layouts[i];
            setup.vectors = vectors;
            start_machine();
            fake_vpci_init(&fakes[0], &machine, &setup);
            probe();
            fakes[0].vdev.status |= VIRTIO_S_NEEDS_RESET;
            fake_vpci_config_interrupt(&fakes[0]);
            nics[0]->ops->tick(nics[0]);
            assert_int_equal(vnet_of(nics[0])->recover.faults[VNET_FAULT_ASKED], 1);
            pass_frames(nics[0], &fakes[0], true);
            pull_the_cable(nics[0], &fakes[0]);
            assert_int_equal(net_env_errors(), 0);
            close_all();
        }
    }
}

static void a_nic_that_is_pulled_out_leaves_the_others_alone(void **state)
{
    (void)state;
    for (unsigned i = 0; i < ARRAY_COUNT(layouts); i++) {
        struct fake_vpci_setup setup = *layouts[i];
        start_machine();
        fake_vpci_init(&fakes[0], &machine, &setup);
        setup.slot = 4;
        fake_vpci_init(&fakes[1], &machine, &setup);
        probe();
        assert_int_equal(nic_count, 2);
        fake_pci_unplug(&fakes[0].fn);
        for (unsigned n = 0; n < VNET_LOOK_TICKS; n++)
            for (unsigned k = 0; k < 2; k++)
                nics[k]->ops->tick(nics[k]);
        assert_true(nics[0]->broken);
        assert_true(net_env_logged("net0: unplugged: nothing answers at 00:03.0 any more"));
        assert_int_equal(net_env_errors(), 1);
        pass_frames(nics[1], &fakes[1], true);
        close_all_after(3); /* it looked, reset, and looked again */
    }
}

#define T(name) cmocka_unit_test(name)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_nic_works_with_any_number_of_vectors),
        T(a_nic_works_with_any_number_of_vectors_accepted),
        T(a_nic_that_cannot_interrupt_is_polled_and_says_so),
        T(a_nic_above_4_gib_works),
        T(nics_are_numbered_in_bus_order_and_a_bad_one_is_passed_over),
        T(several_nics_share_a_line),
        T(every_lie_of_the_device_ends_in_an_error_and_a_reset),
        T(interrupts_come_as_before_after_a_reset),
        T(a_nic_that_is_pulled_out_leaves_the_others_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
