/* A machine whose firmware leaves PCI alone: configuration space in memory, BARs and bridges still to be set up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/pci/pci_ecam.h"
#include "drivers/pci/pci_place.h"
#include "tests/fake/fake_pci.h"

#define ECAM 0xe0000000ull
#define WINDOW 0xc0000000ull
enum { KIB = 1024, MIB = 1024 * KIB, FNS = 6, MEMORY_WINDOW = 0x20, WINDOW_OFF = 0xfff0 };

static struct fake_pci machine;
static struct fake_pci_fn fns[FNS];

static const struct pci_access *start(void)
{
    fake_pci_init(&machine);
    fake_pci_only_ecam(&machine, ECAM);
    memset(fns, 0, sizeof(fns));
    return pci_ecam_open(ECAM, 0, 255);
}

static struct fake_pci_fn *add(unsigned i, uint8_t bus, uint8_t slot)
{
    fake_pci_fn_init(&fns[i], bus, slot, 0, 0x1af4, (uint16_t)(0x1041 + i));
    fake_pci_add(&machine, &fns[i]);
    return &fns[i];
}

static void add_bar(struct fake_pci_fn *fn, unsigned i, uint64_t size, bool wide, uint64_t base)
{
    fn->bar[i].size = size;
    fn->bar[i].wide = wide;
    fake_pci_place_bar(fn, i, base);
}

static uint64_t base_of(const struct fake_pci_fn *fn, unsigned i)
{
    uint64_t v;

    memcpy(&v, fn->config + 0x10 + 4 * i, 8);
    return (v & 6) == 4 ? v & ~15ull : v & 0xfffffff0;
}

static uint32_t get32(const struct fake_pci_fn *fn, unsigned at)
{
    uint32_t v;

    memcpy(&v, fn->config + at, 4);
    return v;
}

static void count_function(void *arg, const struct pci_function *fn)
{
    (void)fn;
    ++*(unsigned *)arg;
}

static void functions_are_found_in_memory(void **state)
{
    unsigned count = 0;
    (void)state;
    const struct pci_access *access = start();
    add(0, 0, 3);
    fns[0].config[0x0e] = 0x80; /* several functions */
    add(1, 0, 3)->fn = 5;
    add(2, 0, 31);
    pci_scan(access, count_function, &count);
    assert_int_equal(count, 3);
    assert_false(pci_ports_present());
    fake_pci_init(&machine);
    assert_true(pci_ports_present());
}

static void buses_out_of_range_hold_nothing(void **state)
{
    (void)state;
    start();
    add(0, 3, 1);
    const struct pci_access *access = pci_ecam_open(ECAM, 0, 2);
    const struct pci_function fn = {.access = access, .bus = 3, .slot = 1};
    assert_int_equal(pci_read16(&fn, PCI_VENDOR), 0xffff);
    pci_write32(&fn, PCI_BAR0, 1);
    assert_int_equal(host_bus_strays(), 0);
    host_bus_refuse_map(1 << 20);
    assert_null(pci_ecam_open(ECAM, 0, 2));
}

static void each_bar_gets_an_aligned_place_of_its_own(void **state)
{
    (void)state;
    const struct pci_access *access = start();
    add_bar(add(0, 0, 1), 1, 4 * KIB, false, 0);
    add_bar(&fns[0], 4, 16 * KIB, true, 0);
    add_bar(add(1, 0, 2), 0, MIB, true, 0);

    assert_int_equal(pci_place_bars(access, WINDOW, 16 * MIB), 3);
    assert_int_equal(base_of(&fns[0], 1), WINDOW);
    assert_int_equal(base_of(&fns[0], 4), WINDOW + 16 * KIB);
    assert_int_equal(base_of(&fns[1], 0), WINDOW + MIB);
    assert_int_equal(machine.violations, 0);
    /* … and is left alone from then on. */
    assert_int_equal(pci_place_bars(access, WINDOW + 32 * MIB, 16 * MIB), 0);
    assert_int_equal(base_of(&fns[0], 1), WINDOW);
}

static void what_firmware_has_placed_is_not_moved(void **state)
{
    (void)state;
    const struct pci_access *access = start();
    add_bar(add(0, 0, 1), 0, 4 * KIB, false, 0);
    add_bar(add(1, 0, 2), 0, 4 * KIB, false, 0xfe000000);
    assert_int_equal(pci_place_bars(access, WINDOW, 16 * MIB), 0);
    assert_int_equal(base_of(&fns[0], 0), 0);
    assert_int_equal(base_of(&fns[1], 0), 0xfe000000);
}

static void a_bar_that_finds_no_room_stays_without_an_address(void **state)
{
    (void)state;
    const struct pci_access *access = start();
    add_bar(add(0, 0, 1), 0, 4 * KIB, false, 0);
    add_bar(&fns[0], 2, 2 * MIB, true, 0);
    add_bar(add(1, 0, 2), 0, 4 * KIB, false, 0);
    assert_int_equal(pci_place_bars(access, WINDOW, MIB), 2);
    assert_int_equal(base_of(&fns[0], 2), 0);
    assert_int_equal(base_of(&fns[1], 0), WINDOW + 4 * KIB);
    start();
    add_bar(add(0, 0, 1), 0, 4 * KIB, false, 0);
    add_bar(&fns[0], 2, MIB, true, 0);
    assert_int_equal(pci_place_bars(access, WINDOW, MIB + 4 * KIB),
                     1); /* starts in it, ends outside */
    assert_int_equal(base_of(&fns[0], 2), 0);
    assert_int_equal(pci_place_bars(access, 0, MIB), 0);
    assert_int_equal(pci_place_bars(access, 0x100000000, MIB), 0);
}

static void bridges_get_a_bus_and_a_window_round_what_is_behind_them(void **state)
{
    (void)state;
    const struct pci_access *access = start();
    fake_pci_make_bridge(add(0, 0, 1), 0);
    fake_pci_make_bridge(add(1, 1, 0), 0);
    add_bar(add(2, 2, 0), 4, 16 * KIB, true, 0);
    fake_pci_make_bridge(add(3, 0, 4), 0); /* with nothing behind */
    add_bar(add(4, 0, 3), 0, 4 * KIB, false, 0);

    assert_int_equal(pci_place_bars(access, WINDOW, 16 * MIB), 2);
    assert_int_equal(get32(&fns[0], 0x18) & 0xffffff,
                     0x020100); /* subordinate, secondary, primary */
    assert_int_equal(get32(&fns[1], 0x18) & 0xffffff, 0x020201);
    assert_int_equal(get32(&fns[3], 0x18) & 0xffffff, 0x030300);
    assert_int_equal(base_of(&fns[2], 4), WINDOW);
    assert_int_equal(get32(&fns[0], MEMORY_WINDOW), 0xc000c000); /* its only MiB */
    assert_int_equal(get32(&fns[1], MEMORY_WINDOW), 0xc000c000);
    assert_int_equal(fns[0].config[4] & 6, 6);
    assert_int_equal(fns[3].config[4] & 6, 0);
    assert_int_equal(get32(&fns[0], MEMORY_WINDOW + 4), WINDOW_OFF);
    assert_int_equal(base_of(&fns[4], 0), WINDOW + MIB);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_found_in_memory),
        cmocka_unit_test(buses_out_of_range_hold_nothing),
        cmocka_unit_test(each_bar_gets_an_aligned_place_of_its_own),
        cmocka_unit_test(what_firmware_has_placed_is_not_moved),
        cmocka_unit_test(a_bar_that_finds_no_room_stays_without_an_address),
        cmocka_unit_test(bridges_get_a_bus_and_a_window_round_what_is_behind_them),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
