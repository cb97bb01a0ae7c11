/* Ticks to time. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lib/tick_scale.h"

static const uint64_t ns = 1000000000;

static void one_second_of_ticks_is_one_second(void **state)
{
    (void)state;
    const uint64_t rates[] = {10000000, 1000000000, 2793437123, 6000000000, 100000000000};
    for (size_t i = 0; i < ARRAY_COUNT(rates); i++) {
        const uint64_t got = tick_scale_apply(tick_scale_make(rates[i], ns), rates[i]);
        assert_in_range(got, ns - 30, ns + 30); /* 100 GHz is the coarsest: 2^-26 */
    }
}

static void a_century_does_not_overflow(void **state)
{
    (void)state;
    const uint64_t hz = 5000000000, seconds = 100ull * 365 * 86400;
    const uint64_t got = tick_scale_apply(tick_scale_make(hz, ns), hz * seconds);
    assert_in_range(got / ns, seconds - 2, seconds + 2); /* half a part in 10^9 */
}

static void time_never_runs_backwards_between_ticks(void **state)
{
    (void)state;
    const struct tick_scale scale = tick_scale_make(2793437123, ns);
    uint64_t last = 0;
    for (uint64_t ticks = (1ull << 52) - 5000; ticks < (1ull << 52) + 5000; ticks++) {
        const uint64_t now = tick_scale_apply(scale, ticks);
        assert_true(now >= last);
        last = now;
    }
}

static void a_scale_that_was_not_set_gives_zero(void **state)
{
    (void)state;
    assert_int_equal(tick_scale_apply((struct tick_scale){0}, UINT64_MAX), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_second_of_ticks_is_one_second),
        cmocka_unit_test(a_century_does_not_overflow),
        cmocka_unit_test(time_never_runs_backwards_between_ticks),
        cmocka_unit_test(a_scale_that_was_not_set_gives_zero),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
