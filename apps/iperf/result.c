#include "apps/iperf/result.h"

#include <inttypes.h>
#include <stdio.h>

/* value with two decimals below ten of the unit, one below a hundred, else none. */
static void scaled(char *out, size_t size, double value, const char *unit)
{
    static const char prefix[] = " kMGTPE";
    size_t i = 0;
    while (value >= 999.5 && i + 2 < sizeof(prefix)) {
        value /= 1000;
        i++;
    }
    const int decimals = i == 0 || value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;
    if (i == 0)
        snprintf(out, size, "%.*f %s", decimals, value, unit);
    else
        snprintf(out, size, "%.*f %c%s", decimals, value, prefix[i], unit);
}

void result_bytes(char *out, size_t size, uint64_t bytes)
{
    scaled(out, size, (double)bytes, "B");
}

void result_rate(char *out, size_t size, uint64_t bytes, uint64_t us)
{
    scaled(out, size, us ? (double)bytes * 8e6 / (double)us : 0, "bit/s");
}

void result_format(char *out, size_t size, const struct result *r)
{
    char bytes[24], rate[24];
    result_bytes(bytes, sizeof(bytes), r->bytes);
    result_rate(rate, sizeof(rate), r->bytes, r->us);
    const int len =
        snprintf(out, size, "%s %s %s %s %" PRIu64 ".%02u s %s", r->peer, r->proto, r->direction,
                 bytes, r->us / 1000000, (unsigned)(r->us % 1000000 / 10000), rate);
    if (!r->datagrams || len < 0 || (size_t)len >= size)
        return;
    snprintf(out + len, size - (size_t)len,
             " %" PRIu64 "/%" PRIu64 " lost, %" PRIu64 " out of order, jitter %" PRIu64 " us",
             r->lost, r->total, r->out_of_order, r->jitter_us);
}
