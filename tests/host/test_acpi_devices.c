/* Device blocks in AML, as hypervisors write them and as nobody should. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "lib/acpi_devices.h"

enum { TABLE_AT = 0x1000, TABLE_MAX = 1 << 20, HEADER = 36 };

static uint8_t *table;
static size_t table_len; /* header included */
static void *copy;       /* exactly what was asked for, so that a read beyond it is seen */
static const struct acpi_facts facts = {
    .found = true, .dsdt = TABLE_AT, .madt = TABLE_AT, .mcfg = TABLE_AT};

static const void *view(uint64_t phys, uint64_t len)
{
    if (phys != TABLE_AT || len > table_len)
        return NULL;
    free(copy);
    copy = malloc(len);
    memcpy(copy, table, len);
    return copy;
}

static int set_up(void **state)
{
    (void)state;
    table = calloc(1, TABLE_MAX);
    table_len = HEADER;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    free(table);
    free(copy);
    copy = NULL;
    return 0;
}

static void put(const void *bytes, size_t len)
{
    memcpy(table + table_len, bytes, len);
    table_len += len;
}
#define PUT(...) put((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__}))

/* A PkgLength in two bytes for what has been put since `from`, filled in afterwards. */
static size_t open_block(void)
{
    PUT(0, 0);
    return table_len - 2;
}

static void close_block(size_t at)
{
    const size_t len = table_len - at;

    table[at] = (uint8_t)(0x40 | (len & 15));
    table[at + 1] = (uint8_t)(len >> 4);
}

static size_t open_device(const char *name)
{
    PUT(0x5b, 0x82);
    const size_t at = open_block();
    put(name, 4);
    return at;
}

static void put_hid(const char *hid)
{
    put("\x08_HID\x0d", 6);
    put(hid, strlen(hid) + 1);
}

static void put_crs(const void *bytes, size_t len)
{
    put("\x08_CRS\x11", 6);
    const size_t at = open_block();
    PUT(0x0b, (uint8_t)len, (uint8_t)(len >> 8));
    put(bytes, len);
    close_block(at);
}

static const uint8_t mmio_crs[] = {0x86, 9, 0, 1,    0x00, 0x2e, 0xb0, 0xfe, 0x00, 0x02, 0x00, 0x00,
                                   0x89, 6, 0, 0x01, 0x01, 0x2f, 0,    0,    0,    0x79, 0};

static void put_mmio(const char *name)
{
    const size_t device = open_device(name);
    put_hid("LNRO0005");
    PUT(0x08, '_', 'U', 'I', 'D', 0x0a, 0x17);
    put_crs(mmio_crs, sizeof(mmio_crs));
    close_block(device);
}

static void finish_table(void)
{
    uint8_t sum = 0;
    const uint32_t len = (uint32_t)table_len;

    memcpy(table, "DSDT", 4);
    memcpy(table + 4, &len, 4);
    table[9] = 0;
    for (size_t i = 0; i < table_len; i++)
        sum = (uint8_t)(sum + table[i]);
    table[9] = (uint8_t)-sum;
}

static struct acpi_device found[4];

static size_t find(const char *hid)
{
    finish_table();
    return acpi_find_devices(view, &facts, hid, found, ARRAY_COUNT(found));
}

static void a_device_is_found_with_its_memory_and_its_interrupt(void **state)
{
    (void)state;
    put("\x10\x49\x06_SB_", 7); /* a scope around it, whose length nobody reads */
    put_mmio("VR23");
    put_mmio("VR22");
    assert_int_equal(find("LNRO0005"), 2);
    assert_int_equal(found[0].mem_count, 1);
    assert_int_equal(found[0].mem[0].base, 0xfeb02e00);
    assert_int_equal(found[0].mem[0].len, 0x200);
    assert_true(found[0].has_irq);
    assert_int_equal(found[0].gsi, 0x2f);
    assert_false(found[0].irq_edge || found[0].irq_low);
    assert_int_equal(find("LNRO0006"), 0);
    assert_int_equal(find("LNRO000"), 0);
}

static void no_more_are_written_than_there_is_room_for(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 6; i++)
        put_mmio("VR00");
    assert_int_equal(find("LNRO0005"), 4);
}

static void names_belong_to_the_innermost_device(void **state)
{
    (void)state;
    const size_t outer = open_device("OUTR");
    put_hid("XXXX0001");
    put_mmio("VR00");
    put_crs("\x22\x20\x00\x79\x00", 5);
    close_block(outer);
    assert_int_equal(find("LNRO0005"), 1);
    assert_int_equal(found[0].gsi, 0x2f);
    assert_int_equal(find("XXXX0001"), 1);
    assert_int_equal(found[0].mem_count, 0);
    assert_int_equal(found[0].gsi, 5);
    assert_true(found[0].irq_edge); /* as a descriptor without a third byte says */
}

static void a_pci_root_is_found_by_its_compressed_name_with_all_it_has(void **state)
{
    static const uint8_t
        crs[] = {0x88, 13,   0,    2,    12,   0, 0, 0, 1,    0,    0xff, 0,    0,    0,
                 0xff, 0, /* buses 1 … 255 */
                 0x87, 23,   0,    0,    12,   0, 0, 0, 0,    0,    0,    0,    0,    0xc0,
                 0xff, 0xff, 0xff, 0xdf, 0,    0, 0, 0, 0,    0,    0,    0x20, /* 0xc0000000 … */
                 0x8a, 43,   0,    0,    12,   0, 0, 0, 0,    0,    0,    0,    0,    0,
                 0,    0,    0,    0,    0xc0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0,
                 0,    0,    0,    0,    0,    0, 0, 0, 0,    0,    0,    0,    0,    0,
                 0x40, 0,    0,    0, /* 0xc000000000 … */
                 0x87, 23,   0,    1,    12,   0, 0, 0, 0,    0,    0,    0,    0,    1,
                 0,    0,    0,    2,    0,    0, 0, 0, 0,    0,    0,    1,    0x79, 0};
    (void)state;
    const size_t device = open_device("PCI0");
    put("\x08_HID\x0c\x41\xd0\x0a\x08", 10);
    put("\x08_CID\x0c\x41\xd0\x0a\x03", 10);
    put("\x14\x0c_CBA", 6);
    PUT(0, 0xa4, 0x0c, 0, 0, 0, 0xe0);
    put_crs(crs, sizeof(crs));
    close_block(device);
    assert_int_equal(find("PNP0A08"), 1);
    assert_int_equal(found[0].ecam, 0xe0000000);
    assert_int_equal(found[0].bus_first, 1);
    assert_int_equal(found[0].bus_last, 255);
    assert_int_equal(found[0].mem_count, 2);
    assert_int_equal(found[0].mem[0].base, 0xc0000000);
    assert_int_equal(found[0].mem[0].len, 0x20000000);
    assert_int_equal(found[0].mem[1].base, 0xc000000000);
    assert_int_equal(found[0].mem[1].len, 0x4000000000);
    assert_int_equal(find("PNP0A03"), 0);
}

static void lengths_that_lead_out_of_the_table_end_the_search(void **state)
{
    (void)state;
    put_mmio("VR00");
    const size_t whole = table_len;
    for (size_t len = HEADER; len < whole; len++) {
        table_len = len;
        assert_int_equal(find("LNRO0005"), 0);
    }
    table_len = whole;
    assert_int_equal(find("LNRO0005"), 1);
}

static void resources_that_lie_are_left_out(void **state)
{
    static const uint8_t lies[] = {
        0x86, 9,    0,    1, 0, 0,    0, 0, 0, 0, 0, 0,    /* no length */
        0x86, 3,    0,    1, 2, 3,                         /* too short for its fields */
        0x89, 6,    0,    1, 0, 0x2f, 0, 0, 0,             /* no interrupt in the list */
        0x22, 0,    0,                                     /* no line in the mask */
        0x86, 9,    0,    1, 0, 0,    1, 0, 0, 1, 0, 0,    /* a good one */
        0x86, 0xff, 0xff, 1, 0, 0,    2, 0, 0, 1, 0, 0, 0, /* leads out of the template */
    };
    (void)state;
    const size_t device = open_device("DEV0");
    put_hid("LNRO0005");
    put_crs(lies, sizeof(lies));
    close_block(device);
    assert_int_equal(find("LNRO0005"), 1);
    assert_int_equal(found[0].mem_count, 1);
    assert_int_equal(found[0].mem[0].base, 0x10000);
    assert_false(found[0].has_irq);
}

/* Blocks that overlap without end: each starts behind the last one's start and ends behind its end. */
static void a_table_made_to_cost_time_is_given_up(void **state)
{
    (void)state;
    while (table_len < TABLE_MAX - 0x20000)
        PUT(0x5b, 0x82, 0xc0, 0x00, 0x10); /* 64 KiB from here */
    assert_int_equal(find("LNRO0005"), 0);
}

static void io_apics_are_read_from_the_madt(void **state)
{
    struct acpi_ioapic list[4];
    (void)state;
    PUT(0, 0, 0xe0, 0xfe, 1, 0, 0, 0);
    PUT(0, 8, 0, 0, 1, 0, 0, 0);
    PUT(1, 12, 0, 0, 0, 0, 0xc0, 0xfe, 0, 0, 0, 0);
    PUT(1, 12, 1, 0, 0, 0, 0xc1, 0xfe, 24, 0, 0, 0);
    PUT(1, 4, 1, 0);                                 /* too short */
    PUT(1, 13, 1, 0, 0, 0, 0xc2, 0xfe, 48, 0, 0, 0); /* leaves the table */
    finish_table();
    assert_int_equal(acpi_find_ioapics(view, &facts, list, 4), 2);
    assert_int_equal(list[0].base, 0xfec00000);
    assert_int_equal(list[1].base, 0xfec10000);
    assert_int_equal(list[1].gsi_base, 24);
    assert_int_equal(acpi_find_ioapics(view, &facts, list, 1), 1);
    table[HEADER + 9] = 0; /* an entry of no length */
    finish_table();
    assert_int_equal(acpi_find_ioapics(view, &facts, list, 4), 0);
}

static void configuration_space_is_read_from_the_mcfg(void **state)
{
    struct acpi_ecam ecam;
    (void)state;
    PUT(0, 0, 0, 0, 0, 0, 0, 0);
    PUT(0, 0, 0, 0xe0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0, 0, 0, 0);
    finish_table();
    assert_true(acpi_find_ecam(view, &facts, &ecam));
    assert_int_equal(ecam.base, 0xe0000000);
    assert_int_equal(ecam.bus_last, 255);
    table[HEADER + 8 + 10] = 1; /* first bus behind the last */
    table[HEADER + 8 + 11] = 0;
    finish_table();
    assert_false(acpi_find_ecam(view, &facts, &ecam));
    table_len -= 1;
    finish_table();
    assert_false(acpi_find_ecam(view, &facts, &ecam));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(a_device_is_found_with_its_memory_and_its_interrupt),
        TEST(no_more_are_written_than_there_is_room_for),
        TEST(names_belong_to_the_innermost_device),
        TEST(a_pci_root_is_found_by_its_compressed_name_with_all_it_has),
        TEST(lengths_that_lead_out_of_the_table_end_the_search),
        TEST(resources_that_lie_are_left_out),
        TEST(a_table_made_to_cost_time_is_given_up),
        TEST(io_apics_are_read_from_the_madt),
        TEST(configuration_space_is_read_from_the_mcfg),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
