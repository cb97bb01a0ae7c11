/*
 * Random numbers for sequence numbers, ports, transaction ids and keys: unpredictable, different at each boot.
 *
 * A ChaCha20 generator with fast key erasure: each refill makes its own next key first, and what was handed out is
 * wiped, so that a later look at memory doesn't tell earlier numbers.
 *
 * Before random_init() the numbers are the same in each run, which is what host tests want.
 * Not from interrupt handlers. Never blocks.
 */
#ifndef LIB_RANDOM_H
#define LIB_RANDOM_H

#include "lib/types.h"

/*
 * Seed from all there is: the processor's generator, the jitter of its cycle counter, the time of day. Call once at
 * boot, after the clock runs. Logs which sources are good, as a warning when neither of the first two is: the
 * numbers then differ from boot to boot but can be guessed.
 */
void random_init(void);

/* Mix in whatever may be unknown to others (borrowed). It can only add: harmless even if an attacker chose it. */
void random_seed_add(const void *data, size_t len);

/* Fill with random bytes. */
void random_bytes(void *out, size_t len);

/* 32 random bits, from a buffer: about a dozen instructions, most times. */
uint32_t random_u32(void);

#endif
