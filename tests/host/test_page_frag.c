/* lib/page_frag.c: nothing overlaps, nothing is lost, and the urgent go last. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/counters.h"
#include "lib/page_alloc.h"
#include "lib/page_frag.h"
#include "lib/poison.h"
#include "tests/host/support/panic.h"

enum { ARENA_PAGES = 2048 /* 8 MiB, the smallest machine */, HELD_MAX = 4096 };

static uint8_t arena[ARENA_PAGES * PAGE_BYTES] __attribute__((aligned(PAGE_BYTES)));
static size_t free_at_start;

static void use_pages(size_t count)
{
    const struct page_range r = {(uintptr_t)arena, (uintptr_t)arena + count * PAGE_BYTES};
    assert_int_equal(page_init(&r, 1), 0);
    frag_reset();
    free_at_start = page_free_count();
}

static int fresh(void **state)
{
    (void)state;
    use_pages(ARENA_PAGES);
    return 0;
}

/* Every test ends with nothing outstanding, and every page back. */
static int all_came_back(void **state)
{
    struct frag_stats s;

    (void)state;
    frag_stats_get(&s);
    assert_int_equal(s.takes, s.gives);
    assert_int_equal(s.pages_live, s.pages_empty);
    assert_int_equal(page_free_count() + s.pages_live, free_at_start);
    frag_reset();
    assert_int_equal(page_free_count(), free_at_start);
    frag_stats_get(&s);
    assert_int_equal(s.pages_live + s.blocks_live + s.takes, 0);
    return 0;
}

static struct frag_stats stats(void)
{
    struct frag_stats s;
    frag_stats_get(&s);
    return s;
}

/* Take until refused; returns the list and adds to *count. */
static struct frag *take_all(size_t bytes, enum frag_urgency urgency, size_t *count)
{
    struct frag *list = NULL;
    for (struct frag *f; (f = frag_take(bytes, urgency)); ++*count) {
        f->next = list;
        list = f;
    }
    return list;
}

/* ---- one frag ---- */

static void a_taken_frag_is_alone_empty_and_has_one_owner(void **state)
{
    (void)state;
    struct frag *f = frag_take(100, FRAG_BULK);
    assert_non_null(f);
    assert_null(f->next);
    assert_int_equal(f->refs, 1);
    assert_int_equal(f->len, 0);
    assert_ptr_equal(f->data, frag_start(f));
    assert_ptr_equal(frag_of_start(frag_start(f)), f);
    assert_int_equal(frag_capacity(f), 128);
    frag_give(f);
}

static void every_size_gets_at_least_what_it_asked_for_on_a_cache_line(void **state)
{
    (void)state;
    for (size_t bytes = 1; bytes <= FRAG_MAX_BYTES; bytes += bytes < 4500 ? 1 : 61) {
        struct frag *f = frag_take(bytes, FRAG_CONTROL);
        assert_non_null(f);
        assert_true(frag_capacity(f) >= bytes);
        assert_int_equal(frag_capacity(f), frag_capacity_for(bytes));
        assert_int_equal((uintptr_t)frag_start(f) % FRAG_ALIGN, 0);
        memset(frag_start(f), 0xa5, frag_capacity(f));
        frag_give(f);
    }
    assert_int_equal(frag_capacity_for(FRAG_MAX_BYTES), FRAG_MAX_BYTES);
}

static void no_class_is_much_more_than_twice_a_request(void **state)
{
    (void)state;
    for (size_t bytes = 33; bytes <= FRAG_MAX_BYTES; bytes++)
        assert_true(frag_capacity_for(bytes) <= bytes * 7 / 3 + 64);
}

static void an_mtu_frame_with_its_header_fits_the_class_made_for_it(void **state)
{
    (void)state;
    /* netdev 2013-11: virtio header + Ethernet + VLAN + MTU, rounded up to a cache line. */
    assert_int_equal(frag_capacity_for(12 + 14 + 4 + 1500), 1536);
    assert_true(frag_capacity_for(65601) >= 65601);
}

static void the_last_owner_gives_the_slice_back(void **state)
{
    (void)state;
    struct frag *f = frag_take(64, FRAG_BULK);
    frag_ref(f);
    frag_ref(f);
    frag_give(f);
    frag_give(f);
    assert_int_equal(f->refs, 1);
    assert_int_equal(stats().gives, 0);
    frag_give(f);
    assert_int_equal(stats().gives, 1);
    f->len = 55;
    assert_ptr_equal(frag_take(64, FRAG_BULK), f); /* the warm one first */
    assert_int_equal(f->len, 0);
    frag_give(f);
}

static void a_list_is_given_back_whole(void **state)
{
    (void)state;
    struct frag *a = frag_take(64, FRAG_BULK);
    a->next = frag_take(5000, FRAG_BULK);
    a->next->next = frag_take(69000, FRAG_BULK);
    frag_give_list(a);
    frag_give_list(NULL);
    assert_int_equal(stats().gives, 3);
}

static void data_of_a_given_frag_is_poisoned_under_asan(void **state)
{
    (void)state;
#ifdef LIB_HAS_POISON
    int __asan_address_is_poisoned(void const volatile *addr);
    struct frag *f = frag_take(1500, FRAG_BULK);
    uint8_t *last = frag_start(f) + frag_capacity(f) - 1;
    assert_false(__asan_address_is_poisoned(frag_start(f)));
    assert_false(__asan_address_is_poisoned(last));
    frag_give(f);
    assert_true(__asan_address_is_poisoned(frag_start(f)));
    assert_true(__asan_address_is_poisoned(last));
#endif
}

/* ---- misuse ---- */

static void give(void *f)
{
    frag_give(f);
}

static void ref(void *f)
{
    frag_ref(f);
}

static void take(void *bytes)
{
    frag_take(*(size_t *)bytes, FRAG_CONTROL);
}

static void reset(void *unused)
{
    (void)unused;
    frag_reset();
}

static void giving_twice_is_an_assertion(void **state)
{
    (void)state;
    struct frag *f = frag_take(300, FRAG_BULK);
    frag_give(f);
    assert_true(panics(give, f));
    assert_non_null(strstr(panic_text(), "refs"));
    assert_true(panics(ref, f));
}

static void a_count_of_owners_never_wraps(void **state)
{
    (void)state;
    struct frag *f = frag_take(300, FRAG_BULK);
    f->refs = UINT16_MAX;
    assert_true(panics(ref, f));
    f->refs = 1;
    frag_give(f);
}

static void a_size_out_of_range_is_an_assertion(void **state)
{
    size_t bytes = 0;

    (void)state;
    assert_true(panics(take, &bytes));
    bytes = FRAG_MAX_BYTES + 1;
    assert_true(panics(take, &bytes));
    bytes = SIZE_MAX;
    assert_true(panics(take, &bytes));
}

static void reset_with_a_frag_outstanding_is_an_assertion(void **state)
{
    (void)state;
    struct frag *f = frag_take(1, FRAG_BULK);
    assert_true(panics(reset, NULL));
    frag_give(f);
}

/* ---- blocks ---- */

static void in_steady_state_the_page_allocator_is_not_called(void **state)
{
    struct frag *ring[64];

    (void)state;
    for (size_t i = 0; i < 64; i++)
        ring[i] = frag_take(1530, FRAG_BULK);
    const uint64_t blocks_new = stats().blocks_new;
    for (size_t i = 0; i < 100000; i++) {
        frag_give(ring[i % 64]);
        ring[i % 64] = frag_take(1530, FRAG_BULK);
    }
    for (size_t i = 0; i < 1000; i++) { /* a class with never more than one in use */
        struct frag *f = frag_take(FRAG_MAX_BYTES, FRAG_BULK);
        frag_give(f);
    }
    assert_int_equal(stats().blocks_new, blocks_new + 1);
    assert_int_equal(stats().blocks_released, 0);
    for (size_t i = 0; i < 64; i++)
        frag_give(ring[i]);
}

static void empty_blocks_are_kept_up_to_an_eighth_of_memory(void **state)
{
    size_t count = 0;

    (void)state;
    frag_give_list(take_all(4000, FRAG_CONTROL, &count));
    const struct frag_stats s = stats();
    assert_true(s.pages_empty <= page_total_count() / 8);
    assert_true(s.pages_empty > page_total_count() / 8 - 17);
    assert_true(s.blocks_released > 0);
    assert_int_equal(s.blocks_empty, s.blocks_live);
}

static void each_class_keeps_one_empty_block_whatever_others_keep(void **state)
{
    size_t count = 0;

    (void)state;
    frag_give_list(take_all(4000, FRAG_CONTROL, &count));
    const uint64_t blocks_new = stats().blocks_new;
    for (int i = 0; i < 100; i++)
        frag_give(frag_take(64, FRAG_CONTROL));
    assert_int_equal(stats().blocks_new, blocks_new + 1);
}

static void blocks_in_use_fill_up_before_empty_ones_start(void **state)
{
    struct frag *f[31 * 3];

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(f); i++)
        f[i] = frag_take(64, FRAG_BULK); /* three blocks of 31 */
    assert_int_equal(stats().blocks_live, 3);
    frag_give(f[40]); /* the second has room */
    for (size_t i = 0; i < 31; i++)
        frag_give(f[i]); /* the first is empty, and was touched last */
    assert_int_equal(stats().blocks_empty, 1);
    f[40] = frag_take(64, FRAG_BULK);
    assert_int_equal(stats().blocks_empty, 1);
    for (size_t i = 31; i < ARRAY_COUNT(f); i++)
        frag_give(f[i]);
}

static void shrinking_returns_what_is_kept(void **state)
{
    (void)state;
    struct frag *a = frag_take(64, FRAG_BULK), *b = frag_take(60000, FRAG_BULK);
    frag_give(b);
    assert_int_equal(frag_shrink(), 17);
    assert_int_equal(page_free_count(), free_at_start - 1);
    assert_int_equal(frag_shrink(), 0);
    frag_give(a);
    assert_int_equal(frag_shrink(), 1);
}

static void pages_kept_for_one_class_serve_another_and_the_heap(void **state)
{
    (void)state;
    size_t count = 0;
    use_pages(128);
    frag_give_list(take_all(64, FRAG_CONTROL, &count));
    void *rest = page_take(page_free_count()); /* what is free is in one run: taken from the top */
    assert_non_null(rest);
    struct frag *f = frag_take(500, FRAG_CONTROL);
    assert_non_null(f);
    frag_give(f);

    const size_t kept = stats().pages_live;
    assert_true(kept > 0);
    assert_non_null(page_take(kept - stats().pages_live + 1));
    use_pages(ARENA_PAGES);
}

static void after_page_init_reset_forgets_the_blocks(void **state)
{
    (void)state;
    frag_give(frag_take(5000, FRAG_BULK));
    assert_true(stats().pages_live > 0);
    use_pages(ARENA_PAGES);
    assert_int_equal(stats().pages_live, 0);
    assert_int_equal(page_free_count(), free_at_start);
}

/* ---- urgency ---- */

static void the_less_urgent_fail_first(void **state)
{
    size_t bulk = 0, small = 0, control = 0, arrival = 0;

    (void)state;
    struct frag *a = take_all(1530, FRAG_BULK, &bulk);
    assert_true(page_free_count() >= page_total_count() / 4);
    assert_true(page_free_count() < page_total_count() / 4 + 4);
    assert_false(frag_take(64, FRAG_BULK)); /* nor any other size */

    struct frag *b = take_all(256, FRAG_SMALL, &small);
    assert_true(page_free_count() >= page_total_count() / 8);
    assert_true(page_free_count() < page_total_count() / 8 + 1);

    struct frag *c = take_all(64, FRAG_CONTROL, &control);
    assert_true(page_free_count() >= page_total_count() / 32);
    assert_true(page_free_count() < page_total_count() / 32 + 1);

    struct frag *d = take_all(64, FRAG_ARRIVAL, &arrival);
    assert_int_equal(page_free_count(), 0);
    assert_true(bulk > 3500 && small > 3000 && control > 5000 && arrival > 1500);

    const struct frag_stats s = stats();
    assert_int_equal(s.refused[FRAG_BULK], 2);
    assert_int_equal(s.refused[FRAG_SMALL], 1);
    assert_int_equal(s.refused[FRAG_CONTROL], 1);
    assert_int_equal(s.refused[FRAG_ARRIVAL], 1);
    frag_give_list(d);
    frag_give_list(a);
    frag_give_list(b);
    frag_give_list(c);
    assert_true(frag_bulk_available());
}

static void bulk_takes_no_slice_of_a_block_made_from_the_reserve(void **state)
{
    size_t bulk = 0;

    (void)state;
    struct frag *a = take_all(1530, FRAG_BULK, &bulk);
    struct frag *c = frag_take(1530, FRAG_CONTROL); /* a new block, with nine more slices */
    while (frag_bulk_available()) {
        struct frag *more = frag_take(64, FRAG_CONTROL);
        more->next = c;
        c = more;
    }
    assert_null(frag_take(1530, FRAG_BULK));
    assert_null(frag_take(64, FRAG_BULK));
    struct frag *urgent = frag_take(1530, FRAG_CONTROL);
    assert_non_null(urgent);
    frag_give(urgent);
    frag_give_list(c);
    frag_give_list(a);
}

static void bulk_gets_what_bulk_gave_back(void **state)
{
    size_t bulk = 0, again = 0;

    (void)state;
    struct frag *a = take_all(1530, FRAG_BULK, &bulk);
    frag_give_list(a);
    a = take_all(1530, FRAG_BULK, &again);
    assert_int_equal(again, bulk);
    frag_give_list(a);
}

static void a_full_heap_leaves_bulk_its_share_of_the_rest(void **state)
{
    size_t bulk = 0;

    (void)state;
    void *heap = page_take(ARENA_PAGES * 9 / 10);
    const size_t rest = page_free_count();
    struct frag *a = take_all(1530, FRAG_BULK, &bulk);
    assert_true(bulk / 10 * 4 >= rest / 2);
    frag_give_list(a);
    page_give(heap, ARENA_PAGES * 9 / 10);
}

static void a_refusal_ends_as_soon_as_pages_come_back_from_others(void **state)
{
    size_t bulk = 0;

    (void)state;
    void *heap = page_take(1000);
    struct frag *a = take_all(9000, FRAG_BULK, &bulk);
    assert_null(frag_take(9000, FRAG_BULK));
    page_give(heap, 1000);
    struct frag *f = frag_take(9000, FRAG_BULK);
    assert_non_null(f);
    frag_give(f);
    frag_give_list(a);
}

static void with_memory_in_splinters_the_most_urgent_still_get_single_pages(void **state)
{
    void *held[ARENA_PAGES];
    size_t count = 0, control = 0;

    (void)state;
    for (void *p; (p = page_take(1));)
        held[count++] = p;
    for (size_t i = 0; i < count; i += 2)
        page_give(held[i], 1);
    assert_null(frag_take(1530, FRAG_ARRIVAL)); /* no run of four */
    struct frag *c = take_all(512, FRAG_ARRIVAL, &control);
    assert_int_equal(control, (count + 1) / 2 * 7);
    frag_give_list(c);
    for (size_t i = 1; i < count; i += 2)
        page_give(held[i], 1);
}

/* ---- random ---- */

struct held {
    struct frag *frag;
    uint32_t capacity;
    uint8_t mark;
    unsigned extra_owners;
};

static struct held held[HELD_MAX];
static size_t held_count;

static void fill(struct held *h)
{
    /* Both edges, and every cache line: an overlap shows in whoever is checked next. */
    for (uint32_t i = 0; i < h->capacity; i += 64)
        h->frag->data[i] = h->mark;
    h->frag->data[h->capacity - 1] = h->mark;
    memset(h->frag->room, h->mark, FRAG_ROOM_BYTES);
}

static void check(const struct held *h)
{
    for (uint32_t i = 0; i < h->capacity; i += 64)
        assert_int_equal(h->frag->data[i], h->mark);
    assert_int_equal(h->frag->data[h->capacity - 1], h->mark);
    assert_int_equal(h->frag->room[0], h->mark);
    assert_int_equal(h->frag->room[FRAG_ROOM_BYTES - 1], h->mark);
    assert_int_equal(h->frag->refs, 1 + h->extra_owners);
}

static void random_take(void)
{
    static const size_t limits[] = {64, 200, 512, 1536, 1536, 4096, 20000, FRAG_MAX_BYTES};
    const size_t bytes = (size_t)rand() % limits[rand() % 8] + 1;
    struct frag *f =
        held_count < HELD_MAX ? frag_take(bytes, (enum frag_urgency)(rand() % 3)) : NULL;

    if (!f)
        return;
    struct held *h = &held[held_count++];
    *h = (struct held){f, frag_capacity(f), (uint8_t)rand(), 0};
    assert_true(h->capacity >= bytes);
    while (rand() % 4 == 0) {
        frag_ref(f);
        h->extra_owners++;
    }
    fill(h);
}

static void random_give(void)
{
    if (held_count == 0)
        return;
    struct held *h = &held[(size_t)rand() % held_count];
    check(h);
    frag_give(h->frag);
    if (h->extra_owners-- == 0)
        *h = held[--held_count];
}

static void check_totals(void)
{
    const struct frag_stats s = stats();
    assert_int_equal(s.takes - s.gives, held_count);
    assert_int_equal(page_free_count() + s.pages_live, free_at_start);
    assert_true(s.pages_empty <= s.pages_live && s.blocks_empty <= s.blocks_live);
    assert_int_equal(s.blocks_new - s.blocks_released, s.blocks_live);
}

static void random_takes_and_gives_never_overlap_or_leak(void **state)
{
    (void)state;
    for (unsigned seed = 1; seed <= 12; seed++) {
        srand(seed);
        /* The tide: mostly taking, into exhaustion, then mostly giving, and again. */
        for (int i = 0; i < 12000; i++) {
            if (rand() % 100 < (i / 3000 % 2 ? 30 : 70))
                random_take();
            else
                random_give();
            if (i % 50 == 0)
                check_totals();
            if (i % 1000 == 999)
                frag_shrink();
        }
        while (held_count > 0)
            random_give();
        check_totals();
    }
    assert_true(stats().refused[FRAG_BULK] > stats().refused[FRAG_CONTROL]);
}

/* ---- counters ---- */

static void print(void *arg, const char *text)
{
    strcat(arg, text);
}

static void counters_tell_what_the_statistics_tell(void **state)
{
    static char text[4096];

    (void)state;
    frag_register_counters();
    struct frag *f = frag_take(1500, FRAG_BULK);
    counters_prometheus(print, text);
    assert_non_null(strstr(text, "\nringlet_frag_outstanding 1\n"));
    assert_non_null(strstr(text, "\nringlet_frag_pages 4\n"));
    assert_non_null(strstr(text, "\nringlet_frag_pages_kept 0\n"));
    assert_non_null(strstr(text, "\nringlet_frag_takes_total 1\n"));
    assert_non_null(strstr(text, "\nringlet_frag_refused_total{urgency=\"control\"} 0\n"));
    frag_give(f);
}

#define FRAG_TEST(name) cmocka_unit_test_setup_teardown(name, fresh, all_came_back)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FRAG_TEST(a_taken_frag_is_alone_empty_and_has_one_owner),
        FRAG_TEST(every_size_gets_at_least_what_it_asked_for_on_a_cache_line),
        FRAG_TEST(no_class_is_much_more_than_twice_a_request),
        FRAG_TEST(an_mtu_frame_with_its_header_fits_the_class_made_for_it),
        FRAG_TEST(the_last_owner_gives_the_slice_back),
        FRAG_TEST(a_list_is_given_back_whole),
        FRAG_TEST(data_of_a_given_frag_is_poisoned_under_asan),
        FRAG_TEST(giving_twice_is_an_assertion),
        FRAG_TEST(a_count_of_owners_never_wraps),
        FRAG_TEST(a_size_out_of_range_is_an_assertion),
        FRAG_TEST(reset_with_a_frag_outstanding_is_an_assertion),
        FRAG_TEST(in_steady_state_the_page_allocator_is_not_called),
        FRAG_TEST(empty_blocks_are_kept_up_to_an_eighth_of_memory),
        FRAG_TEST(each_class_keeps_one_empty_block_whatever_others_keep),
        FRAG_TEST(blocks_in_use_fill_up_before_empty_ones_start),
        FRAG_TEST(shrinking_returns_what_is_kept),
        FRAG_TEST(pages_kept_for_one_class_serve_another_and_the_heap),
        FRAG_TEST(after_page_init_reset_forgets_the_blocks),
        FRAG_TEST(the_less_urgent_fail_first),
        FRAG_TEST(bulk_takes_no_slice_of_a_block_made_from_the_reserve),
        FRAG_TEST(bulk_gets_what_bulk_gave_back),
        FRAG_TEST(a_full_heap_leaves_bulk_its_share_of_the_rest),
        FRAG_TEST(a_refusal_ends_as_soon_as_pages_come_back_from_others),
        FRAG_TEST(with_memory_in_splinters_the_most_urgent_still_get_single_pages),
        FRAG_TEST(random_takes_and_gives_never_overlap_or_leak),
        FRAG_TEST(counters_tell_what_the_statistics_tell),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
