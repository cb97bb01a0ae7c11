#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/page_alloc.h"
#include "lib/ram_data.h"
#include "tests/host/support/net_env.h"

enum { PAGES = 256 };

static struct ram_data d;
static uint8_t pattern[5 * PAGE_BYTES], back[5 * PAGE_BYTES];

static int setup(void **state)
{
    (void)state;
    net_env_init(PAGES);
    for (size_t i = 0; i < sizeof pattern; i++)
        pattern[i] = (uint8_t)(i * 7 + i / 256 + 1);
    return 0;
}

static int everything_came_back(void **state)
{
    (void)state;
    ram_free(&d);
    assert_int_equal(ram_pages_in_use(), 0);
    assert_true(net_env_clean());
    return 0;
}

static bool all_zero(const uint8_t *bytes, size_t len)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != 0)
            return false;
    }
    return true;
}

static void what_was_written_is_read_back_at_any_offset(void **state)
{
    (void)state;
    for (size_t at = 0; at < 3 * PAGE_BYTES; at += 1021) {
        assert_int_equal(ram_write(&d, at, pattern + at, 2000), 2000);
        assert_int_equal(ram_read(&d, at, back, 2000), 2000);
        assert_memory_equal(back, pattern + at, 2000);
    }
    const size_t size = (size_t)d.size;

    assert_int_equal(ram_read(&d, 0, back, sizeof back), size);
    assert_memory_equal(back, pattern, size);
    assert_int_equal(ram_read(&d, size, back, 1), 0);
    assert_int_equal(ram_read(&d, UINT64_MAX, back, 1), 0);
    assert_int_equal(ram_write(&d, 0, pattern, 0), 0);
}

static void a_hole_takes_no_pages_and_reads_as_zeros(void **state)
{
    (void)state;
    assert_int_equal(ram_write(&d, 100 * PAGE_BYTES + 5, "x", 1), 1);
    assert_int_equal(ram_pages_in_use(), 1);
    assert_int_equal(d.size, 100 * PAGE_BYTES + 6);
    memset(back, 1, sizeof back);
    assert_int_equal(ram_read(&d, 97 * PAGE_BYTES + 1, back, sizeof back), 3 * PAGE_BYTES + 5);
    assert_true(all_zero(back, 3 * PAGE_BYTES + 4));
    assert_int_equal(back[3 * PAGE_BYTES + 4], 'x');

    assert_int_equal(ram_resize(&d, RAM_DATA_SIZE_MAX), 0);
    assert_int_equal(ram_pages_in_use(), 1);
    assert_int_equal(ram_read(&d, RAM_DATA_SIZE_MAX - 1, back, 10), 1);
    assert_int_equal(back[0], 0);
}

static void what_was_cut_off_does_not_come_back(void **state)
{
    (void)state;
    ram_write(&d, 0, pattern, sizeof pattern);
    assert_int_equal(ram_resize(&d, 100), 0);
    assert_int_equal(ram_pages_in_use(), 1);
    assert_int_equal(ram_resize(&d, sizeof pattern), 0);
    assert_int_equal(ram_read(&d, 0, back, sizeof back), sizeof back);
    assert_memory_equal(back, pattern, 100);
    assert_true(all_zero(back + 100, sizeof back - 100));
    assert_int_equal(ram_resize(&d, 0), 0);
    assert_int_equal(ram_pages_in_use(), 0);
}

static void a_file_ends_where_the_share_of_memory_does(void **state)
{
    (void)state;
    uint8_t *much = calloc(PAGES, PAGE_BYTES);
    const size_t limit = ram_pages_limit() * PAGE_BYTES;

    assert_non_null(much);
    assert_true(limit < PAGES * PAGE_BYTES);
    assert_int_equal(ram_write(&d, 10, much, PAGES * PAGE_BYTES), limit - 10);
    assert_int_equal(d.size, limit);
    assert_int_equal(ram_write(&d, limit, "x", 1), -ENOSPC);
    assert_int_equal(ram_write(&d, limit - 1, "xy", 2), 1);
    assert_int_equal(d.size, limit);
    assert_int_equal(ram_resize(&d, limit - 1), 0);
    assert_int_equal(ram_write(&d, limit - 1, "z", 1), 1);
    free(much);
}

static void the_list_of_a_sparse_file_is_bounded_too(void **state)
{
    (void)state;
    const uint64_t end = (uint64_t)ram_pages_limit() * RAM_DATA_SPARSE * PAGE_BYTES;

    assert_int_equal(ram_write(&d, end - 1, "x", 1), 1);
    assert_int_equal(ram_write(&d, end, "x", 1), -ENOSPC);
    assert_int_equal(d.size, end);
}

static void sizes_beyond_the_largest_are_refused(void **state)
{
    (void)state;
    assert_int_equal(ram_resize(&d, RAM_DATA_SIZE_MAX + 1), -EFBIG);
    assert_int_equal(ram_write(&d, RAM_DATA_SIZE_MAX, "x", 1), -EFBIG);
    assert_int_equal(ram_write(&d, UINT64_MAX, "x", 1), -EFBIG);
    assert_int_equal(ram_write(&d, RAM_DATA_SIZE_MAX - 1, "xy", 2), -EFBIG);
    assert_int_equal(d.size, 0);
}

static void a_mapping_is_one_run_and_the_files_own_bytes(void **state)
{
    (void)state;
    uint8_t *map;

    ram_write(&d, 0, pattern, 4 * PAGE_BYTES + 100);
    assert_int_equal(ram_map(&d, 0, 4 * PAGE_BYTES + 100, &map), 0);
    assert_memory_equal(map, pattern, 4 * PAGE_BYTES + 100);
    assert_true(all_zero(map + 4 * PAGE_BYTES + 100, PAGE_BYTES - 100));
    map[5000] = 77;
    assert_int_equal(ram_read(&d, 5000, back, 1), 1);
    assert_int_equal(back[0], 77);
    ram_write(&d, 9000, "seen", 4);
    assert_memory_equal(map + 9000, "seen", 4);
    assert_int_equal(ram_pages_in_use(), 5);
    ram_unmap(&d);
}

static void holes_are_mapped_as_zeros(void **state)
{
    (void)state;
    uint8_t *first, *second;

    assert_int_equal(ram_resize(&d, 10 * PAGE_BYTES), 0);
    assert_int_equal(ram_map(&d, 0, 2 * PAGE_BYTES, &first), 0);
    assert_int_equal(ram_map(&d, 4 * PAGE_BYTES, 6 * PAGE_BYTES, &second), 0);
    assert_true(all_zero(first, 2 * PAGE_BYTES) && all_zero(second, 6 * PAGE_BYTES));
    second[1] = 9;
    ram_read(&d, 4 * PAGE_BYTES + 1, back, 1);
    assert_int_equal(back[0], 9);
    ram_unmap(&d);
    ram_unmap(&d);
}

static void parts_of_a_file_can_be_mapped_side_by_side(void **state)
{
    (void)state;
    uint8_t *first, *second;

    ram_write(&d, 0, pattern, sizeof pattern);
    assert_int_equal(ram_map(&d, 0, PAGE_BYTES, &first), 0);
    assert_int_equal(ram_map(&d, PAGE_BYTES, 4 * PAGE_BYTES, &second), 0);
    assert_ptr_equal(second, first + PAGE_BYTES);
    ram_unmap(&d);
    ram_unmap(&d);
}

static void a_mapped_page_does_not_move(void **state)
{
    (void)state;
    uint8_t *map, *larger;

    ram_write(&d, 0, pattern, PAGE_BYTES);
    assert_int_equal(ram_map(&d, 0, PAGE_BYTES, &map), 0);
    ram_write(&d, PAGE_BYTES, pattern, 3 * PAGE_BYTES); /* taken from the top down: no run */
    assert_int_equal(ram_map(&d, 0, 4 * PAGE_BYTES, &larger), -ENOMEM);
    assert_memory_equal(map, pattern, PAGE_BYTES);
    ram_unmap(&d);
    assert_int_equal(ram_map(&d, 0, 4 * PAGE_BYTES, &larger), 0);
    assert_memory_equal(larger + PAGE_BYTES, pattern, 3 * PAGE_BYTES);
    ram_unmap(&d);
}

static void a_cut_keeps_mapped_pages_until_they_are_unmapped(void **state)
{
    (void)state;
    uint8_t *map;

    ram_write(&d, 0, pattern, sizeof pattern);
    assert_int_equal(ram_map(&d, 0, sizeof pattern, &map), 0);
    ram_map_again(&d);
    assert_int_equal(ram_resize(&d, 10), 0);
    map[3 * PAGE_BYTES] = 1; /* still memory of this file */
    assert_memory_equal(map, pattern, 10);
    ram_unmap(&d);
    assert_int_equal(ram_pages_in_use(), 5);
    ram_unmap(&d);
    assert_int_equal(ram_pages_in_use(), 1);
    assert_int_equal(ram_resize(&d, sizeof pattern), 0);
    assert_int_equal(ram_read(&d, 3 * PAGE_BYTES, back, 1), 1);
    assert_int_equal(back[0], 0);
}

static void what_does_not_fit_is_not_mapped_and_stays_readable(void **state)
{
    (void)state;
    uint8_t *map;

    ram_write(&d, 0, pattern, sizeof pattern);
    assert_int_equal(ram_map(&d, 0, PAGES * PAGE_BYTES, &map), -ENOMEM);
    assert_int_equal(ram_map(&d, 0, SIZE_MAX / 2, &map), -ENOMEM);
    ram_read(&d, 0, back, sizeof back);
    assert_memory_equal(back, pattern, sizeof back);
    assert_int_equal(d.maps, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, everything_came_back)
        TEST(what_was_written_is_read_back_at_any_offset),
        TEST(a_hole_takes_no_pages_and_reads_as_zeros),
        TEST(what_was_cut_off_does_not_come_back),
        TEST(a_file_ends_where_the_share_of_memory_does),
        TEST(the_list_of_a_sparse_file_is_bounded_too),
        TEST(sizes_beyond_the_largest_are_refused),
        TEST(a_mapping_is_one_run_and_the_files_own_bytes),
        TEST(holes_are_mapped_as_zeros),
        TEST(parts_of_a_file_can_be_mapped_side_by_side),
        TEST(a_mapped_page_does_not_move),
        TEST(a_cut_keeps_mapped_pages_until_they_are_unmapped),
        TEST(what_does_not_fit_is_not_mapped_and_stays_readable),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
