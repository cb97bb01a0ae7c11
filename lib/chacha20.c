#include "lib/chacha20.h"

#include <string.h>

enum { WORDS = 16, DOUBLE_ROUNDS = 10 };

static inline uint32_t rotate_left(uint32_t v, unsigned bits)
{
    return v << bits | v >> (32 - bits);
}

static inline void quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
    *a += *b;
    *d = rotate_left(*d ^ *a, 16);
    *c += *d;
    *b = rotate_left(*b ^ *c, 12);
    *a += *b;
    *d = rotate_left(*d ^ *a, 8);
    *c += *d;
    *b = rotate_left(*b ^ *c, 7);
}

void chacha20_block(uint8_t out[CHACHA20_BLOCK_BYTES], const uint8_t key[CHACHA20_KEY_BYTES],
                    uint32_t counter, const uint8_t nonce[CHACHA20_NONCE_BYTES])
{
    uint32_t start[WORDS] = {0x61707865, 0x3320646e, 0x79622d32,
                             0x6b206574}; /* "expand 32-byte k" */
    memcpy(&start[4], key, CHACHA20_KEY_BYTES);
    start[12] = counter;
    memcpy(&start[13], nonce, CHACHA20_NONCE_BYTES);

    uint32_t x[WORDS];
    memcpy(x, start, sizeof(x));
    for (int i = 0; i < DOUBLE_ROUNDS; i++) {
        quarter_round(&x[0], &x[4], &x[8], &x[12]);
        quarter_round(&x[1], &x[5], &x[9], &x[13]);
        quarter_round(&x[2], &x[6], &x[10], &x[14]);
        quarter_round(&x[3], &x[7], &x[11], &x[15]);
        quarter_round(&x[0], &x[5], &x[10], &x[15]);
        quarter_round(&x[1], &x[6], &x[11], &x[12]);
        quarter_round(&x[2], &x[7], &x[8], &x[13]);
        quarter_round(&x[3], &x[4], &x[9], &x[14]);
    }
    for (int i = 0; i < WORDS; i++)
        x[i] += start[i];
    memcpy(out, x, sizeof(x)); /* little-endian on both sides: lib/types.h */
}
