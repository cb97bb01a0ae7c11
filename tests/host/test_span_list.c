/* Lists of memory ranges. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/span_list.h"

static void expect(const struct span_list *list, size_t count, const struct span *wanted)
{
    assert_int_equal(list->count, count);
    for (size_t i = 0; i < count; i++) {
        assert_int_equal(list->v[i].start, wanted[i].start);
        assert_int_equal(list->v[i].end, wanted[i].end);
    }
}
#define EXPECT(list, ...)                                                                          \
    expect(list, sizeof((struct span[]){__VA_ARGS__}) / sizeof(struct span),                       \
           (struct span[]){__VA_ARGS__})

static void spans_are_kept_in_order_whatever_order_they_come_in(void **state)
{
    (void)state;
    struct span_list l = {0};
    span_add(&l, 0x5000, 0x6000);
    span_add(&l, 0x1000, 0x2000);
    span_add(&l, 0x3000, 0x4000);
    EXPECT(&l, {0x1000, 0x2000}, {0x3000, 0x4000}, {0x5000, 0x6000});
}

static void spans_that_touch_or_overlap_become_one(void **state)
{
    (void)state;
    struct span_list l = {0};
    span_add(&l, 0x1000, 0x2000);
    span_add(&l, 0x3000, 0x4000);
    span_add(&l, 0x2000, 0x3000);
    EXPECT(&l, {0x1000, 0x4000});
    span_add(&l, 0x6000, 0x7000);
    span_add(&l, 0x0800, 0x6800);
    EXPECT(&l, {0x0800, 0x7000});
    span_add(&l, 0x1000, 0x1800);
    EXPECT(&l, {0x0800, 0x7000});
}

static void empty_and_backward_spans_are_ignored(void **state)
{
    (void)state;
    struct span_list l = {0};
    span_add(&l, 0x1000, 0x1000);
    span_add(&l, 0x2000, 0x1000);
    assert_int_equal(l.count, 0);
    span_add(&l, 0x1000, 0x9000);
    span_remove(&l, 0x5000, 0x5000);
    span_remove(&l, 0x5000, 0x4000);
    EXPECT(&l, {0x1000, 0x9000});
}

static void removing_splits_shortens_and_deletes(void **state)
{
    (void)state;
    struct span_list l = {0};
    span_add(&l, 0x1000, 0x9000);
    span_remove(&l, 0x3000, 0x4000);
    EXPECT(&l, {0x1000, 0x3000}, {0x4000, 0x9000});
    span_remove(&l, 0x0000, 0x2000);
    span_remove(&l, 0x8000, 0xa000);
    EXPECT(&l, {0x2000, 0x3000}, {0x4000, 0x8000});
    span_remove(&l, 0x1000, 0x5000);
    EXPECT(&l, {0x5000, 0x8000});
    span_remove(&l, 0, UINT64_MAX);
    assert_int_equal(l.count, 0);
}

static void a_full_list_drops_and_counts(void **state)
{
    (void)state;
    struct span_list l = {0};
    for (uint64_t i = 0; i < SPAN_LIST_MAX; i++)
        span_add(&l, i * 0x2000, i * 0x2000 + 0x1000);
    assert_int_equal(l.dropped, 0);
    span_add(&l, 0x900000, 0x901000);
    assert_int_equal(l.count, SPAN_LIST_MAX);
    assert_int_equal(l.dropped, 1);
    span_remove(&l, 0x400, 0x800); /* a split needs room as well: the upper part goes */
    assert_int_equal(l.count, SPAN_LIST_MAX);
    assert_int_equal(l.dropped, 2);
    assert_int_equal(l.v[0].end, 0x400);
}

static void aligning_rounds_inwards(void **state)
{
    (void)state;
    struct span_list l = {0};
    span_add(&l, 0x1001, 0x3fff);
    span_add(&l, 0x5001, 0x5fff);
    span_add(&l, UINT64_MAX - 0x800, UINT64_MAX);
    span_align(&l, 0x1000);
    EXPECT(&l, {0x2000, 0x3000});
}

static void taking_cuts_the_top_off_the_largest_span(void **state)
{
    (void)state;
    struct span_list l = {0};
    span_add(&l, 0x1000, 0x3000);
    span_add(&l, 0x10000, 0x20000);
    assert_int_equal(span_take_top(&l, 0x1000, UINT64_MAX), 0x1f000);
    EXPECT(&l, {0x1000, 0x3000}, {0x10000, 0x1f000});
    assert_int_equal(span_take_top(&l, 0x10000, UINT64_MAX), 0);
}

static void taking_stays_below_the_limit(void **state)
{
    (void)state;
    struct span_list l = {0};
    span_add(&l, 0x1000, 0x5000);
    span_add(&l, 0x100000000, 0x900000000);
    assert_int_equal(span_take_top(&l, 0x1000, 0x100000000), 0x4000);
    span_remove(&l, 0, 0x8000);
    span_add(&l, 0xfffff000, 0x100000000); /* joins what lies above the limit */
    assert_int_equal(l.count, 1);
    assert_int_equal(span_take_top(&l, 0x1000, 0x100000000), 0xfffff000);
    assert_int_equal(span_take_top(&l, 0x1000, 0x100000000), 0);
}

static void a_take_never_returns_address_zero(void **state)
{
    (void)state;
    struct span_list l = {0};
    span_add(&l, 0, 0x1000);
    assert_int_equal(span_take_top(&l, 0x1000, UINT64_MAX), 0);
    EXPECT(&l, {0, 0x1000});
}

/* Against one flag a page, with random adds and removes. */
static void random_changes_agree_with_a_simple_model(void **state)
{
    (void)state;
    enum { PAGES = 100, ROUNDS = 20000 };
    struct span_list l = {0};
    uint8_t model[PAGES + 1] = {0};
    uint32_t seed = 12345;
    for (int round = 0; round < ROUNDS; round++) {
        seed = seed * 1664525 + 1013904223;
        const uint32_t start = (seed >> 8) % PAGES,
                       end = start + (seed >> 20) % (PAGES - start + 1);
        const bool add = seed >> 31;
        if (add)
            span_add(&l, start, end);
        else
            span_remove(&l, start, end);
        for (uint32_t i = start; i < end; i++)
            model[i] = add;

        uint64_t total = 0;
        for (uint32_t i = 0; i < PAGES; i++)
            total += model[i];
        assert_int_equal(span_total(&l), total);
        for (size_t i = 0; i < l.count; i++) {
            assert_true(l.v[i].start < l.v[i].end);
            assert_true(i == 0 || l.v[i - 1].end < l.v[i].start);
            for (uint64_t p = l.v[i].start; p < l.v[i].end; p++)
                assert_true(model[p]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spans_are_kept_in_order_whatever_order_they_come_in),
        cmocka_unit_test(spans_that_touch_or_overlap_become_one),
        cmocka_unit_test(empty_and_backward_spans_are_ignored),
        cmocka_unit_test(removing_splits_shortens_and_deletes),
        cmocka_unit_test(a_full_list_drops_and_counts),
        cmocka_unit_test(aligning_rounds_inwards),
        cmocka_unit_test(taking_cuts_the_top_off_the_largest_span),
        cmocka_unit_test(taking_stays_below_the_limit),
        cmocka_unit_test(a_take_never_returns_address_zero),
        cmocka_unit_test(random_changes_agree_with_a_simple_model),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
