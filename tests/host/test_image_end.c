/* The last line of a console. power_end() is this file's: it notes the status and comes back by longjmp. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "lib/console.h"
#include "lib/image_end.h"
#include "port/power.h"

static char text[256];
static size_t len;
static unsigned drains;
static jmp_buf ended;
static int told;

void power_end(uint8_t status)
{
    told = status;
    longjmp(ended, 1);
}

static void sink(const char *piece, size_t piece_len)
{
    assert_true(len + piece_len < sizeof(text));
    memcpy(text + len, piece, piece_len);
    len += piece_len;
    text[len] = '\0';
}

static void drain(void)
{
    assert_int_equal(text[len - 1], '\n'); /* everything was written before */
    drains++;
}

static int set_up(void **state)
{
    (void)state;
    len = drains = 0;
    text[0] = '\0';
    told = -1;
    console_set(NULL, NULL);
    console_puts("\n"); /* forget the last test's cursor */
    console_set(sink, drain);
    return 0;
}

static void end_with(int status)
{
    if (!setjmp(ended))
        image_end(status);
}

static void the_status_stands_on_the_last_line_and_is_told_to_the_machine(void **state)
{
    (void)state;
    console_puts("a line\n");
    end_with(7);
    assert_string_equal(text, "a line\nexit: 7\n");
    assert_int_equal(told, 7);
    assert_int_equal(drains, 1);
}

static void an_unfinished_line_is_ended_first(void **state)
{
    (void)state;
    console_puts("no newline");
    end_with(0);
    assert_string_equal(text, "no newline\nexit: 0\n");
}

static void only_eight_bits_count_as_with_a_process(void **state)
{
    (void)state;
    end_with(256 + 200);
    assert_string_equal(text, "exit: 200\n");
    assert_int_equal(told, 200);
    len = 0;
    end_with(-1);
    assert_string_equal(text, "exit: 255\n");
    assert_int_equal(told, 255);
}

static void without_a_console_the_machine_is_still_told(void **state)
{
    (void)state;
    console_set(NULL, NULL);
    end_with(3);
    assert_int_equal(told, 3);
    assert_int_equal(len, 0);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_status_stands_on_the_last_line_and_is_told_to_the_machine),
        TEST(an_unfinished_line_is_ended_first),
        TEST(only_eight_bits_count_as_with_a_process),
        TEST(without_a_console_the_machine_is_still_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
