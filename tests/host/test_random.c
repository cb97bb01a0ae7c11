/* lib/random.c and lib/chacha20.c: the published vectors, what seeds change, and sources that fail. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "lib/chacha20.h"
#include "lib/log.h"
#include "lib/random.h"
#include "port/clock.h"
#include "port/cpu.h"

/* All of port/clock.h and port/cpu.h: sources that a test can make good, bad or absent. */
static uint64_t cycles, wall_us, hw_word;
static uint64_t cycle_step; /* 0: steps vary */
static bool hw_present;

uint64_t clock_now_us(void)
{
    return 0;
}

uint64_t clock_now_ns(void)
{
    return 0;
}

uint64_t clock_wall_us(void)
{
    return wall_us;
}

void clock_spin_us(uint32_t us)
{
    (void)us;
}

void cpu_idle(uint64_t deadline_us, bool (*work)(void *arg), void *arg)
{
    (void)deadline_us;
    (void)work;
    (void)arg;
}

bool cpu_hw_random(uint64_t *out)
{
    *out = hw_word;
    return hw_present;
}

uint64_t cpu_cycles(void)
{
    /* The first few never vary, so that what differs later differs by jitter alone. */
    static unsigned calls;
    cycles += cycle_step || calls++ < 4 ? cycle_step : (uint64_t)(rand() % 50);
    return cycles;
}

static char logged[512];

static void keep(const char *text, size_t len)
{
    snprintf(logged, sizeof(logged), "%.*s", (int)len, text);
}

/* ---- the block function ---- */

static void the_block_function_gives_the_published_block(void **state)
{
    /* RFC 8439 §2.3.2 */
    static const uint8_t expected[CHACHA20_BLOCK_BYTES] = {
        0x10, 0xf1, 0xe7, 0xe4, 0xd1, 0x3b, 0x59, 0x15, 0x50, 0x0f, 0xdd, 0x1f, 0xa3,
        0x20, 0x71, 0xc4, 0xc7, 0xd1, 0xf4, 0xc7, 0x33, 0xc0, 0x68, 0x03, 0x04, 0x22,
        0xaa, 0x9a, 0xc3, 0xd4, 0x6c, 0x4e, 0xd2, 0x82, 0x64, 0x46, 0x07, 0x9f, 0xaa,
        0x09, 0x14, 0xc2, 0xd7, 0x05, 0xd9, 0x8b, 0x02, 0xa2, 0xb5, 0x12, 0x9c, 0xd1,
        0xde, 0x16, 0x4e, 0xb9, 0xcb, 0xd0, 0x83, 0xe8, 0xa2, 0x50, 0x3c, 0x4e};
    static const uint8_t nonce[CHACHA20_NONCE_BYTES] = {0, 0, 0, 9, 0, 0, 0, 0x4a};
    uint8_t key[CHACHA20_KEY_BYTES], block[CHACHA20_BLOCK_BYTES];

    (void)state;
    for (size_t i = 0; i < sizeof(key); i++)
        key[i] = (uint8_t)i;
    chacha20_block(block, key, 1, nonce);
    assert_memory_equal(block, expected, sizeof(expected));
}

static void the_block_of_zeros_is_the_published_one_also_in_place(void **state)
{
    /* RFC 8439 §A.1, vectors 1 and 2: the first bytes. */
    static const uint8_t first[] = {0x76, 0xb8, 0xe0, 0xad, 0xa0, 0xf1, 0x3d, 0x90};
    static const uint8_t second[] = {0x9f, 0x07, 0xe7, 0xbe, 0x55, 0x51, 0x38, 0x7a};
    static const uint8_t nonce[CHACHA20_NONCE_BYTES];
    uint8_t block[CHACHA20_BLOCK_BYTES] = {0};

    (void)state;
    chacha20_block(block, block, 0, nonce);
    assert_memory_equal(block, first, sizeof(first));
    memset(block, 0, sizeof(block));
    chacha20_block(block, block, 1, nonce);
    assert_memory_equal(block, second, sizeof(second));
}

/* ---- the generator: its state lasts, so each test asks only for differences ---- */

static void numbers_do_not_repeat_and_use_all_bits(void **state)
{
    uint32_t seen_or = 0, seen_and = UINT32_MAX, before = random_u32();

    (void)state;
    for (int i = 0; i < 1000; i++) {
        const uint32_t now = random_u32();
        assert_int_not_equal(now, before);
        seen_or |= now;
        seen_and &= now;
        before = now;
    }
    assert_int_equal(seen_or, UINT32_MAX);
    assert_int_equal(seen_and, 0);
}

static void bytes_of_any_length_are_filled_and_no_others(void **state)
{
    (void)state;
    for (size_t len = 0; len < 1500; len += 37) {
        uint8_t out[1600] = {0};
        random_bytes(out + 10, len);
        size_t zeros = 0;
        for (size_t i = 0; i < 10; i++)
            assert_int_equal(out[i] | out[10 + len + i], 0);
        for (size_t i = 0; i < len; i++)
            zeros += out[10 + i] == 0;
        assert_true(zeros <= 5 + len / 50);
    }
}

static void bits_are_balanced(void **state)
{
    enum { BYTES = 100000 };
    static uint8_t out[BYTES];
    size_t ones = 0;

    (void)state;
    random_bytes(out, sizeof(out));
    for (size_t i = 0; i < BYTES; i++)
        ones += (size_t)__builtin_popcount(out[i]);
    /* 400,000 expected, deviation 447: six of them. */
    assert_in_range(ones, 400000 - 2700, 400000 + 2700);
}

/* ---- seeding at boot ---- */

static void init_names_its_sources(void **state)
{
    static const struct {
        bool hw;
        uint64_t cycle_step;
        const char *line;
    } cases[] = {
        {true, 0, "debug random: seeded from the processor's generator and cycle jitter"},
        {true, 7, "debug random: seeded from the processor's generator\n"},
        {false, 0, "debug random: seeded from cycle jitter"},
        {false, 7, "warn random: no good source"},
    };

    (void)state;
    log_set_sink(keep);
    log_set_level(LOG_DEBUG);
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        hw_present = cases[i].hw;
        cycle_step = cases[i].cycle_step;
        random_init();
        assert_non_null(strstr(logged, cases[i].line));
    }
}

/* A number drawn after booting and then adding a seed: a child process starts from the same state each time. */
static uint32_t number_after_boot(uint64_t wall, uint64_t word, unsigned jitter_seed,
                                  const char *seed)
{
    FILE *pipe;
    char command[256], line[32] = "";
    uint32_t value;

    snprintf(command, sizeof(command), "/proc/%d/exe boot %llu %llu %u '%s'", (int)getpid(),
             (unsigned long long)wall, (unsigned long long)word, jitter_seed, seed);
    pipe = popen(command, "r");
    assert_non_null(pipe);
    assert_non_null(fgets(line, sizeof(line), pipe));
    assert_int_equal(pclose(pipe), 0);
    value = (uint32_t)strtoul(line, NULL, 10);
    return value;
}

static int boot(char **args)
{
    wall_us = strtoull(args[0], NULL, 10);
    hw_word = strtoull(args[1], NULL, 10);
    hw_present = hw_word != 0;
    const unsigned jitter_seed = (unsigned)strtoul(args[2], NULL, 10);
    cycle_step = jitter_seed ? 0 : 1;
    srand(jitter_seed);
    random_init();
    random_u32(); /* the pool is full when the seed comes, and must not be used any more */
    const size_t seed_len = strlen(args[3]);
    for (char *at = args[3]; *at; at++)
        *at = *at == '0' ? '\0' : *at; /* which an argument can't hold */
    random_seed_add(args[3], seed_len);
    printf("%u\n", (unsigned)random_u32());
    return 0;
}

static void each_source_alone_makes_a_boot_different(void **state)
{
    (void)state;
    const uint32_t plain = number_after_boot(1, 0, 0, "");
    assert_int_equal(number_after_boot(1, 0, 0, ""), plain);
    assert_int_not_equal(number_after_boot(2, 0, 0, ""), plain);
    assert_int_not_equal(number_after_boot(1, 5, 0, ""), plain);
    assert_int_not_equal(number_after_boot(1, 0, 1, ""), plain);
    assert_int_not_equal(number_after_boot(1, 0, 2, ""), number_after_boot(1, 0, 1, ""));
}

static void a_seed_takes_effect_at_once_whatever_its_length(void **state)
{
    static const char *const seeds[] = {"",
                                        "a",
                                        "b",
                                        "a0",
                                        "0a",
                                        "ab",
                                        "ba",
                                        "one of more bytes than a key has, 1",
                                        "one of more bytes than a key has, 2"};
    uint32_t numbers[ARRAY_COUNT(seeds)];

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(seeds); i++) {
        numbers[i] = number_after_boot(1, 0, 0, seeds[i]);
        assert_int_equal(numbers[i], number_after_boot(1, 0, 0, seeds[i]));
        for (size_t j = 0; j < i; j++)
            assert_int_not_equal(numbers[i], numbers[j]);
    }
}

int main(int argc, char **argv)
{
    if (argc == 6 && strcmp(argv[1], "boot") == 0)
        return boot(argv + 2);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_block_function_gives_the_published_block),
        cmocka_unit_test(the_block_of_zeros_is_the_published_one_also_in_place),
        cmocka_unit_test(numbers_do_not_repeat_and_use_all_bits),
        cmocka_unit_test(bytes_of_any_length_are_filled_and_no_others),
        cmocka_unit_test(bits_are_balanced),
        cmocka_unit_test(init_names_its_sources),
        cmocka_unit_test(each_source_alone_makes_a_boot_different),
        cmocka_unit_test(a_seed_takes_effect_at_once_whatever_its_length),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
