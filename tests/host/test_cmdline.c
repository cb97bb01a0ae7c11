/* lib/cmdline.c: words, and how far apart they are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/cmdline.h"

/* The words of a line, each followed by '|'. */
static const char *words(const char *line)
{
    static char text[256], out[512];
    char *at = text;

    strcpy(text, line);
    out[0] = '\0';
    for (char *word; (word = cmdline_word(&at));) {
        strcat(out, word);
        strcat(out, "|");
    }
    assert_null(cmdline_word(&at)); /* the end stays the end */
    return out;
}

static void words_are_separated_by_blanks(void **state)
{
    (void)state;
    assert_string_equal(words(""), "");
    assert_string_equal(words("  \t\r\n "), "");
    assert_string_equal(words("a"), "a|");
    assert_string_equal(words("  a\tbb \n c=d  "), "a|bb|c=d|");
}

static void quotes_keep_blanks_and_vanish(void **state)
{
    (void)state;
    assert_string_equal(words("'a b' c"), "a b|c|");
    assert_string_equal(words("x=\"1 2\"' 3' y"), "x=1 2 3|y|");
    assert_string_equal(words("\"it's\" 'say \"hi\"'"), "it's|say \"hi\"|");
    assert_string_equal(words("'' \"\" a"), "||a|");
    assert_string_equal(words("a\\ b"), "a\\|b|");
}

static void an_unclosed_quote_reaches_to_the_end(void **state)
{
    (void)state;
    assert_string_equal(words("a 'b c"), "a|b c|");
    assert_string_equal(words("a '"), "a||");
}

static void distance_counts_single_slips(void **state)
{
    (void)state;
    assert_int_equal(cmdline_distance("hostname", "hostname"), 0);
    assert_int_equal(cmdline_distance("HostName", "hostname"), 0);
    assert_int_equal(cmdline_distance("hostnme", "hostname"), 1);
    assert_int_equal(cmdline_distance("hosstname", "hostname"), 1);
    assert_int_equal(cmdline_distance("hostnane", "hostname"), 1);
    assert_int_equal(cmdline_distance("hotsname", "hostname"), 1);
    assert_int_equal(cmdline_distance("", "abc"), 3);
    assert_int_equal(cmdline_distance("abc", ""), 3);
    assert_int_equal(cmdline_distance("ca", "abc"), 3); /* restricted: no edit of a swapped pair */
}

static void distance_is_symmetric_and_bounded(void **state)
{
    (void)state;
    srand(3);
    for (int i = 0; i < 2000; i++) {
        char a[CMDLINE_KEY_MAX + 1] = "", b[CMDLINE_KEY_MAX + 1] = "";
        for (int n = rand() % CMDLINE_KEY_MAX; n >= 0; n--)
            a[n] = (char)('a' + rand() % 3);
        for (int n = rand() % CMDLINE_KEY_MAX; n >= 0; n--)
            b[n] = (char)('a' + rand() % 3);
        const size_t d = cmdline_distance(a, b);
        assert_int_equal(d, cmdline_distance(b, a));
        assert_true(d <= size_max(strlen(a), strlen(b)));
        assert_true(d >= size_max(strlen(a), strlen(b)) - size_min(strlen(a), strlen(b)));
    }
}

static void a_word_too_long_for_a_key_is_far_from_everything(void **state)
{
    char longest[CMDLINE_KEY_MAX + 2];

    (void)state;
    memset(longest, 'x', sizeof(longest) - 1);
    longest[sizeof(longest) - 1] = '\0';
    assert_int_equal(cmdline_distance(longest, "x"), SIZE_MAX);
    assert_int_equal(cmdline_distance("x", longest), SIZE_MAX);
    longest[CMDLINE_KEY_MAX] = '\0';
    assert_int_equal(cmdline_distance(longest, "x"), CMDLINE_KEY_MAX - 1);
}

static void near_is_one_letter_in_three_and_always_one(void **state)
{
    (void)state;
    assert_int_equal(cmdline_near("x", "ip"), SIZE_MAX);
    assert_int_equal(cmdline_near("i", "ip"), 1);
    assert_int_equal(cmdline_near("hostname", "hostname"), 0);
    assert_int_equal(cmdline_near("hostnaem", "hostname"), 1);
    assert_int_equal(cmdline_near("hotsnaem", "hostname"), 2);
    assert_int_equal(cmdline_near("hxxxname", "hostname"), SIZE_MAX);
    assert_int_equal(cmdline_near("name", "hostname"), SIZE_MAX); /* by length */
    assert_int_equal(cmdline_near("hostname.x", "hostname"), 2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_separated_by_blanks),
        cmocka_unit_test(quotes_keep_blanks_and_vanish),
        cmocka_unit_test(an_unclosed_quote_reaches_to_the_end),
        cmocka_unit_test(distance_counts_single_slips),
        cmocka_unit_test(distance_is_symmetric_and_bounded),
        cmocka_unit_test(a_word_too_long_for_a_key_is_far_from_everything),
        cmocka_unit_test(near_is_one_letter_in_three_and_always_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
