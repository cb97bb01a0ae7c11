/* Finding functions, walking their capabilities, sizing their BARs, on a fake bus. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/pci/pci.h"
#include "tests/fake/fake_pci.h"

enum { VENDOR = 0x1234, DEVICE = 0x5678, CAP = 0x09, OTHER = 0x05 };

static struct fake_pci machine;
static struct fake_pci_fn device;

/* What pci_scan() found. */
static struct pci_function found[FAKE_PCI_FUNCTIONS];
static unsigned found_count;

static void note(void *arg, const struct pci_function *fn)
{
    (void)arg;
    if (found_count < FAKE_PCI_FUNCTIONS)
        found[found_count] = *fn;
    found_count++;
}

static void scan(void)
{
    found_count = 0;
    pci_scan(&pci_ports, note, NULL);
}

static int fresh(void **state)
{
    (void)state;
    fake_pci_init(&machine);
    fake_pci_fn_init(&device, 0, 3, 0, VENDOR, DEVICE);
    fake_pci_add(&machine, &device);
    return 0;
}

static int unhurt(void **state)
{
    (void)state;
    if (machine.violations)
        print_error("driver: %s\n", machine.violation);
    return machine.violations ? -1 : 0;
}

/* ---- enumeration ---- */

static void a_function_is_found_and_described(void **state)
{
    (void)state;
    fake_pci_put16(&device, PCI_SUBSYSTEM, 1);
    device.config[PCI_REVISION] = 7;

    scan();

    assert_int_equal(found_count, 1);
    assert_int_equal(found[0].vendor, VENDOR);
    assert_int_equal(found[0].device, DEVICE);
    assert_int_equal(found[0].subsystem, 1);
    assert_int_equal(found[0].revision, 7);
    assert_int_equal(found[0].irq_line, 11);
    assert_string_equal(found[0].where, "00:03.0");
}

static void an_empty_bus_has_nothing(void **state)
{
    (void)state;
    fake_pci_unplug(&device);
    scan();
    assert_int_equal(found_count, 0);
}

static void a_machine_without_pci_has_nothing(void **state)
{
    (void)state;
    host_bus_reset(); /* nobody answers at the two ports either */
    scan();
    assert_int_equal(found_count, 0);
}

static void only_a_multi_function_device_is_asked_for_more(void **state)
{
    struct fake_pci_fn second, seventh;
    (void)state;
    fake_pci_fn_init(&second, 0, 3, 1, VENDOR, 2);
    fake_pci_fn_init(&seventh, 0, 3, 7, VENDOR, 7);
    fake_pci_add(&machine, &second);
    fake_pci_add(&machine, &seventh);

    scan();
    assert_int_equal(found_count, 1);

    device.config[PCI_HEADER_TYPE] = 0x80;
    scan();
    assert_int_equal(found_count, 3);
    assert_string_equal(found[2].where, "00:03.7");
}

static void functions_behind_two_bridges_are_found(void **state)
{
    struct fake_pci_fn outer, inner, far_one;
    (void)state;
    fake_pci_fn_init(&outer, 0, 5, 0, VENDOR, 1);
    fake_pci_make_bridge(&outer, 1);
    fake_pci_fn_init(&inner, 1, 2, 0, VENDOR, 2);
    fake_pci_make_bridge(&inner, 9);
    fake_pci_fn_init(&far_one, 9, 31, 0, VENDOR, 3);
    fake_pci_add(&machine, &outer);
    fake_pci_add(&machine, &inner);
    fake_pci_add(&machine, &far_one);

    scan();

    assert_int_equal(found_count, 2);
    assert_string_equal(found[1].where, "09:1f.0");
}

static void bridges_pointing_in_a_circle_end(void **state)
{
    struct fake_pci_fn there, back, itself;
    (void)state;
    fake_pci_fn_init(&there, 0, 4, 0, VENDOR, 1);
    fake_pci_make_bridge(&there, 1);
    fake_pci_fn_init(&back, 1, 0, 0, VENDOR, 2);
    fake_pci_make_bridge(&back, 0);
    fake_pci_fn_init(&itself, 1, 1, 0, VENDOR, 3);
    fake_pci_make_bridge(&itself, 1);
    fake_pci_add(&machine, &there);
    fake_pci_add(&machine, &back);
    fake_pci_add(&machine, &itself);

    scan();
    assert_int_equal(found_count, 1);
}

static void a_header_of_unknown_layout_is_left_alone(void **state)
{
    (void)state;
    device.config[PCI_HEADER_TYPE] = 2; /* CardBus */
    scan();
    assert_int_equal(found_count, 0);
}

static void scanning_writes_nothing(void **state)
{
    uint8_t before[256];
    (void)state;
    device.bar[0] = (struct fake_pci_bar){.size = 4096};
    fake_pci_place_bar(&device, 0, 0xfe000000);
    memset(device.writable, 0xff, sizeof(device.writable));
    memcpy(before, device.config, sizeof(before));
    scan();
    assert_memory_equal(before, device.config, sizeof(before));
}

/* ---- configuration space ---- */

static void registers_are_reached_at_every_width(void **state)
{
    const struct pci_function fn = {.access = &pci_ports, .slot = 3};
    (void)state;
    fake_pci_put32(&device, 0x50, 0x44332211);
    memset(device.writable + 0x50, 0xff, 8);

    assert_int_equal(pci_read8(&fn, 0x51), 0x22);
    assert_int_equal(pci_read8(&fn, 0x53), 0x44);
    assert_int_equal(pci_read16(&fn, 0x52), 0x4433);
    assert_int_equal(pci_read32(&fn, 0x50), 0x44332211);
    pci_write16(&fn, 0x52, 0xbeef);
    pci_write32(&fn, 0x54, 0xdeadf00d);
    assert_int_equal(pci_read32(&fn, 0x50), 0xbeef2211);
    assert_int_equal(pci_read32(&fn, 0x54), 0xdeadf00d);
}

static void the_command_register_keeps_its_other_bits(void **state)
{
    const struct pci_function fn = {.access = &pci_ports, .slot = 3};
    (void)state;
    fake_pci_put16(&device, PCI_COMMAND, PCI_COMMAND_MEMORY);
    pci_command(&fn, PCI_COMMAND_MASTER | PCI_COMMAND_NO_INTX, PCI_COMMAND_MEMORY);
    assert_int_equal(fake_pci_get16(&device, PCI_COMMAND),
                     PCI_COMMAND_MASTER | PCI_COMMAND_NO_INTX);
}

/* ---- capabilities ---- */

static unsigned count_capabilities(uint8_t id)
{
    struct pci_cap_walk walk = {0};
    unsigned count = 0;

    scan();
    assert_int_equal(found_count, 1);
    while (pci_next_capability(&found[0], &walk, id) != 0) {
        assert_true(++count < 256);
        assert_true(walk.at >= 0x40 && walk.at % 4 == 0);
    }
    assert_int_equal(pci_next_capability(&found[0], &walk, id), 0); /* an end stays an end */
    return count;
}

static void capabilities_are_found_by_id_in_order(void **state)
{
    struct pci_cap_walk walk = {0};
    uint8_t first, third;
    (void)state;
    first = fake_pci_capability(&device, CAP, "abcdef", 6);
    fake_pci_capability(&device, OTHER, "gh", 2);
    third = fake_pci_capability(&device, CAP, "ij", 2);
    scan();

    assert_int_equal(pci_next_capability(&found[0], &walk, CAP), first);
    assert_int_equal(pci_next_capability(&found[0], &walk, CAP), third);
    assert_int_equal(pci_next_capability(&found[0], &walk, CAP), 0);
}

static void no_list_is_no_list(void **state)
{
    (void)state;
    fake_pci_capability(&device, CAP, "", 0);
    device.config[PCI_STATUS] = 0; /* the pointer means nothing without the status bit */
    assert_int_equal(count_capabilities(CAP), 0);
}

static void the_longest_list_is_walked_to_its_end(void **state)
{
    (void)state;
    for (int i = 0; i < 48; i++)
        fake_pci_capability(&device, CAP, "xx", 2);
    assert_int_equal(count_capabilities(CAP), 48);
}

static void a_list_that_loops_ends(void **state)
{
    uint8_t first, second;
    (void)state;
    first = fake_pci_capability(&device, CAP, "xx", 2);
    second = fake_pci_capability(&device, CAP, "xx", 2);
    device.config[second + 1] = first;
    assert_in_range(count_capabilities(CAP), 2, 49);
    assert_int_equal(count_capabilities(OTHER), 0);

    device.config[first + 1] = first;
    assert_in_range(count_capabilities(CAP), 1, 49);
}

static void a_pointer_into_the_header_ends_the_list(void **state)
{
    uint8_t at;
    (void)state;
    at = fake_pci_capability(&device, CAP, "xx", 2);
    device.config[at + 1] = 0x3c;
    device.config[0x3c] = CAP;
    assert_int_equal(count_capabilities(CAP), 1);
}

static void the_reserved_bits_of_a_pointer_are_masked(void **state)
{
    uint8_t at;
    (void)state;
    at = fake_pci_capability(&device, CAP, "xx", 2);
    device.config[PCI_CAPABILITIES] = at | 3;
    assert_int_equal(count_capabilities(CAP), 1);
}

static void a_capability_in_the_last_four_bytes_does_no_harm(void **state)
{
    (void)state;
    fake_pci_capability(&device, CAP, "xx", 2);
    device.config[0x41] = 0xfc;
    device.config[0xfc] = CAP;
    device.config[0xfd] = 0;
    assert_int_equal(count_capabilities(CAP), 2);
}

/* ---- BARs ---- */

static const struct pci_bar *size_bars(void)
{
    scan();
    assert_int_equal(found_count, 1);
    pci_size_bars(&found[0]);
    return found[0].bar;
}

static void bar_is(const struct pci_bar *bar, uint64_t base, uint64_t size, bool io)
{
    assert_int_equal(bar->base, base);
    assert_int_equal(bar->size, size);
    assert_int_equal(bar->io, io);
}

static void put_bar(unsigned i, uint64_t base, uint64_t size, bool io, bool wide)
{
    device.bar[i] = (struct fake_pci_bar){.size = size, .io = io, .wide = wide};
    fake_pci_place_bar(&device, i, base);
}

static void every_kind_of_bar_is_sized(void **state)
{
    const struct pci_bar *bar;
    (void)state;
    put_bar(0, 0xc040, 0x20, true, false);
    put_bar(1, 0xfebf1000, 0x1000, false, false);
    put_bar(2, 0x800000000, 0x4000, false, true);
    put_bar(4, 0xfe000000, 0x10, false, true);
    fake_pci_put16(&device, PCI_COMMAND, 3); /* as firmware leaves it */

    bar = size_bars();

    bar_is(&bar[0], 0xc040, 0x20, true);
    bar_is(&bar[1], 0xfebf1000, 0x1000, false);
    bar_is(&bar[2], 0x800000000, 0x4000, false);
    bar_is(&bar[3], 0, 0, false); /* the upper half isn't a BAR */
    bar_is(&bar[4], 0xfe000000, 0x10, false);
    bar_is(&bar[5], 0, 0, false);
}

static void sizing_leaves_everything_as_it_was(void **state)
{
    uint8_t before[256];
    (void)state;
    put_bar(0, 0xc040, 0x20, true, false);
    put_bar(2, 0x800000000, 0x4000, false, true);
    fake_pci_put16(&device, PCI_COMMAND, 7);
    memcpy(before, device.config, sizeof(before));
    size_bars();
    assert_memory_equal(before, device.config, sizeof(before));
}

static void bars_of_4_gib_and_more_are_sized(void **state)
{
    const struct pci_bar *bar;
    (void)state;
    put_bar(0, 0x4000000000, 1ull << 32, false, true);
    put_bar(2, 0x8000000000, 1ull << 38, false, true);
    bar = size_bars();
    bar_is(&bar[0], 0x4000000000, 1ull << 32, false);
    bar_is(&bar[1], 0, 0, false);
    bar_is(&bar[2], 0x8000000000, 1ull << 38, false);
    bar_is(&bar[3], 0, 0, false); /* its upper half has a size of its own, so to speak */
}

static void a_bar_that_firmware_left_at_zero_has_a_size_but_no_address(void **state)
{
    const struct pci_bar *bar;
    (void)state;
    put_bar(0, 0, 0x1000, false, false);
    bar = size_bars();
    bar_is(&bar[0], 0, 0x1000, false);
    assert_null(pci_map(&found[0], 0, 0, 0x1000));
    assert_null(pci_map(&found[0], 0, 0x10, 4));
}

static void the_port_bars_upper_half_may_be_wired_to_ones_or_zeros(void **state)
{
    const struct pci_bar *bar;
    (void)state;
    put_bar(0, 0xc000, 0x40, true, false);
    memset(device.writable + PCI_BAR0 + 2, 0xff, 2);
    put_bar(1, 0xd000, 0x100, true, false);
    bar = size_bars();
    bar_is(&bar[0], 0xc000, 0x40, true);
    bar_is(&bar[1], 0xd000, 0x100, true);
}

static void bars_that_make_no_sense_do_not_exist(void **state)
{
    const struct pci_bar *bar;
    (void)state;
    put_bar(0, 0xfe000000, 0x1000, false, false);
    device.writable[PCI_BAR0 + 2] = 0xf5;        /* the size isn't a power of two */
    put_bar(2, 0x1fffc000, 0x4000, true, false); /* ports end at 65,535 */
    device.config[PCI_BAR0 + 8] = 1;
    device.writable[PCI_BAR0 + 8] = 0;
    put_bar(5, 0xfd000000, 0x1000, false, true); /* 64 bits, but no slot behind it */
    bar = size_bars();
    for (unsigned i = 0; i < PCI_BARS; i++)
        bar_is(&bar[i], 0, 0, false);
}

static void a_function_that_is_pulled_out_has_no_bars(void **state)
{
    (void)state;
    put_bar(0, 0xfe000000, 0x1000, false, false);
    scan();
    fake_pci_unplug(&device);
    pci_size_bars(&found[0]);
    for (unsigned i = 0; i < PCI_BARS; i++)
        bar_is(&found[0].bar[i], 0, 0, false);
}

static void mapping_stays_inside_the_bar(void **state)
{
    const struct pci_function *fn = &found[0];
    (void)state;
    put_bar(0, 0xc040, 0x20, true, false);
    put_bar(2, 0x800000000, 0x4000, false, true);
    size_bars();

    assert_ptr_equal(pci_map(fn, 2, 0, 0x4000), (void *)(uintptr_t)0x800000000);
    assert_ptr_equal(pci_map(fn, 2, 0x3fff, 1), (void *)(uintptr_t)0x800003fff);
    assert_null(pci_map(fn, 2, 0, 0x4001));
    assert_null(pci_map(fn, 2, 0x4000, 1));
    assert_null(pci_map(fn, 2, 1, 0x4000));
    assert_null(pci_map(fn, 2, 0, 0));
    assert_null(pci_map(fn, 2, UINT64_MAX - 1, 4));
    assert_null(pci_map(fn, 2, 4, UINT64_MAX - 1));
    assert_null(pci_map(fn, 3, 0, 1));   /* an upper half */
    assert_null(pci_map(fn, 0, 0, 1));   /* in port space */
    assert_null(pci_map(fn, 6, 0, 1));   /* reserved numbers */
    assert_null(pci_map(fn, 255, 0, 1)); /* likewise */
    host_bus_refuse_map(0x800000000);
    assert_null(pci_map(fn, 2, 0, 4)); /* beyond what the processor can address */
}

#define T(name) cmocka_unit_test_setup_teardown(name, fresh, unhurt)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_function_is_found_and_described),
        T(an_empty_bus_has_nothing),
        T(a_machine_without_pci_has_nothing),
        T(only_a_multi_function_device_is_asked_for_more),
        T(functions_behind_two_bridges_are_found),
        T(bridges_pointing_in_a_circle_end),
        T(a_header_of_unknown_layout_is_left_alone),
        T(scanning_writes_nothing),
        T(registers_are_reached_at_every_width),
        T(the_command_register_keeps_its_other_bits),
        T(capabilities_are_found_by_id_in_order),
        T(no_list_is_no_list),
        T(the_longest_list_is_walked_to_its_end),
        T(a_list_that_loops_ends),
        T(a_pointer_into_the_header_ends_the_list),
        T(the_reserved_bits_of_a_pointer_are_masked),
        T(a_capability_in_the_last_four_bytes_does_no_harm),
        T(every_kind_of_bar_is_sized),
        T(sizing_leaves_everything_as_it_was),
        T(bars_of_4_gib_and_more_are_sized),
        T(a_bar_that_firmware_left_at_zero_has_a_size_but_no_address),
        T(the_port_bars_upper_half_may_be_wired_to_ones_or_zeros),
        T(bars_that_make_no_sense_do_not_exist),
        T(a_function_that_is_pulled_out_has_no_bars),
        T(mapping_stays_inside_the_bar),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
