/* Dates as the PC's clock keeps them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <time.h>

#include "lib/rtc_time.h"

static uint8_t bcd(int v)
{
    return (uint8_t)(v / 10 << 4 | v % 10);
}

static struct rtc_regs regs_at(time_t t)
{
    struct tm tm;
    gmtime_r(&t, &tm);
    return (struct rtc_regs){
        .second = bcd(tm.tm_sec),
        .minute = bcd(tm.tm_min),
        .hour = bcd(tm.tm_hour),
        .day = bcd(tm.tm_mday),
        .month = bcd(tm.tm_mon + 1),
        .year = bcd(tm.tm_year % 100),
        .century = bcd((tm.tm_year + 1900) / 100),
        .hour_24 = true,
    };
}

static void every_day_from_1970_to_2199_agrees_with_the_c_library(void **state)
{
    (void)state;
    for (int64_t t = 7; t < 7258118400; t += 86400 - 61) {
        const struct rtc_regs regs = regs_at((time_t)t);
        uint64_t got;
        assert_int_equal(rtc_to_unix(&regs, &got), 0);
        assert_int_equal(got, t);
    }
}

static void binary_registers_are_understood(void **state)
{
    (void)state;
    const struct rtc_regs regs = {59, 30, 23, 29, 2, 24, 20, true, true};
    uint64_t got;
    assert_int_equal(rtc_to_unix(&regs, &got), 0);
    assert_int_equal(got, 1709249459); /* 2024-02-29 23:30:59 */
}

static void twelve_hour_clocks_are_understood(void **state)
{
    (void)state;
    struct rtc_regs regs = {0, 0, 0, 0x01, 0x01, 0x70, 0x19, false, false};
    const struct {
        uint8_t reg;
        unsigned hour;
    } hours[] = {{0x12, 0}, {0x01, 1}, {0x11, 11}, {0x92, 12}, {0x81, 13}, {0x91, 23}};
    for (size_t i = 0; i < ARRAY_COUNT(hours); i++) {
        uint64_t got;
        regs.hour = hours[i].reg;
        assert_int_equal(rtc_to_unix(&regs, &got), 0);
        assert_int_equal(got, hours[i].hour * 3600);
    }
}

static void without_a_century_the_year_decides(void **state)
{
    (void)state;
    struct rtc_regs regs = regs_at(1709249459);
    uint64_t got;
    regs.century = 0;
    assert_int_equal(rtc_to_unix(&regs, &got), 0);
    assert_int_equal(got, 1709249459);
    regs.century = 0xff; /* not a number: as if it were not there */
    assert_int_equal(rtc_to_unix(&regs, &got), 0);
    assert_int_equal(got, 1709249459);
    regs = regs_at(915148800); /* 1999-01-01 */
    regs.century = 0;
    assert_int_equal(rtc_to_unix(&regs, &got), 0);
    assert_int_equal(got, 915148800);
}

static void what_is_no_date_is_refused(void **state)
{
    (void)state;
    const struct rtc_regs good = regs_at(1709249459);
    struct rtc_regs bad[] = {good, good, good, good, good, good, good, good, good};
    bad[0].second = 0x61;
    bad[1].minute = 0x60;
    bad[2].hour = 0x24;
    bad[3].day = 0;
    bad[4].day = 0x30; /* of February */
    bad[5].month = 0x13;
    bad[6].month = 0;
    bad[7].year = 0xa1;
    bad[8] = (struct rtc_regs){0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, true, true};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        uint64_t got;
        assert_int_equal(rtc_to_unix(&bad[i], &got), -EINVAL);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_day_from_1970_to_2199_agrees_with_the_c_library),
        cmocka_unit_test(binary_registers_are_understood),
        cmocka_unit_test(twelve_hour_clocks_are_understood),
        cmocka_unit_test(without_a_century_the_year_decides),
        cmocka_unit_test(what_is_no_date_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
