/* Names for code addresses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "lib/symbols.h"

/* As tools/mksyms.py lays it out. */
static const struct {
    uint32_t count;
    uint32_t addrs[3];
    char names[32];
} three = {3, {0x1000, 0x1040, 0x2000}, "first\0second\0third"};

static const char *find(uintptr_t addr, size_t *offset)
{
    return symbol_find((const struct symbol_table *)(const void *)&three, addr, offset);
}

static void an_address_belongs_to_the_function_that_starts_before_it(void **state)
{
    (void)state;
    size_t offset;
    assert_string_equal(find(0x1000, &offset), "first");
    assert_int_equal(offset, 0);
    assert_string_equal(find(0x103f, &offset), "first");
    assert_int_equal(offset, 0x3f);
    assert_string_equal(find(0x1040, &offset), "second");
    assert_string_equal(find(0x1fff, &offset), "second");
    assert_string_equal(find(0x2000, &offset), "third");
    assert_string_equal(find(0x7000, &offset), "third");
    assert_int_equal(offset, 0x5000);
}

static void an_address_before_the_first_function_has_no_name(void **state)
{
    (void)state;
    size_t offset;
    assert_null(find(0xfff, &offset));
    assert_null(find(0, &offset));
}

static void an_empty_table_names_nothing(void **state)
{
    (void)state;
    static const uint32_t empty = 0;
    size_t offset;
    assert_null(symbol_find((const struct symbol_table *)(const void *)&empty, 0x1000, &offset));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_address_belongs_to_the_function_that_starts_before_it),
        cmocka_unit_test(an_address_before_the_first_function_has_no_name),
        cmocka_unit_test(an_empty_table_names_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
