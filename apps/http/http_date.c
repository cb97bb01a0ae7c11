#include "apps/http/http_date.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

static const char days[] = "SunMonTueWedThuFriSat";
static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";

/* Days since 1970-01-01 of a date in the Gregorian calendar: years begin in March, so that the leap day is the last. */
static int64_t days_from_date(int64_t year, int month, int day)
{
    year -= month <= 2;
    const int64_t era = (year >= 0 ? year : year - 399) / 400;
    const int64_t year_of_era = year - era * 400;
    const int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    const int64_t day_of_era =
        year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;

    return era * 146097 + day_of_era - 719468;
}

static void two_digits(char *out, int value)
{
    out[0] = (char)('0' + value / 10 % 10);
    out[1] = (char)('0' + value % 10);
}

/* By hand: strftime() would cost more than the rest of an answer. */
void http_date_format(time_t when, char out[HTTP_DATE_BYTES])
{
    struct tm tm;

    gmtime_r(&when, &tm);
    memcpy(out, "Sun, 06 Nov 1994 08:49:37 GMT", HTTP_DATE_BYTES);
    memcpy(out, days + 3 * tm.tm_wday, 3);
    two_digits(out + 5, tm.tm_mday);
    memcpy(out + 8, months + 3 * tm.tm_mon, 3);
    two_digits(out + 12, (tm.tm_year + 1900) / 100);
    two_digits(out + 14, tm.tm_year % 100);
    two_digits(out + 17, tm.tm_hour);
    two_digits(out + 20, tm.tm_min);
    two_digits(out + 23, tm.tm_sec);
}

static int month_number(const char *name)
{
    const char *at = months;

    for (int month = 1; month <= 12; month++, at += 3) {
        if (memcmp(at, name, 3) == 0)
            return month;
    }
    return 0;
}

struct date {
    int year, month, day, hour, minute, second;
};

static time_t seconds(const struct date *d)
{
    const bool sane = d->month >= 1 && d->day >= 1 && d->day <= 31 && d->hour >= 0 &&
                      d->hour < 24 && d->minute >= 0 && d->minute < 60 && d->second >= 0 &&
                      d->second <= 60 && d->year >= 1601;

    if (!sane)
        return -1;
    return (time_t)(days_from_date(d->year, d->month, d->day) * 86400 + d->hour * 3600 +
                    d->minute * 60 + d->second);
}

time_t http_date_parse(const char *text, size_t len)
{
    char copy[40], month[4] = "";
    struct date d = {0};
    int used = 0;

    if (len >= sizeof copy)
        return -1;
    memcpy(copy, text, len);
    copy[len] = '\0';
    const char *comma = strchr(copy, ',');

    if (comma &&
        sscanf(comma, ", %2d %3s %4d %2d:%2d:%2d GMT%n", &d.day, month, &d.year, &d.hour, &d.minute,
               &d.second, &used) == 6 &&
        used > 0 && comma[used] == '\0') {
        d.month = month_number(month); /* IMF-fixdate */
        return seconds(&d);
    }
    used = 0;
    if (comma &&
        sscanf(comma, ", %2d-%3s-%2d %2d:%2d:%2d GMT%n", &d.day, month, &d.year, &d.hour, &d.minute,
               &d.second, &used) == 6 &&
        used > 0 && comma[used] == '\0') {
        d.month = month_number(month); /* RFC 850 */
        d.year += d.year < 70 ? 2000 : 1900;
        return seconds(&d);
    }
    used = 0;
    if (sscanf(copy, "%*3s %3s %2d %2d:%2d:%2d %4d%n", month, &d.day, &d.hour, &d.minute, &d.second,
               &d.year, &used) == 6 &&
        used > 0 && copy[used] == '\0') {
        d.month = month_number(month); /* asctime() */
        return seconds(&d);
    }
    return -1;
}
