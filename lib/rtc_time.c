#include "lib/rtc_time.h"

#include <errno.h>

enum { HOUR_PM = 0x80, SECONDS_A_DAY = 86400 };

static bool decode(uint8_t v, bool binary, unsigned *out)
{
    if (binary) {
        *out = v;
        return true;
    }
    *out = (unsigned)(v >> 4) * 10 + (v & 15);
    return v >> 4 <= 9 && (v & 15) <= 9;
}

static bool decode_hour(const struct rtc_regs *r, unsigned *out)
{
    if (r->hour_24)
        return decode(r->hour, r->binary, out) && *out < 24;
    if (!decode(r->hour & (uint8_t)~HOUR_PM, r->binary, out) || *out < 1 || *out > 12)
        return false;
    *out = *out % 12 + (r->hour & HOUR_PM ? 12 : 0);
    return true;
}

static bool decode_year(const struct rtc_regs *r, unsigned *out)
{
    unsigned year, century;
    if (!decode(r->year, r->binary, &year) || year > 99)
        return false;
    if (r->century == 0 || !decode(r->century, r->binary, &century) || century < 19 || century > 99)
        century = year < 70 ? 20 : 19;
    *out = century * 100 + year;
    return *out >= 1970;
}

static bool is_leap(unsigned year)
{
    return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
}

static unsigned days_in_month(unsigned year, unsigned month)
{
    static const uint8_t days[12] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    return days[month - 1] + (month == 2 && is_leap(year) ? 1u : 0u);
}

/* Days from 1970-01-01 to the first of January of `year`. */
static uint64_t days_before_year(unsigned year)
{
    const unsigned y = year - 1;
    const unsigned leaps_before_1970 = 1969 / 4 - 1969 / 100 + 1969 / 400;
    return (uint64_t)(year - 1970) * 365 + (y / 4 - y / 100 + y / 400) - leaps_before_1970;
}

int rtc_to_unix(const struct rtc_regs *r, uint64_t *seconds)
{
    unsigned second, minute, hour, day, month, year;
    if (!decode(r->second, r->binary, &second) || second > 60 ||
        !decode(r->minute, r->binary, &minute) || minute > 59 || !decode_hour(r, &hour) ||
        !decode(r->month, r->binary, &month) || month < 1 || month > 12 || !decode_year(r, &year) ||
        !decode(r->day, r->binary, &day) || day < 1 || day > days_in_month(year, month))
        return -EINVAL;

    uint64_t days = days_before_year(year) + day - 1;
    for (unsigned m = 1; m < month; m++)
        days += days_in_month(year, m);
    *seconds = days * SECONDS_A_DAY + hour * 3600 + minute * 60 + second;
    return 0;
}
