/* The ChaCha20 block function of RFC 8439 §2.3, for lib/random.c. */
#ifndef LIB_CHACHA20_H
#define LIB_CHACHA20_H

#include "lib/types.h"

enum { CHACHA20_KEY_BYTES = 32, CHACHA20_NONCE_BYTES = 12, CHACHA20_BLOCK_BYTES = 64 };

/* One block of key stream. `out` may overlap `key`: it is written last. */
void chacha20_block(uint8_t out[CHACHA20_BLOCK_BYTES], const uint8_t key[CHACHA20_KEY_BYTES],
                    uint32_t counter, const uint8_t nonce[CHACHA20_NONCE_BYTES]);

#endif
