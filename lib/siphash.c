#include "lib/siphash.h"

#include <string.h>

struct sip {
    uint64_t v[4];
};

static uint64_t rotl(uint64_t x, unsigned n)
{
    return x << n | x >> (64 - n);
}

static void rounds(struct sip *s, unsigned count)
{
    uint64_t *v = s->v;

    while (count-- > 0) {
        v[0] += v[1];
        v[2] += v[3];
        v[1] = rotl(v[1], 13) ^ v[0];
        v[3] = rotl(v[3], 16) ^ v[2];
        v[0] = rotl(v[0], 32);
        v[2] += v[1];
        v[0] += v[3];
        v[1] = rotl(v[1], 17) ^ v[2];
        v[3] = rotl(v[3], 21) ^ v[0];
        v[2] = rotl(v[2], 32);
    }
}

static void absorb(struct sip *s, uint64_t word)
{
    s->v[3] ^= word;
    rounds(s, 2);
    s->v[0] ^= word;
}

uint64_t siphash(const uint8_t key[SIPHASH_KEY_BYTES], const void *data, size_t len)
{
    const uint8_t *p = data;
    uint64_t k[2];
    size_t left = len;

    memcpy(k, key, sizeof(k));
    /* The constants are "somepseudorandomlygeneratedbytes" in four words, as the paper has them. */
    struct sip s = {{k[0] ^ 0x736f6d6570736575, k[1] ^ 0x646f72616e646f6d,
                     k[0] ^ 0x6c7967656e657261, k[1] ^ 0x7465646279746573}};

    for (; left >= 8; left -= 8, p += 8) {
        uint64_t word;

        memcpy(&word, p, sizeof(word));
        absorb(&s, word);
    }
    uint64_t last = (uint64_t)len << 56;
    uint64_t tail = 0;
    memcpy(&tail, p, left);
    absorb(&s, last | tail);

    s.v[2] ^= 0xff;
    rounds(&s, 4);
    return s.v[0] ^ s.v[1] ^ s.v[2] ^ s.v[3];
}
