/* lib/counters.c: order, values, and Prometheus text that parses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/counters.h"
#include "lib/types.h"
#include "tests/host/support/panic.h"

static uint64_t one = 1, two = 2;

static uint64_t read_big(void *arg)
{
    return UINT64_MAX - *(const uint64_t *)arg;
}

static struct counter rx0 = {
    .name = "rx_total", .labels = "nic=\"net0\"", .help = "In.", .value = &one};
static struct counter rx1 = {
    .name = "rx_total", .labels = "nic=\"net1\"", .help = "In.", .value = &two};
static struct counter big = {
    .name = "big", .help = "A\\B\n\"C\".", .type = COUNTER_GAUGE, .read = read_big, .arg = &one};
static struct counter zero = {.name = "z", .labels = "", .help = "Last.", .value = &(uint64_t){0}};

static void note(void *arg, const struct counter *c, uint64_t value)
{
    char *out = arg;
    sprintf(out + strlen(out), "%s:%llu ", c->name, (unsigned long long)value);
}

static void print(void *arg, const char *text)
{
    strcat(arg, text);
}

static void add_all(void)
{
    counters_add(&zero);
    counters_add(&rx1);
    counters_add(&rx0);
    counters_add(&big);
}

static int remove_all(void **state)
{
    (void)state;
    counters_remove(&rx0);
    counters_remove(&rx1);
    counters_remove(&big);
    counters_remove(&zero);
    char seen[64] = "";
    counters_each(note, seen);
    return strlen(seen) == 0 ? 0 : -1;
}

static void they_are_visited_by_name_and_labels_with_present_values(void **state)
{
    char seen[256] = "";

    (void)state;
    add_all();
    one = 5;
    counters_each(note, seen);
    assert_string_equal(seen, "big:18446744073709551610 rx_total:5 rx_total:2 z:0 ");
    one = 1;
}

static void a_removed_counter_is_gone_and_may_come_back(void **state)
{
    char seen[256] = "";

    (void)state;
    add_all();
    counters_remove(&rx0);
    counters_remove(&rx0); /* not there: left alone */
    counters_each(note, seen);
    assert_string_equal(seen, "big:18446744073709551614 rx_total:2 z:0 ");
    counters_add(&rx0);
}

static void help_and_type_appear_once_a_name(void **state)
{
    char text[1024] = "";

    (void)state;
    add_all();
    counters_prometheus(print, text);
    assert_string_equal(text, "# HELP ringlet_big A\\\\B\\n\"C\".\n"
                              "# TYPE ringlet_big gauge\n"
                              "ringlet_big 18446744073709551614\n"
                              "# HELP ringlet_rx_total In.\n"
                              "# TYPE ringlet_rx_total counter\n"
                              "ringlet_rx_total{nic=\"net0\"} 1\n"
                              "ringlet_rx_total{nic=\"net1\"} 2\n"
                              "# HELP ringlet_z Last.\n"
                              "# TYPE ringlet_z counter\n"
                              "ringlet_z 0\n");
}

static void labels_are_escaped_and_cut_to_fit(void **state)
{
    char out[64];

    (void)state;
    counter_label(out, sizeof(out), "file", "a\"b\\c\nd");
    assert_string_equal(out, "file=\"a\\\"b\\\\c\\nd\"");
    counter_label(out, 12, "k", "1234567890");
    assert_string_equal(out, "k=\"1234567\"");
    counter_label(out, 7, "k", "12\"3"); /* no room for half an escape */
    assert_string_equal(out, "k=\"12\"");
    counter_label(out, 8, "k", "12\"3");
    assert_string_equal(out, "k=\"12\"");
    counter_label(out, 9, "k", "12\"3");
    assert_string_equal(out, "k=\"12\\\"\"");
    counter_label(out, 5, "k", "x");
    assert_string_equal(out, "k=\"\"");
    counter_label(out, 4, "k", "x");
    assert_string_equal(out, "");
    counter_label(out, 1, "k", "x");
    assert_string_equal(out, "");
}

static void add(void *c)
{
    counters_add(c);
}

static void what_prometheus_would_refuse_is_an_assertion(void **state)
{
    struct counter bad[] = {
        {.name = "Upper", .help = "h", .value = &one},
        {.name = "", .help = "h", .value = &one},
        {.name = "no_help", .value = &one},
        {.name = "no_value", .help = "h"},
        {.name = "rx_total", .labels = "nic=\"net0\"", .help = "twice", .value = &one},
        {.name = "rx_total", .labels = "z=\"\"", .help = "h", .type = COUNTER_GAUGE, .value = &one},
        {.name = "rx_total", .help = "other type, first", .type = COUNTER_GAUGE, .value = &one},
    };

    (void)state;
    add_all();
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        assert_true(panics(add, &bad[i]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(they_are_visited_by_name_and_labels_with_present_values,
                                  remove_all),
        cmocka_unit_test_teardown(a_removed_counter_is_gone_and_may_come_back, remove_all),
        cmocka_unit_test_teardown(help_and_type_appear_once_a_name, remove_all),
        cmocka_unit_test_teardown(labels_are_escaped_and_cut_to_fit, remove_all),
        cmocka_unit_test_teardown(what_prometheus_would_refuse_is_an_assertion, remove_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
