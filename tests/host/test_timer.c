#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "lib/timer.h"
#include "lib/types.h"
#include "port/clock.h"
#include "tests/host/support/clock.h"

static char trace[32];

struct named {
    struct timer timer;
    char name;
    unsigned again; /* how often it starts itself anew */
};

static void note(struct timer *timer)
{
    struct named *self = (struct named *)(void *)timer;
    const char text[2] = {self->name, '\0'};

    assert_false(timer->running);
    strcat(trace, text);
    if (self->again > 0) {
        self->again--;
        timer_start_at(timer, timer->due_us + 1000);
    }
}

static struct named named(char name)
{
    return (struct named){.timer.fire = note, .name = name};
}

static int before(void **state)
{
    (void)state;
    trace[0] = '\0';
    assert_int_equal(timers_next_us(), TIMER_NEVER);
    return 0;
}

static void timers_fire_in_the_order_of_their_times(void **state)
{
    (void)state;
    struct named a = named('a'), b = named('b'), c = named('c');
    const uint64_t now = clock_now_us();

    timer_start_at(&b.timer, now + 2000);
    timer_start_at(&c.timer, now + 3000);
    timer_start_at(&a.timer, now + 1000);
    assert_int_equal(timers_next_us(), now + 1000);
    timers_run();
    assert_string_equal(trace, "");
    host_clock_advance(1000000);
    timers_run();
    assert_string_equal(trace, "abc");
    assert_int_equal(timers_next_us(), TIMER_NEVER);
}

static void timers_of_one_time_fire_in_the_order_of_their_start(void **state)
{
    (void)state;
    struct named t[3] = {named('x'), named('y'), named('z')};
    const uint64_t now = clock_now_us();

    for (size_t i = 0; i < ARRAY_COUNT(t); i++)
        timer_start_at(&t[i].timer, now);
    timers_run();
    assert_string_equal(trace, "xyz");
}

static void a_stopped_timer_does_not_fire(void **state)
{
    (void)state;
    struct named t[3] = {named('x'), named('y'), named('z')};
    const uint64_t now = clock_now_us();

    for (size_t i = 0; i < ARRAY_COUNT(t); i++)
        timer_start_at(&t[i].timer, now + i);
    timer_stop(&t[1].timer);
    timer_stop(&t[1].timer);
    host_clock_advance(10);
    timers_run();
    assert_string_equal(trace, "xz");
}

static void starting_again_moves_a_timer(void **state)
{
    (void)state;
    struct named a = named('a'), b = named('b');
    const uint64_t now = clock_now_us();

    timer_start_at(&a.timer, now + 1000);
    timer_start_at(&b.timer, now + 2000);
    timer_start_at(&a.timer, now + 3000);
    assert_int_equal(timers_next_us(), now + 2000);
    host_clock_advance(1000000);
    timers_run();
    assert_string_equal(trace, "ba");
}

static void a_timer_may_start_itself_anew(void **state)
{
    (void)state;
    struct named a = named('a');

    a.again = 2;
    timer_start_at(&a.timer, clock_now_us());
    host_clock_advance(10000);
    timers_run();
    assert_string_equal(trace, "aaa");
}

#define TEST(name) cmocka_unit_test_setup(name, before)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(timers_fire_in_the_order_of_their_times),
        TEST(timers_of_one_time_fire_in_the_order_of_their_start),
        TEST(a_stopped_timer_does_not_fire),
        TEST(starting_again_moves_a_timer),
        TEST(a_timer_may_start_itself_anew),
    };

    return cmocka_run_group_tests_name("timer", tests, NULL, NULL);
}
