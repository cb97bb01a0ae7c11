/* MSI-X: the table in its BAR, masking, turning on and off. PCI Local Bus 3.0 §6.8.2. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <cmocka.h>

#include "drivers/pci/msix.h"
#include "tests/fake/fake_pci.h"
#include "tests/host/support/irq.h"

enum { BAR = 2, BAR_BYTES = 0x1000, TABLE_AT = 0x800, ENTRIES = 5 };

static struct fake_pci machine;
static struct fake_pci_fn device;
static struct pci_function fn;
static struct msix msix;

static void keep(void *arg, const struct pci_function *found)
{
    (void)arg;
    fn = *found;
}

static uint32_t table_read(struct fake_pci_fn *f, uint64_t offset, unsigned bytes)
{
    return fake_msix_read(f, offset, bytes);
}

static void make(uint64_t base, bool io, uint32_t table_at, uint16_t entries)
{
    fake_pci_init(&machine);
    fake_pci_fn_init(&device, 0, 3, 0, 0x1234, 0x5678);
    device.bar[BAR] = (struct fake_pci_bar){
        .size = BAR_BYTES, .io = io, .wide = !io, .read = table_read, .write = fake_msix_write};
    fake_pci_place_bar(&device, BAR, base);
    if (entries)
        fake_msix_init(&device, entries, BAR, table_at);
    fake_pci_add(&machine, &device);
    pci_scan(&pci_ports, keep, NULL);
    pci_size_bars(&fn);
}

static int fresh(void **state)
{
    (void)state;
    make(0x480000000, false, TABLE_AT, ENTRIES);
    assert_int_equal(msix_open(&msix, &fn), 0);
    return 0;
}

static int unhurt(void **state)
{
    (void)state;
    if (machine.violations)
        print_error("driver: %s\n", machine.violation);
    assert_int_equal(host_bus_strays(), 0);
    return machine.violations ? -1 : 0;
}

static void count(void *arg)
{
    ++*(unsigned *)arg;
}

static void an_open_table_is_masked_and_off(void **state)
{
    (void)state;
    assert_int_equal(msix.count, ENTRIES);
    assert_false(fake_msix_on(&device));
    for (unsigned i = 0; i < ENTRIES; i++)
        assert_int_equal(device.msix[i].control, 1);
}

static void what_the_last_owner_left_on_is_turned_off(void **state)
{
    (void)state;
    device.config[device.msix_cap + 3] |= 0x80;
    for (unsigned i = 0; i < ENTRIES; i++)
        device.msix[i].control = 0;
    assert_int_equal(msix_open(&msix, &fn), 0);
    an_open_table_is_masked_and_off(state);
}

static void each_entry_calls_its_own_handler(void **state)
{
    unsigned calls[ENTRIES] = {0};
    (void)state;
    for (int i = 0; i < ENTRIES; i++)
        assert_int_equal(msix_add(&msix, count, &calls[i]), i);
    msix_enable(&msix, ENTRIES);
    for (uint16_t i = 0; i < ENTRIES; i++) {
        assert_true(fake_msix_raise(&device, i));
        assert_int_equal(calls[i], 1);
    }
}

static void nothing_comes_before_it_is_on_or_after_it_is_off(void **state)
{
    unsigned calls = 0;
    (void)state;
    msix_add(&msix, count, &calls);
    assert_false(fake_msix_raise(&device, 0));
    msix_enable(&msix, 1);
    assert_true(fake_msix_raise(&device, 0));
    msix_disable(&msix);
    assert_false(fake_msix_raise(&device, 0));
    assert_int_equal(calls, 1);
}

static void only_the_entries_in_use_are_unmasked(void **state)
{
    unsigned calls = 0;
    (void)state;
    msix_add(&msix, count, &calls);
    msix_add(&msix, count, &calls);
    msix_enable(&msix, 1);
    assert_true(fake_msix_raise(&device, 0));
    assert_false(fake_msix_raise(&device, 1));
    msix_disable(&msix);
    msix_enable(&msix, 2); /* on again: the entries kept their handlers */
    assert_true(fake_msix_raise(&device, 1));
    assert_int_equal(calls, 2);
}

static void intx_is_off_while_msix_is_on(void **state)
{
    (void)state;
    msix_enable(&msix, 0);
    assert_int_equal(fake_pci_get16(&device, PCI_COMMAND) & PCI_COMMAND_NO_INTX,
                     PCI_COMMAND_NO_INTX);
}

static void the_table_has_an_end_and_so_have_the_processors_vectors(void **state)
{
    unsigned calls;
    (void)state;
    host_irq_limit(2);
    assert_int_equal(msix_add(&msix, count, &calls), 0);
    assert_int_equal(msix_add(&msix, count, &calls), 1);
    assert_int_equal(msix_add(&msix, count, &calls), -ENOSPC);
    host_irq_limit(HOST_IRQ_VECTORS);
    for (int i = 2; i < ENTRIES; i++)
        assert_int_equal(msix_add(&msix, count, &calls), i);
    assert_int_equal(msix_add(&msix, count, &calls), -ENOSPC);
}

static void a_function_without_msix_says_so(void **state)
{
    unsigned calls;
    (void)state;
    make(0xfe000000, false, 0, 0);
    assert_int_equal(msix_open(&msix, &fn), -ENOENT);
    assert_int_equal(msix_add(&msix, count, &calls), -ENOENT);
    msix_disable(&msix); /* does nothing */
}

static void a_table_that_cannot_be_reached_is_refused(void **state)
{
    (void)state;
    make(0xfe000000, false, BAR_BYTES - 16 * ENTRIES + 8, ENTRIES); /* half an entry too far */
    assert_int_equal(msix_open(&msix, &fn), -EINVAL);
    make(0xfe000000, false, BAR_BYTES, ENTRIES);
    assert_int_equal(msix_open(&msix, &fn), -EINVAL);
    make(0xfe000000, false, UINT32_MAX - 7, ENTRIES);
    assert_int_equal(msix_open(&msix, &fn), -EINVAL);
    make(0xc000, true, 0, ENTRIES); /* in port space */
    assert_int_equal(msix_open(&msix, &fn), -EINVAL);
    make(0, false, 0, ENTRIES); /* without an address */
    assert_int_equal(msix_open(&msix, &fn), -EINVAL);
    make(0xfe000000, false, 0, ENTRIES);
    device.config[device.msix_cap + 4] = 7; /* a reserved BAR */
    assert_int_equal(msix_open(&msix, &fn), -EINVAL);
    assert_int_equal(fake_pci_get16(&device, PCI_COMMAND), 0); /* and nothing was enabled */
}

static void a_capability_that_leaves_configuration_space_is_refused(void **state)
{
    (void)state;
    make(0xfe000000, false, 0, 0);
    device.next_free = 0xf8;
    fake_pci_capability(&device, PCI_CAP_MSIX, "\0\0\2\0\0\0", 6);
    assert_int_equal(msix_open(&msix, &fn), -EINVAL);
}

#define T(name) cmocka_unit_test_setup_teardown(name, fresh, unhurt)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(an_open_table_is_masked_and_off),
        T(what_the_last_owner_left_on_is_turned_off),
        T(each_entry_calls_its_own_handler),
        T(nothing_comes_before_it_is_on_or_after_it_is_off),
        T(only_the_entries_in_use_are_unmasked),
        T(intx_is_off_while_msix_is_on),
        T(the_table_has_an_end_and_so_have_the_processors_vectors),
        T(a_function_without_msix_says_so),
        T(a_table_that_cannot_be_reached_is_refused),
        T(a_capability_that_leaves_configuration_space_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
