/* Firmware tables, good and bad, in a small fake physical memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/acpi.h"

enum {
    MEMORY_BYTES = 1 << 20,
    RSDP_AT = 0xf5a40,
    RSDT_AT = 0x10000,
    XSDT_AT = 0x11000,
    FADT_AT = 0x12000,
    DSDT_AT = 0x14000,
    MCFG_AT = 0x16000,
    FADT_BYTES = 268,
};

static uint8_t *memory;

/* Each view is a copy of its own, so that AddressSanitizer sees a read beyond what was asked for. */
static void *views[256];
static size_t view_count;

static const void *view(uint64_t phys, uint64_t len)
{
    if (phys >= MEMORY_BYTES || len > MEMORY_BYTES - phys)
        return NULL;
    assert_true(view_count < ARRAY_COUNT(views));
    void *copy = malloc(len);
    memcpy(copy, memory + phys, len);
    views[view_count++] = copy;
    return copy;
}

static void put16(uint64_t at, uint16_t v)
{
    memcpy(memory + at, &v, sizeof(v));
}

static void put32(uint64_t at, uint32_t v)
{
    memcpy(memory + at, &v, sizeof(v));
}

static void put64(uint64_t at, uint64_t v)
{
    memcpy(memory + at, &v, sizeof(v));
}

/* Make the bytes sum to zero by the one at `where`. */
static void sum_up(uint64_t at, size_t len, uint64_t where)
{
    uint8_t sum = 0;
    memory[where] = 0;
    for (size_t i = 0; i < len; i++)
        sum = (uint8_t)(sum + memory[at + i]);
    memory[where] = (uint8_t)-sum;
}

static void put_table(uint64_t at, const char *signature, uint32_t len)
{
    memcpy(memory + at, signature, 4);
    put32(at + 4, len);
    sum_up(at, len, at + 9);
}

static const uint8_t s5_aml[] = {0x08, '_',  'S',  '5',  '_',  0x12, 0x08,
                                 0x04, 0x0a, 0x05, 0x0a, 0x06, 0x00, 0x00};

static void put_dsdt(const uint8_t *aml, uint32_t len)
{
    memset(memory + DSDT_AT, 0xa3, 0x1000);
    memcpy(memory + DSDT_AT + 60, aml, len);
    put_table(DSDT_AT, "DSDT", 60 + len);
}

/* A machine like QEMU's q35, by way of an XSDT and an RSDT alike. */
static int set_up(void **state)
{
    (void)state;
    memory = calloc(1, MEMORY_BYTES);
    put32(FADT_AT + 40, DSDT_AT);
    put32(FADT_AT + 48, 0xb2); /* smi_cmd */
    memory[FADT_AT + 52] = 2;  /* acpi_enable */
    put32(FADT_AT + 64, 0x604);
    put32(FADT_AT + 76, 0x608); /* pm timer */
    memory[FADT_AT + 91] = 4;
    memory[FADT_AT + 108] = 0x32;
    put_table(FADT_AT, "FACP", FADT_BYTES);
    put_table(MCFG_AT, "MCFG", 60);
    put_dsdt(s5_aml, sizeof(s5_aml));

    put32(RSDT_AT + 36, FADT_AT);
    put32(RSDT_AT + 40, MCFG_AT);
    put_table(RSDT_AT, "RSDT", 44);
    put64(XSDT_AT + 36, MCFG_AT);
    put64(XSDT_AT + 44, FADT_AT);
    put_table(XSDT_AT, "XSDT", 52);

    memcpy(memory + RSDP_AT, "RSD PTR ", 8);
    put32(RSDP_AT + 16, RSDT_AT);
    sum_up(RSDP_AT, 20, RSDP_AT + 8);
    return 0;
}

static void use_xsdt(void)
{
    memory[RSDP_AT + 15] = 2;
    put32(RSDP_AT + 16, 0xfffff000); /* an RSDT that leads nowhere */
    put32(RSDP_AT + 20, 36);
    put64(RSDP_AT + 24, XSDT_AT);
    sum_up(RSDP_AT, 20, RSDP_AT + 8);
}

static int tear_down(void **state)
{
    (void)state;
    while (view_count > 0)
        free(views[--view_count]);
    free(memory);
    return 0;
}

static void expect_q35(const struct acpi_facts *facts)
{
    assert_true(facts->found);
    assert_false(facts->hw_reduced);
    assert_int_equal(facts->pm1a_cnt, 0x604);
    assert_int_equal(facts->pm1b_cnt, 0);
    assert_int_equal(facts->smi_cmd, 0xb2);
    assert_int_equal(facts->acpi_enable, 2);
    assert_int_equal(facts->pm_timer, 0x608);
    assert_false(facts->pm_timer_32bit);
    assert_int_equal(facts->century_reg, 0x32);
    assert_int_equal(facts->dsdt, DSDT_AT);
    assert_int_equal(facts->mcfg, MCFG_AT);
}

static void the_root_pointer_is_found_in_the_bios_area(void **state)
{
    (void)state;
    assert_int_equal(acpi_find_rsdp(view), RSDP_AT);
}

static void the_root_pointer_is_found_in_the_ebda(void **state)
{
    (void)state;
    memcpy(memory + 0x9fc10, memory + RSDP_AT, 20);
    memset(memory + RSDP_AT, 0, 20);
    put16(0x40e, 0x9fc0);
    assert_int_equal(acpi_find_rsdp(view), 0x9fc10);
}

static void a_root_pointer_with_a_wrong_sum_is_passed_over(void **state)
{
    (void)state;
    memcpy(memory + 0xe0020, memory + RSDP_AT, 20);
    memory[0xe0020 + 10]++;
    assert_int_equal(acpi_find_rsdp(view), RSDP_AT);
    memory[RSDP_AT + 10]++;
    assert_int_equal(acpi_find_rsdp(view), 0);
}

static void facts_are_read_by_way_of_the_rsdt(void **state)
{
    (void)state;
    const struct acpi_facts facts = acpi_read(view, RSDP_AT);
    expect_q35(&facts);
}

static void facts_are_read_by_way_of_the_xsdt(void **state)
{
    (void)state;
    use_xsdt();
    const struct acpi_facts facts = acpi_read(view, RSDP_AT);
    expect_q35(&facts);
}

static void a_hardware_reduced_machine_has_no_pm1(void **state)
{
    (void)state;
    put32(FADT_AT + 112, 1 << 20);
    put64(FADT_AT + 244 + 4, 0xfea00000);
    put_table(FADT_AT, "FACP", FADT_BYTES);
    const struct acpi_facts facts = acpi_read(view, RSDP_AT);
    assert_true(facts.hw_reduced);
    assert_int_equal(facts.pm1a_cnt, 0);
    assert_int_equal(facts.pm_timer, 0);
    assert_int_equal(facts.sleep_control, 0xfea00000);
    assert_false(facts.sleep_control_is_io);
}

static void a_short_fadt_of_version_1_is_enough(void **state)
{
    (void)state;
    put_table(FADT_AT, "FACP", 116);
    const struct acpi_facts facts = acpi_read(view, RSDP_AT);
    expect_q35(&facts);
}

static void tables_that_are_wrong_give_no_facts(void **state)
{
    (void)state;
    assert_false(acpi_read(view, 0).found);
    assert_false(acpi_read(view, RSDP_AT + 16).found);
    assert_false(acpi_read(view, 0xffffffff0).found);

    memory[FADT_AT + 200]++; /* the sum is wrong */
    assert_false(acpi_read(view, RSDP_AT).found);
    memory[FADT_AT + 200]--;
    put_table(FADT_AT, "FACP", 100); /* too short to be one */
    assert_false(acpi_read(view, RSDP_AT).found);
    put32(FADT_AT + 4, 0xffffffff);
    assert_false(acpi_read(view, RSDP_AT).found);
    put32(FADT_AT + 4, 3);
    assert_false(acpi_read(view, RSDP_AT).found);

    put32(RSDT_AT + 4, 8); /* shorter than its own header */
    assert_false(acpi_read(view, RSDP_AT).found);
    put_table(RSDT_AT, "RSDT", 36); /* no entries */
    assert_false(acpi_read(view, RSDP_AT).found);
    put_table(RSDT_AT, "XXXX", 44);
    assert_false(acpi_read(view, RSDP_AT).found);
}

static void entries_that_lead_nowhere_are_passed_over(void **state)
{
    (void)state;
    put32(RSDT_AT + 36, 0xdeadbeef);
    put32(RSDT_AT + 40, 0);
    put32(RSDT_AT + 44, FADT_AT);
    put_table(RSDT_AT, "RSDT", 48);
    assert_true(acpi_read(view, RSDP_AT).found);
}

static void expect_s5(int err, uint8_t a, uint8_t b)
{
    const struct acpi_facts facts = {.found = true, .dsdt = DSDT_AT};
    uint8_t got_a = 0xee, got_b = 0xee;
    assert_int_equal(acpi_s5_types(view, &facts, &got_a, &got_b), err);
    if (err)
        return;
    assert_int_equal(got_a, a);
    assert_int_equal(got_b, b);
}

static void s5_is_found_in_its_usual_spellings(void **state)
{
    (void)state;
    expect_s5(0, 5, 6);
    const uint8_t rooted[] = {0x08, '\\', '_', 'S', '5', '_', 0x12, 0x06, 0x04, 0x00, 0x01, 0, 0};
    put_dsdt(rooted, sizeof(rooted));
    expect_s5(0, 0, 1);
    const uint8_t long_length[] = {0x08, '_', 'S', '5', '_', 0x12, 0x47, 0x00, 0x02, 0x0a, 7, 0x01};
    put_dsdt(long_length, sizeof(long_length));
    expect_s5(0, 7, 1);
    const uint8_t one[] = {0x08, '_', 'S', '5', '_', 0x12, 0x04, 0x01, 0x0a, 5};
    put_dsdt(one, sizeof(one));
    expect_s5(0, 5, 5);
}

static void a_mention_of_s5_that_defines_nothing_is_passed_over(void **state)
{
    (void)state;
    const uint8_t aml[] = {'x',  '_', 'S',  '5',  '_', 0x12, 8,    4,    0x0a, 1,
                           0x08, '_', 'S',  '5',  '_', 0,    0,    0x08, '_',  'S',
                           '5',  '_', 0x12, 0x06, 4,   0x0a, 0x03, 0,    0};
    put_dsdt(aml, sizeof(aml));
    expect_s5(0, 3, 0);
}

static void a_cut_off_s5_is_not_read_beyond_the_table(void **state)
{
    (void)state;
    for (uint32_t len = 0; len < 10; len++) {
        put_dsdt(s5_aml, len);
        expect_s5(-ENOENT, 0, 0);
    }
    const struct acpi_facts nowhere = {.found = true, .dsdt = 0x7fffffff};
    uint8_t a, b;
    assert_int_equal(acpi_s5_types(view, &nowhere, &a, &b), -ENOENT);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_root_pointer_is_found_in_the_bios_area),
        TEST(the_root_pointer_is_found_in_the_ebda),
        TEST(a_root_pointer_with_a_wrong_sum_is_passed_over),
        TEST(facts_are_read_by_way_of_the_rsdt),
        TEST(facts_are_read_by_way_of_the_xsdt),
        TEST(a_hardware_reduced_machine_has_no_pm1),
        TEST(a_short_fadt_of_version_1_is_enough),
        TEST(tables_that_are_wrong_give_no_facts),
        TEST(entries_that_lead_nowhere_are_passed_over),
        TEST(s5_is_found_in_its_usual_spellings),
        TEST(a_mention_of_s5_that_defines_nothing_is_passed_over),
        TEST(a_cut_off_s5_is_not_read_beyond_the_table),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
