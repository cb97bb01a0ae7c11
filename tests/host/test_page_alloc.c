/* lib/page_alloc.c: against a model that is too simple to be wrong, and at its edges. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/counters.h"
#include "lib/page_alloc.h"
#include "lib/poison.h"
#include "tests/host/support/panic.h"

enum { ARENA_PAGES = 512 };

static uint8_t arena[ARENA_PAGES * PAGE_BYTES] __attribute__((aligned(PAGE_BYTES)));

static uintptr_t page_at(size_t idx)
{
    return (uintptr_t)arena + idx * PAGE_BYTES;
}

static size_t idx_of(const void *page)
{
    return ((uintptr_t)page - (uintptr_t)arena) / PAGE_BYTES;
}

/* Pages [start, start + count) of the arena. */
static struct page_range range(size_t start, size_t count)
{
    return (struct page_range){page_at(start), page_at(start + count)};
}

static void init_one(size_t start, size_t count)
{
    const struct page_range r = range(start, count);
    assert_int_equal(page_init(&r, 1), 0);
}

/* ---- init ---- */

static void all_pages_but_the_bitmaps_are_free_at_start(void **state)
{
    (void)state;
    init_one(0, ARENA_PAGES);
    assert_int_equal(page_total_count(), ARENA_PAGES - 1);
    assert_int_equal(page_free_count(), ARENA_PAGES - 1);
    assert_int_equal(page_heap_start(), page_at(1));
}

static void ranges_are_cut_to_whole_pages(void **state)
{
    const struct page_range r = {page_at(3) + 1, page_at(9) + 4095};

    (void)state;
    assert_int_equal(page_init(&r, 1), 0);
    assert_int_equal(page_total_count(), 4); /* 4 … 8, less the bitmap */
    for (size_t i = 8; i >= 5; i--)
        assert_int_equal(idx_of(page_take(1)), i);
    assert_null(page_take(1));
}

static void ranges_that_are_nothing_are_ignored(void **state)
{
    const struct page_range ranges[] = {
        {page_at(7) + 1, page_at(8) + 4095}, /* no whole page */
        {page_at(9), page_at(9)},            /* empty */
        {page_at(12), page_at(11)},          /* backwards */
        {UINTPTR_MAX - 100, UINTPTR_MAX},    /* rounding up would wrap */
        {page_at(20), page_at(30)},
    };

    (void)state;
    assert_int_equal(page_init(ranges, ARRAY_COUNT(ranges)), 0);
    assert_int_equal(page_total_count(), 9);
}

static void page_zero_is_never_handed_out(void **state)
{
    /* Not larger than the arena's, so that only arithmetic touches the low one. */
    const struct page_range ranges[] = {{0, 2 * PAGE_BYTES}, range(0, 64)};

    (void)state;
    assert_int_equal(page_init(ranges, 2), 0);
    assert_int_equal(page_total_count(), 1 + 63);
    assert_int_equal(page_take_at(PAGE_BYTES, 1), 0);
    assert_int_equal(page_take_at(0, 1), -ENOMEM);
}

static void memory_too_small_for_its_bitmap_is_refused(void **state)
{
    const struct page_range one = range(0, 1);

    (void)state;
    assert_int_equal(page_init(NULL, 0), -ENOMEM);
    assert_int_equal(page_init(&one, 1), -ENOMEM);
    assert_int_equal(page_total_count(), 0);
    assert_null(page_take(1));
    assert_int_equal(page_heap_start(), 0);
}

static void ranges_that_touch_or_overlap_become_one(void **state)
{
    const struct page_range ranges[] = {range(40, 10), range(0, 20), range(15, 10), range(25, 15),
                                        range(100, 3)};

    (void)state;
    assert_int_equal(page_init(ranges, ARRAY_COUNT(ranges)), 0);
    assert_int_equal(page_total_count(), 50 + 3 - 1);
    assert_int_equal(page_take_at(page_at(1), 49), 0);
    page_give((void *)page_at(1), 49);
    assert_int_equal(idx_of(page_take(40)), 10);
}

static void runs_never_reach_across_a_hole(void **state)
{
    const struct page_range ranges[] = {range(200, 64), range(0, 70), range(300, 64)};

    (void)state;
    assert_int_equal(page_init(ranges, ARRAY_COUNT(ranges)), 0);
    assert_int_equal(idx_of(page_take(65)), 5);
    assert_int_equal(idx_of(page_take(64)), 300);
    assert_int_equal(page_take_at(page_at(260), 8), -ENOMEM);
    assert_int_equal(page_take_at(page_at(364), 1), -ENOMEM);
    assert_null(page_take(65));
    assert_int_equal(idx_of(page_take(64)), 200);
}

static void the_books_stay_where_the_largest_range_starts_even_when_it_joins_another(void **state)
{
    const struct page_range ranges[] = {range(0, 10), range(10, 100)};

    (void)state;
    assert_int_equal(page_init(ranges, 2), 0);
    assert_int_equal(page_take_at(page_at(10), 1), -ENOMEM);
    assert_int_equal(page_take_at(page_at(0), 10), 0);
    assert_int_equal(page_take_at(page_at(11), 99), 0);
    assert_int_equal(page_free_count(), 0);
}

/* ---- taking and giving ---- */

static void single_pages_come_from_the_top_and_come_again_when_given(void **state)
{
    (void)state;
    init_one(0, 200);
    void *a = page_take(1), *b = page_take(1);
    assert_int_equal(idx_of(a), 199);
    assert_int_equal(idx_of(b), 198);
    page_give(a, 1);
    assert_ptr_equal(page_take(1), a);
    assert_int_equal(idx_of(page_take(1)), 197);
}

static void single_pages_go_on_in_the_next_lower_range(void **state)
{
    const struct page_range ranges[] = {range(0, 70), range(100, 65), range(300, 2)};

    (void)state;
    assert_int_equal(page_init(ranges, ARRAY_COUNT(ranges)), 0);
    for (size_t i = 301; i >= 300; i--)
        assert_int_equal(idx_of(page_take(1)), i);
    for (size_t i = 164; i >= 100; i--)
        assert_int_equal(idx_of(page_take(1)), i);
    assert_int_equal(idx_of(page_take(1)), 69);
    page_give((void *)page_at(300), 1);
    assert_int_equal(idx_of(page_take(1)), 300);
    assert_int_equal(idx_of(page_take(1)), 68);
}

static void parts_of_a_run_may_be_given_back(void **state)
{
    (void)state;
    init_one(0, 300);
    uint8_t *run = page_take(200);
    page_give(run + 50 * PAGE_BYTES, 100);
    assert_ptr_equal(page_take(100), run + 50 * PAGE_BYTES);
    page_give(run, 200);
    assert_int_equal(page_free_count(), 299);
}

static void the_heap_starts_at_the_longest_free_run_and_the_lowest_of_equals(void **state)
{
    const struct page_range ranges[] = {range(0, 20), range(100, 101), range(300, 100)};

    (void)state;
    assert_int_equal(page_init(ranges, ARRAY_COUNT(ranges)), 0);
    assert_int_equal(page_heap_start(), page_at(101)); /* 100 pages each, bitmap taken off */
    assert_int_equal(page_take_at(page_at(101), 1), 0);
    assert_int_equal(page_heap_start(), page_at(300));
    page_take(1);
    page_take(1);
    assert_int_equal(page_heap_start(), page_at(102));

    init_one(0, 200); /* and within one range */
    assert_int_equal(page_take_at(page_at(100), 1), 0);
    assert_int_equal(page_heap_start(), page_at(1));
}

static void asking_for_more_than_there_is_takes_nothing(void **state)
{
    (void)state;
    init_one(0, 100);
    assert_null(page_take(100));
    assert_null(page_take(SIZE_MAX));
    assert_int_equal(page_take_at(page_at(50), SIZE_MAX), -ENOMEM);
    assert_int_equal(page_take_at(page_at(50), 51), -ENOMEM);
    page_take(10);
    assert_int_equal(page_take_at(page_at(80), 11), -ENOMEM);
    assert_int_equal(page_free_count(), 89);
    assert_int_equal(page_take_at(page_at(80), 10), 0);
}

static void pages_nobody_took_are_poisoned_under_asan(void **state)
{
    (void)state;
#ifdef LIB_HAS_POISON
    int __asan_address_is_poisoned(void const volatile *addr);
    init_one(0, 100);
    assert_true(__asan_address_is_poisoned(arena + 50 * PAGE_BYTES));
    uint8_t *page = page_take(1);
    assert_false(__asan_address_is_poisoned(page));
    memset(page, 1, PAGE_BYTES);
    page_give(page, 1);
    assert_true(__asan_address_is_poisoned(page));
#endif
}

/* ---- shortage ---- */

static void *spared;
static unsigned asked;

static size_t spare_one(void)
{
    asked++;
    if (!spared)
        return 0;
    page_give(spared, 1);
    spared = NULL;
    return 1;
}

static void on_shortage_the_hook_is_asked_once_and_the_request_tried_again(void **state)
{
    (void)state;
    init_one(0, 10);
    assert_null(page_on_shortage(spare_one));
    spared = page_take(1);
    asked = 0;
    assert_non_null(page_take(8));
    assert_int_equal(asked, 0);
    assert_non_null(page_take(1));
    assert_int_equal(asked, 1);
    assert_null(page_take(1));
    assert_int_equal(asked, 2);

    page_give((void *)page_at(9), 1);
    spared = (void *)page_at(8);
    assert_int_equal(page_take_at(page_at(8), 2), 0);
    assert_int_equal(asked, 3);
    assert_int_equal(page_take_at(page_at(8), 1), -ENOMEM);
    assert_int_equal(page_take_at(page_at(1000), 1), -ENOMEM); /* no RAM: nobody can help */
    assert_int_equal(asked, 4);
}

static void page_init_forgets_the_hook(void **state)
{
    (void)state;
    init_one(0, 10);
    page_on_shortage(spare_one);
    init_one(0, 10);
    assert_null(page_on_shortage(NULL));
}

/* ---- misuse ---- */

static void give_10_pages(void *addr)
{
    page_give(addr, 10);
}

static void give_page(void *addr)
{
    page_give(addr, 1);
}

static void give_nothing(void *addr)
{
    page_give(addr, 0);
}

static void take_nothing(void *unused)
{
    (void)unused;
    page_take(0);
}

static void take_at_odd(void *addr)
{
    page_take_at((uintptr_t)addr, 1);
}

static void giving_what_was_not_taken_is_an_assertion(void **state)
{
    const struct page_range ranges[] = {range(0, 200), range(300, 100)};

    (void)state;
    assert_int_equal(page_init(ranges, 2), 0);
    assert_int_equal(page_take_at(page_at(60), 20), 0);
    assert_true(panics(give_10_pages, (void *)page_at(59)));       /* the first is free */
    assert_true(panics(give_10_pages, (void *)page_at(71)));       /* the last is free */
    assert_true(panics(give_10_pages, (void *)page_at(250)));      /* no RAM */
    assert_true(panics(give_10_pages, (void *)page_at(395)));      /* reaches past the end */
    assert_true(panics(give_10_pages, (void *)(page_at(60) + 8))); /* no page's start */
    assert_true(panics(give_10_pages, (void *)page_at(0)));        /* the bitmaps */
    assert_true(panics(give_page, (void *)page_at(0)));
    assert_true(panics(give_nothing, (void *)page_at(60)));
    assert_false(panics(give_10_pages, (void *)page_at(60)));
    assert_true(panics(give_10_pages, (void *)page_at(60))); /* twice */
}

static void taking_nothing_or_half_pages_is_an_assertion(void **state)
{
    (void)state;
    init_one(0, 100);
    assert_true(panics(take_nothing, NULL));
    assert_non_null(strstr(panic_text(), "count > 0"));
    assert_true(panics(take_at_odd, (void *)(page_at(50) + 1)));
}

/* ---- against a model ---- */

/* One byte a page: 0 no RAM, 1 free, 2 taken. */
struct model {
    uint8_t page[ARENA_PAGES];
    size_t free_count;
};

static size_t model_find(const struct model *m, size_t count)
{
    for (size_t start = ARENA_PAGES - count + 1; start-- > 0;) {
        size_t n = 0;
        while (n < count && m->page[start + n] == 1)
            n++;
        if (n == count)
            return start;
    }
    return SIZE_MAX;
}

static void model_set(struct model *m, size_t start, size_t count, uint8_t value)
{
    memset(&m->page[start], value, count);
    m->free_count += value == 1 ? count : -count;
}

static void model_init(struct model *m)
{
    const struct page_range ranges[] = {range(1, 63), range(65, 130), range(200, 250)};

    memset(m, 0, sizeof(*m));
    assert_int_equal(page_init(ranges, 3), 0);
    for (size_t i = 0; i < 3; i++)
        model_set(m, (ranges[i].start - page_at(0)) / PAGE_BYTES,
                  (ranges[i].end - ranges[i].start) / PAGE_BYTES, 1);
    model_set(m, 200, 1, 2); /* the bitmaps */
}

static void step_take(struct model *m)
{
    const size_t count = (size_t)rand() % (rand() % 4 ? 4 : 90) + 1;
    const size_t expected = model_find(m, count);
    void *run = page_take(count);

    if (expected == SIZE_MAX) {
        assert_null(run);
        return;
    }
    assert_int_equal(idx_of(run), expected);
    memset(run, 0x5a, count * PAGE_BYTES);
    model_set(m, expected, count, 2);
}

static void step_take_at(struct model *m)
{
    const size_t start = (size_t)rand() % ARENA_PAGES;
    const size_t count = (size_t)rand() % 70 + 1;
    size_t n = 0;

    while (n < count && start + n < ARENA_PAGES && m->page[start + n] == 1)
        n++;
    assert_int_equal(page_take_at(page_at(start), count), n == count ? 0 : -ENOMEM);
    if (n == count)
        model_set(m, start, count, 2);
}

static void step_give(struct model *m)
{
    const size_t start = (size_t)rand() % ARENA_PAGES;
    const size_t limit = (size_t)rand() % 70 + 1;
    size_t n = 0;

    while (n < limit && start + n < ARENA_PAGES && m->page[start + n] == 2 && start + n != 200)
        n++;
    if (n == 0)
        return;
    page_give((void *)page_at(start), n);
    model_set(m, start, n, 1);
}

static void it_does_what_a_simple_model_does(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 20; seed++) {
        struct model m;
        srand(seed);
        model_init(&m);
        for (int i = 0; i < 1000; i++) {
            const int what = rand() % 5;
            if (what < 2)
                step_take(&m);
            else if (what == 2)
                step_take_at(&m);
            else
                step_give(&m);
            assert_int_equal(page_free_count(), m.free_count);
        }
    }
}

/* ---- counters ---- */

static void see_counter(void *arg, const struct counter *c, uint64_t value)
{
    uint64_t *values = arg;
    if (strcmp(c->name, "pages") == 0)
        values[0] = value;
    if (strcmp(c->name, "pages_free") == 0)
        values[1] = value;
    if (strcmp(c->name, "page_refused_total") == 0)
        values[2] = value;
}

static void counters_show_pages_and_refusals(void **state)
{
    uint64_t values[3] = {0};

    (void)state;
    page_register_counters();
    init_one(0, 100);
    page_take(3);
    page_take(1000);
    counters_each(see_counter, values);
    assert_int_equal(values[0], 99);
    assert_int_equal(values[1], 96);
    assert_int_equal(values[2], 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_pages_but_the_bitmaps_are_free_at_start),
        cmocka_unit_test(ranges_are_cut_to_whole_pages),
        cmocka_unit_test(ranges_that_are_nothing_are_ignored),
        cmocka_unit_test(page_zero_is_never_handed_out),
        cmocka_unit_test(memory_too_small_for_its_bitmap_is_refused),
        cmocka_unit_test(ranges_that_touch_or_overlap_become_one),
        cmocka_unit_test(runs_never_reach_across_a_hole),
        cmocka_unit_test(the_books_stay_where_the_largest_range_starts_even_when_it_joins_another),
        cmocka_unit_test(single_pages_come_from_the_top_and_come_again_when_given),
        cmocka_unit_test(single_pages_go_on_in_the_next_lower_range),
        cmocka_unit_test(parts_of_a_run_may_be_given_back),
        cmocka_unit_test(the_heap_starts_at_the_longest_free_run_and_the_lowest_of_equals),
        cmocka_unit_test(asking_for_more_than_there_is_takes_nothing),
        cmocka_unit_test(pages_nobody_took_are_poisoned_under_asan),
        cmocka_unit_test(on_shortage_the_hook_is_asked_once_and_the_request_tried_again),
        cmocka_unit_test(page_init_forgets_the_hook),
        cmocka_unit_test(giving_what_was_not_taken_is_an_assertion),
        cmocka_unit_test(taking_nothing_or_half_pages_is_an_assertion),
        cmocka_unit_test(it_does_what_a_simple_model_does),
        cmocka_unit_test(counters_show_pages_and_refusals),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
