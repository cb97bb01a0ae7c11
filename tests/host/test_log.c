/* lib/log.c: the form of a line, its bounds, and what a hostile text can't do. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/counters.h"
#include "lib/log.h"
#include "port/clock.h"

/* All of port/clock.h, so that time stands still until a test moves it. */
static uint64_t now_us;

uint64_t clock_now_us(void)
{
    return now_us;
}

uint64_t clock_now_ns(void)
{
    return now_us * 1000;
}

uint64_t clock_wall_us(void)
{
    return now_us;
}

void clock_spin_us(uint32_t us)
{
    now_us += us;
}

static char seen[8192];
static size_t longest;

static void keep(const char *text, size_t len)
{
    longest = len > longest ? len : longest;
    strncat(seen, text, len);
}

static int fresh(void **state)
{
    (void)state;
    seen[0] = '\0';
    longest = 0;
    now_us = 12000034;
    log_set_level(LOG_INFO);
    log_set_sink(keep);
    return 0;
}

static void a_line_has_time_level_subsystem_and_text(void **state)
{
    (void)state;
    log_info("vnet", "queue %u has %s", 3u, "room");
    now_us = 5;
    log_error("a", "b");
    assert_string_equal(seen, "[12.000034] info vnet: queue 3 has room\n[0.000005] error a: b\n");
}

static void lines_above_the_level_are_not_written(void **state)
{
    (void)state;
    log_set_level(LOG_WARN);
    log_info("x", "no");
    log_debug("x", "no");
    log_warn("x", "yes");
    log_set_level(LOG_DEBUG);
    assert_true(log_enabled(LOG_DEBUG));
    log_debug("x", "now");
    assert_string_equal(seen, "[12.000034] warn x: yes\n[12.000034] debug x: now\n");
}

static void without_a_sink_nothing_happens(void **state)
{
    (void)state;
    log_set_sink(NULL);
    log_error("x", "lost");
    assert_string_equal(seen, "");
}

static void a_long_text_is_cut_and_marked(void **state)
{
    char text[2000];

    (void)state;
    memset(text, 'a', sizeof(text) - 1);
    text[sizeof(text) - 1] = '\0';
    log_info("x", "%s", text);
    assert_int_equal(strlen(seen), LOG_LINE_MAX);
    assert_string_equal(seen + LOG_LINE_MAX - 6, "aa…\n");
}

static void a_text_that_just_fits_is_not_cut(void **state)
{
    const size_t head = strlen("[12.000034] info x: ");
    char text[LOG_LINE_MAX];

    (void)state;
    memset(text, 'b', sizeof(text));
    text[LOG_LINE_MAX - 1 - head] = '\0';
    log_info("x", "%s", text);
    assert_int_equal(strlen(seen), LOG_LINE_MAX);
    assert_string_equal(seen + LOG_LINE_MAX - 3, "bb\n");
}

static void no_cut_splits_a_character(void **state)
{
    char text[1000];

    (void)state;
    for (size_t shift = 0; shift < 4; shift++) {
        seen[0] = '\0';
        memset(text, 'c', shift);
        for (size_t at = shift; at + 4 < sizeof(text); at += 4)
            memcpy(text + at, "\xf0\x9f\x90\x8c", 5);
        log_info("x", "%s", text);
        assert_true(strlen(seen) <= LOG_LINE_MAX);
        assert_null(strchr(seen, '?'));
        assert_non_null(strstr(seen, "\x8c…\n"));
    }
}

static void control_characters_are_shown_as_question_marks(void **state)
{
    (void)state;
    log_info("x", "%s", "a\nb\r\x1b[31m\x7f\tc");
    assert_string_equal(seen, "[12.000034] info x: a?b??[31m??c\n");
}

static void what_is_not_utf8_is_shown_as_question_marks(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8c", "\xc3\xa9\xe2\x82\xac\xf0\x9f\x90\x8c"},
        {"\x80", "?"},           /* alone */
        {"\xc0\xaf", "??"},      /* overlong */
        {"\xe0\x80\xaf", "???"}, /* overlong */
        {"\xf0\x80\x80\xaf", "????"},
        {"\xed\xa0\x80", "???"},      /* surrogate */
        {"\xf4\x90\x80\x80", "????"}, /* beyond U+10FFFF */
        {"\xf5\x80\x80\x80", "????"},
        {"\xc2\x9b"
         "1m",
         "??1m"}, /* C1: a terminal's CSI */
        {"\xc2\xa0", "\xc2\xa0"},
        {"\xe2\x82", "??"}, /* cut short */
        {"\xe2x", "?x"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char expected[64];
        seen[0] = '\0';
        snprintf(expected, sizeof(expected), "[12.000034] info x: %s\n", cases[i].out);
        log_info("x", "%s", cases[i].in);
        assert_string_equal(seen, expected);
    }
}

static void the_largest_time_and_a_long_subsystem_fit(void **state)
{
    (void)state;
    now_us = UINT64_MAX;
    log_error("a subsystem with a name that is much too long to be one", "%0300d", 7);
    assert_int_equal(strlen(seen), LOG_LINE_MAX);
    assert_memory_equal(seen, "[18446744073709.551615] error a subsystem with a name that is : 0",
                        64);
}

static void keep_and_log(const char *text, size_t len)
{
    keep(text, len);
    log_error("sink", "trouble");
}

static void a_sink_that_logs_does_not_recurse(void **state)
{
    (void)state;
    log_set_sink(keep_and_log);
    log_info("x", "one");
    log_info("x", "two");
    assert_string_equal(seen, "[12.000034] info x: one\n[12.000034] info x: two\n");
}

static void complain(void)
{
    log_limited(LOG_WARN, "peer", "again");
}

static void a_limited_line_comes_once_a_second_and_says_how_many_were_left_out(void **state)
{
    (void)state;
    for (int i = 0; i < 100; i++)
        complain();
    assert_string_equal(seen, "[12.000034] warn peer: again\n");
    now_us += 999999;
    complain();
    seen[0] = '\0';
    now_us += 1;
    complain();
    assert_string_equal(seen, "[13.000034] warn peer: again\n"
                              "[13.000034] warn peer: (100 more like that before this one)\n");
    seen[0] = '\0';
    now_us += 1000000;
    complain();
    assert_string_equal(seen, "[14.000034] warn peer: again\n");
}

static void a_line_that_comes_once_comes_once(void **state)
{
    (void)state;
    for (int i = 0; i < 3; i++)
        log_once(LOG_WARN, "dev", "lies %d", i);
    assert_string_equal(seen, "[12.000034] warn dev: lies 0\n");
}

static void print(void *arg, const char *text)
{
    (void)arg;
    strcat(seen, text);
}

static void counters_count_lines_by_level_even_without_a_sink(void **state)
{
    (void)state;
    log_register_counters();
    counters_prometheus(print, NULL);
    char *at = strstr(seen, "level=\"error\"} ");
    assert_non_null(at);
    const long before = strtol(strchr(at, ' '), NULL, 10);
    log_set_sink(NULL);
    log_error("x", "y");
    seen[0] = '\0';
    counters_prometheus(print, NULL);
    at = strstr(seen, "level=\"error\"} ");
    assert_int_equal(strtol(strchr(at, ' '), NULL, 10), before + 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_line_has_time_level_subsystem_and_text, fresh),
        cmocka_unit_test_setup(lines_above_the_level_are_not_written, fresh),
        cmocka_unit_test_setup(without_a_sink_nothing_happens, fresh),
        cmocka_unit_test_setup(a_long_text_is_cut_and_marked, fresh),
        cmocka_unit_test_setup(a_text_that_just_fits_is_not_cut, fresh),
        cmocka_unit_test_setup(no_cut_splits_a_character, fresh),
        cmocka_unit_test_setup(control_characters_are_shown_as_question_marks, fresh),
        cmocka_unit_test_setup(what_is_not_utf8_is_shown_as_question_marks, fresh),
        cmocka_unit_test_setup(the_largest_time_and_a_long_subsystem_fit, fresh),
        cmocka_unit_test_setup(a_sink_that_logs_does_not_recurse, fresh),
        cmocka_unit_test_setup(a_limited_line_comes_once_a_second_and_says_how_many_were_left_out,
                               fresh),
        cmocka_unit_test_setup(a_line_that_comes_once_comes_once, fresh),
        cmocka_unit_test_setup(counters_count_lines_by_level_even_without_a_sink, fresh),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
