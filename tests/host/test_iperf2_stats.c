/* apps/iperf: a UDP test's books and their report, result lines, burst sizes, and the pattern that is sent. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "apps/iperf/burst.h"
#include "apps/iperf/payload.h"
#include "apps/iperf/result.h"
#include "apps/iperf/udp_stats.h"

enum { T0 = 1000000 };

/* Datagrams with these ids, a millisecond apart, each `transit_us` on its way. */
static struct udp_stats books(const uint64_t *ids, size_t count, uint64_t transit_us)
{
    struct udp_stats s;
    udp_stats_begin(&s, T0 + transit_us);
    for (size_t i = 0; i < count; i++)
        udp_stats_add(&s, ids[i], 100, T0 + 1000 * i, T0 + 1000 * i + transit_us, true);
    return s;
}

/* ---- books ---- */

static void all_in_order_nothing_is_lost(void **state)
{
    (void)state;
    const uint64_t ids[] = {1, 2, 3, 4, 5};
    const struct udp_stats s = books(ids, 5, 300);
    assert_int_equal(s.highest_id, 5);
    assert_int_equal(s.bytes, 500);
    assert_int_equal(udp_stats_lost(&s), 0);
    assert_int_equal(s.out_of_order, 0);
    assert_int_equal(s.jitter_16, 0);
    assert_int_equal(udp_stats_duration_us(&s), 4000);
}

static void a_gap_is_lost_until_it_arrives_late(void **state)
{
    (void)state;
    const uint64_t ids[] = {1, 2, 5, 6, 3};
    const struct udp_stats before = books(ids, 4, 300), after = books(ids, 5, 300);
    assert_int_equal(udp_stats_lost(&before), 2);
    assert_int_equal(udp_stats_lost(&after), 1);
    assert_int_equal(after.out_of_order, 1);
    assert_int_equal(after.highest_id, 6);
}

static void a_lost_first_datagram_counts(void **state)
{
    (void)state;
    const uint64_t ids[] = {3, 4};
    const struct udp_stats s = books(ids, 2, 300);
    assert_int_equal(udp_stats_lost(&s), 2);
}

static void duplicates_never_make_the_loss_negative(void **state)
{
    (void)state;
    const uint64_t ids[] = {1, 1, 1, 2, 2};
    const struct udp_stats s = books(ids, 5, 300);
    assert_int_equal(udp_stats_lost(&s), 0);
    assert_int_equal(s.out_of_order, 3);
}

static void jitter_moves_a_sixteenth_towards_each_difference(void **state)
{
    (void)state;
    struct udp_stats s;
    udp_stats_begin(&s, T0);
    udp_stats_add(&s, 1, 100, T0, T0 + 1000, false);
    udp_stats_add(&s, 2, 100, T0, T0 + 2600, false); /* |D| = 1600 µs */
    assert_int_equal(s.jitter_16 >> 4, 100);
    for (uint64_t id = 3; id < 400; id++)
        udp_stats_add(&s, id, 100, T0, T0 + (id & 1 ? 1000 : 2600), false);
    assert_in_range(s.jitter_16 >> 4, 1598, 1600);
}

static void a_stepped_clock_or_hostile_time_leaves_sane_numbers(void **state)
{
    (void)state;
    struct udp_stats s;
    udp_stats_begin(&s, T0);
    udp_stats_add(&s, 1, 100, 0, T0, true);
    udp_stats_add(&s, 2, 100, UINT32_MAX * 1000000ull, T0 + 1, true);
    udp_stats_add(&s, UINT64_MAX, 100, 0, 0, true);
    assert_int_equal(s.highest_id, UINT64_MAX);
    assert_true(s.jitter_16 >> 4 <= 600000000);
    assert_true(udp_stats_duration_us(&s) >= 1);
}

/* ---- report ---- */

static void a_report_says_what_the_books_say(void **state)
{
    (void)state;
    struct udp_stats s = {.bytes = 0x123456789a,
                          .received = 1000,
                          .highest_id = 0x100000002,
                          .skipped = 12,
                          .out_of_order = 2,
                          .start_us = 500000,
                          .last_us = 2750000,
                          .jitter_16 = 16 * 1500007};
    struct iperf2_report r;
    udp_stats_report(&s, false, &r);
    const uint8_t *raw = (const uint8_t *)&r;
    const uint8_t base[40] = {0x88, 0, 0, 0, 0,    0,    0, 0x12, 0x34, 0x56, 0x78, 0x9a, 0, 0,
                              0,    2, 0, 3, 0xd0, 0x90, 0, 0,    0,    10,   0,    0,    0, 2,
                              0,    0, 0, 2, 0,    0,    0, 1,    0,    7,    0xa1, 0x27};
    assert_memory_equal(raw + 16, base, sizeof(base));
    assert_memory_equal(raw + 116, "\0\0\0\0\0\0\0\0\0\0\0\1", 12);
}

static void transit_times_are_reported_when_asked_for_and_believable(void **state)
{
    (void)state;
    const uint64_t ids[] = {1, 2, 3};
    const struct udp_stats s = books(ids, 3, 2500);
    struct iperf2_report r;
    udp_stats_report(&s, true, &r);
    assert_true(be32_get(r.flags) & IPERF2_EXTEND);
    assert_int_equal(be32_get(r.min_transit[1]), 2500);
    assert_int_equal(be32_get(r.mean_transit[1]), 2500);
    assert_int_equal(be32_get(r.transit_count), 3);
    udp_stats_report(&s, false, &r);
    assert_false(be32_get(r.flags) & IPERF2_EXTEND);
}

static void a_negative_transit_time_is_left_out_not_wrapped(void **state)
{
    (void)state;
    struct udp_stats s;
    struct iperf2_report r;
    udp_stats_begin(&s, T0);
    udp_stats_add(&s, 1, 100, T0 + 700000, T0, true);
    udp_stats_report(&s, true, &r);
    assert_false(be32_get(r.flags) & IPERF2_EXTEND);
    assert_int_equal(be32_get(r.min_transit[0]), 0);
}

/* ---- result lines ---- */

static void a_result_reads_well(void **state)
{
    (void)state;
    char text[RESULT_TEXT_MAX];
    struct result r = {.peer = "10.0.0.1:53422",
                       .proto = "tcp",
                       .direction = "in",
                       .bytes = 1287500000,
                       .us = 10000000};
    result_format(text, sizeof(text), &r);
    assert_string_equal(text, "10.0.0.1:53422 tcp in 1.29 GB 10.00 s 1.03 Gbit/s");
    r.datagrams = true;
    r.lost = 3;
    r.total = 1704;
    r.jitter_us = 25;
    result_format(text, sizeof(text), &r);
    assert_non_null(strstr(text, "Gbit/s 3/1704 lost, 0 out of order, jitter 25 us"));
}

static void units_change_where_digits_would_run_over(void **state)
{
    (void)state;
    char text[32];
    const struct {
        uint64_t bytes;
        const char *text;
    } table[] = {
        {0, "0 B"},        {999, "999 B"},      {1000, "1.00 kB"},     {9995, "10.0 kB"},
        {99960, "100 kB"}, {999600, "1.00 MB"}, {12345678, "12.3 MB"}, {UINT64_MAX, "18.4 EB"}};
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        result_bytes(text, sizeof(text), table[i].bytes);
        assert_string_equal(text, table[i].text);
    }
    result_rate(text, sizeof(text), 1000, 0);
    assert_string_equal(text, "0 bit/s");
}

static void a_result_is_cut_to_the_room_there_is(void **state)
{
    (void)state;
    char text[16];
    memset(text, 'x', sizeof(text));
    const struct result r = {.peer = "[fe80::5054:ff:fe12:3456]:53422",
                             .proto = "udp",
                             .direction = "in",
                             .datagrams = true};
    result_format(text, sizeof(text), &r);
    assert_int_equal(strlen(text), sizeof(text) - 1);
}

/* ---- bursts and payload ---- */

static void bursts_without_variance_are_all_the_same(void **state)
{
    (void)state;
    const struct iperf2_request none = {0}, len = {.buf_len = 5000}, mean = {.burst_mean = 20000};
    assert_int_equal(burst_size(&none, 92, 1), BURST_DEFAULT_BYTES);
    assert_int_equal(burst_size(&len, 92, 1), 5000);
    assert_int_equal(burst_size(&mean, 92, 1), 20000);
    assert_int_equal(burst_size(&mean, 30000, 1), 30000);
}

static void burst_sizes_have_the_mean_and_variance_asked_for(void **state)
{
    (void)state;
    const struct iperf2_request req = {.burst_mean = 20000, .burst_variance = 1000 * 1000};
    enum { COUNT = 20000 };
    uint64_t random = 1;
    double sum = 0, squares = 0;
    for (int i = 0; i < COUNT; i++) {
        const double size = burst_size(&req, 92, burst_random(&random));
        sum += size;
        squares += (size - 20000) * (size - 20000);
    }
    assert_in_range((uint64_t)(sum / (double)COUNT), 19950, 20050);
    assert_in_range((uint64_t)(squares / (double)COUNT), 950000, 1050000);
}

static void no_variance_leaves_the_limits(void **state)
{
    (void)state;
    const struct iperf2_request req = {.burst_mean = IPERF2_BURST_MAX,
                                       .burst_variance = UINT64_MAX};
    uint64_t random = 1;
    for (int i = 0; i < 1000; i++)
        assert_in_range(burst_size(&req, 92, burst_random(&random)), 92, IPERF2_BURST_MAX);
}

static void the_payload_is_chargens_pattern_and_goes_on_from_anywhere(void **state)
{
    (void)state;
    size_t len;
    payload_init();
    const uint8_t *start = payload_at(0, &len);
    assert_int_equal(len, PAYLOAD_BYTES);
    assert_memory_equal(start, " !\"#$%&", 7);
    assert_memory_equal(start + 72, "\r\n!\"#", 5);
    assert_memory_equal(start + PAYLOAD_PERIOD_BYTES, start, PAYLOAD_PERIOD_BYTES);
    for (uint64_t pos = 0; pos < 3 * PAYLOAD_BYTES; pos += 997) {
        const uint8_t *at = payload_at(pos, &len);
        assert_int_equal(*at, start[pos % PAYLOAD_PERIOD_BYTES]);
        assert_true(at + len == start + PAYLOAD_BYTES);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_in_order_nothing_is_lost),
        cmocka_unit_test(a_gap_is_lost_until_it_arrives_late),
        cmocka_unit_test(a_lost_first_datagram_counts),
        cmocka_unit_test(duplicates_never_make_the_loss_negative),
        cmocka_unit_test(jitter_moves_a_sixteenth_towards_each_difference),
        cmocka_unit_test(a_stepped_clock_or_hostile_time_leaves_sane_numbers),
        cmocka_unit_test(a_report_says_what_the_books_say),
        cmocka_unit_test(transit_times_are_reported_when_asked_for_and_believable),
        cmocka_unit_test(a_negative_transit_time_is_left_out_not_wrapped),
        cmocka_unit_test(a_result_reads_well),
        cmocka_unit_test(units_change_where_digits_would_run_over),
        cmocka_unit_test(a_result_is_cut_to_the_room_there_is),
        cmocka_unit_test(bursts_without_variance_are_all_the_same),
        cmocka_unit_test(burst_sizes_have_the_mean_and_variance_asked_for),
        cmocka_unit_test(no_variance_leaves_the_limits),
        cmocka_unit_test(the_payload_is_chargens_pattern_and_goes_on_from_anywhere),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
