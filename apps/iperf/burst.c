#include "apps/iperf/burst.h"

static uint64_t root(uint64_t v)
{
    uint64_t r = 0;
    for (uint64_t bit = 1ull << 31; bit; bit >>= 1)
        if ((r | bit) * (r | bit) <= v)
            r |= bit;
    return r;
}

/* Variance 1, mean 0, in 65536ths: four 16-bit uniform numbers have variance 4 · 65536²/12. */
static int64_t deviate_16(uint64_t random)
{
    int64_t sum = -2 * 65536;
    for (unsigned i = 0; i < 4; i++)
        sum += (int64_t)(random >> (16 * i) & 0xffff);
    return sum * 1732 / 1000; /* √3 = √(12/4) */
}

uint32_t burst_size(const struct iperf2_request *req, uint32_t least, uint64_t random)
{
    const uint64_t mean = req->burst_mean ? req->burst_mean
                          : req->buf_len  ? req->buf_len
                                          : BURST_DEFAULT_BYTES;
    int64_t size = (int64_t)(mean < IPERF2_BURST_MAX ? mean : IPERF2_BURST_MAX);
    if (req->burst_variance) {
        uint64_t sigma = root(req->burst_variance);
        if (sigma > IPERF2_BURST_MAX)
            sigma = IPERF2_BURST_MAX;
        size += (int64_t)sigma * deviate_16(random) / 65536;
    }
    if (size > IPERF2_BURST_MAX)
        size = IPERF2_BURST_MAX;
    return size < (int64_t)least ? least : (uint32_t)size;
}

uint64_t burst_random(uint64_t *state)
{
    uint64_t x = *state;
    x ^= x >> 12;
    x ^= x << 25;
    x ^= x >> 27;
    *state = x;
    return x * 0x2545f4914f6cdd1du;
}
