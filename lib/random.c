#include "lib/random.h"

#include <string.h>

#include "lib/chacha20.h"
#include "lib/log.h"
#include "port/clock.h"
#include "port/cpu.h"

enum {
    BATCH_BLOCKS = 8,
    POOL_BYTES = BATCH_BLOCKS * CHACHA20_BLOCK_BYTES,
    HW_WORDS = 8, /* 512 bits: twice the key, for a generator that is not quite perfect */
    /*
     * Jitter is taken to have a quarter of a bit of entropy a sample, far less than measured. Then 1024
     * samples fill the key, and more than 80 equal ones in a row come once in 2^20 healthy runs
     * (SP 800-90B §4.4.1: 1 + 20 / H).
     */
    JITTER_SAMPLES = 1024,
    JITTER_REPEATS_MAX = 80,
    JITTER_BATCH = 16,
};

static struct {
    uint8_t key[CHACHA20_KEY_BYTES];
    uint8_t pool[POOL_BYTES]; /* [next, POOL_BYTES) is still to be handed out; the rest is zero */
    size_t next;
} state = {.next = POOL_BYTES};

/* Domains of the block function under one key: filling the pool and taking a seed never meet. */
static const uint8_t nonce_pool[CHACHA20_NONCE_BYTES] = "pool";
static const uint8_t nonce_seed[CHACHA20_NONCE_BYTES] = "seed";

static void refill(void)
{
    for (uint32_t i = 0; i < BATCH_BLOCKS; i++)
        chacha20_block(state.pool + i * CHACHA20_BLOCK_BYTES, state.key, i, nonce_pool);
    memcpy(state.key, state.pool, CHACHA20_KEY_BYTES);
    memset(state.pool, 0, CHACHA20_KEY_BYTES);
    state.next = CHACHA20_KEY_BYTES;
}

/* Hand out and wipe `len` bytes that are there. */
static void hand_out(uint8_t *out, size_t len)
{
    memcpy(out, state.pool + state.next, len);
    memset(state.pool + state.next, 0, len);
    state.next += len;
}

void random_bytes(void *out, size_t len)
{
    uint8_t *at = out;
    while (len > 0) {
        if (state.next == POOL_BYTES)
            refill();
        const size_t n = size_min(len, POOL_BYTES - state.next);
        hand_out(at, n);
        at += n;
        len -= n;
    }
}

uint32_t random_u32(void)
{
    uint32_t value;
    if (__builtin_expect(POOL_BYTES - state.next < sizeof(value), 0))
        refill();
    hand_out((uint8_t *)&value, sizeof(value));
    return value;
}

/* Mix at most a key's length into the key. What the pool holds was made before and is dropped. */
static void absorb(const uint8_t *data, size_t len)
{
    uint8_t block[CHACHA20_BLOCK_BYTES];
    for (size_t i = 0; i < len; i++)
        state.key[i] ^= data[i];
    chacha20_block(block, state.key, (uint32_t)len, nonce_seed);
    memcpy(state.key, block, CHACHA20_KEY_BYTES);
    memset(state.pool, 0, POOL_BYTES);
    state.next = POOL_BYTES;
}

void random_seed_add(const void *data, size_t len)
{
    const uint8_t *at = data;
    while (len > 0) {
        const size_t n = size_min(len, CHACHA20_KEY_BYTES);
        absorb(at, n);
        at += n;
        len -= n;
    }
}

static bool seed_from_hardware(void)
{
    for (int i = 0; i < HW_WORDS; i++) {
        uint64_t word;
        if (!cpu_hw_random(&word))
            return false;
        random_seed_add(&word, sizeof(word));
    }
    return true;
}

/* Returns whether the samples look alive: no long run of equal ones. What they hold is mixed in anyway. */
static bool seed_from_jitter(void)
{
    uint16_t batch[JITTER_BATCH];
    uint64_t before = cpu_cycles();
    uint16_t delta_before = 0;
    unsigned repeats = 0, repeats_max = 0;
    for (unsigned i = 0; i < JITTER_SAMPLES; i++) {
        const uint64_t now = cpu_cycles();
        const uint16_t delta = (uint16_t)(now - before);
        before = now;
        repeats = delta == delta_before ? repeats + 1 : 0;
        repeats_max = repeats > repeats_max ? repeats : repeats_max;
        delta_before = delta;
        batch[i % JITTER_BATCH] = delta;
        if (i % JITTER_BATCH == JITTER_BATCH - 1)
            random_seed_add(batch, sizeof(batch)); /* its own time varies, too */
    }
    return repeats_max <= JITTER_REPEATS_MAX;
}

void random_init(void)
{
    const uint64_t times[] = {clock_wall_us(), clock_now_ns(), cpu_cycles()};
    random_seed_add(times, sizeof(times));
    const bool jitter = seed_from_jitter();
    const bool hardware = seed_from_hardware();
    if (jitter || hardware)
        log_debug("random", "seeded from %s%s%s", hardware ? "the processor's generator" : "",
                  hardware && jitter ? " and " : "", jitter ? "cycle jitter" : "");
    else
        log_warn("random", "no good source of entropy: numbers can be guessed");
}
