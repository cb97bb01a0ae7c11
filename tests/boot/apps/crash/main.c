/*
 * Crashes in the way that its first argument names. Each must end in one crash block and status 70, so main()
 * returning (status 1 or 2) is a failure.
 */
#include <assert.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/x86_64/irq.h"
#include "lib/check.h"
#include "lib/thread.h"
#include "port/clock.h"
#include "port/cpu.h"

static volatile uintptr_t nowhere;

static void read_null(void)
{
    (void)*(volatile int *)nowhere;
}

static void write_null(void)
{
    ((volatile int *)nowhere)[3] = 1;
}

static void call_null(void)
{
    ((void (*)(void))nowhere)();
}

static void write_text(void)
{
    *(volatile uint8_t *)(uintptr_t)&read_null = 0xcc;
}

static void write_constant(void)
{
    static const char text[] = "constant";
    *(volatile char *)(uintptr_t)text = 'C';
}

static void run_data(void)
{
    static uint8_t code[16] = {0xc3};
    ((void (*)(void))(uintptr_t)code)();
}

static void run_heap(void)
{
    uint8_t *code = malloc(16);
    code[0] = 0xc3;
    ((void (*)(void))(uintptr_t)code)();
}

static void read_unmapped(void)
{
    (void)*(volatile int *)(nowhere + 0x00007fff00000000);
}

static void read_non_canonical(void)
{
    (void)*(volatile int *)(nowhere + 0x1234000000000000);
}

static int recurse(volatile char *above)
{
    volatile char here[512];
    here[0] = above[0];
    return nowhere == 1 ? 0 : recurse(here) + here[1];
}

static void overflow_stack(void)
{
    char first[1] = {0};
    recurse(first);
}

/* One frame larger than stack and guard together: touched from its far end on. */
__attribute__((noinline)) static void take_big_frame(size_t bytes)
{
    volatile char *frame = __builtin_alloca(bytes);

    frame[0] = 1;
    frame[bytes - 1] = 1;
}

static void big_frame(void)
{
    take_big_frame(nowhere + 512 * 1024);
}

static void *big_frame_of_thread(void *arg)
{
    (void)arg;
    big_frame();
    return NULL;
}

static void big_frame_thread(void)
{
    thread_join(thread_create(big_frame_of_thread, NULL, 0), NULL);
}

/* Upwards out of the main stack: the next page is another stack's guard. */
static void write_upwards(void)
{
    volatile char here[16];

    for (volatile char *p = here;; p++)
        *p = 1;
}

static void *overflow(void *arg)
{
    (void)arg;
    overflow_stack();
    return NULL;
}

static void overflow_thread(void)
{
    thread_join(thread_create(overflow, NULL, 0), NULL);
}

static void lose_stack(void)
{
    __asm__ volatile("mov %0, %%rsp; push %%rax" : : "r"(nowhere + 64) : "memory");
}

static void lose_frames(void)
{
    __asm__ volatile("mov %0, %%rbp; ud2" : : "r"(nowhere + 0x123450) : "memory");
}

static void divide(void)
{
    volatile int zero = 0;
    __asm__ volatile("idivl %0" : : "m"(zero), "a"(1), "d"(0));
}

static void bad_instruction(void)
{
    __asm__ volatile("ud2");
}

static void ask_panic(void)
{
    panic("asked to, with %d and %s", 42, "words");
}

static void fail_assert(void)
{
    assert(nowhere == 1);
}

static void fail_check(void)
{
    ASSERT(nowhere == 1);
}

static int compare_and_crash(const void *a, const void *b)
{
    (void)a;
    (void)b;
    read_null();
    return 0;
}

static void in_callback(void)
{
    int v[3] = {3, 1, 2};
    qsort(v, 3, sizeof(v[0]), compare_and_crash);
}

static void in_interrupt(void)
{
    irq_set_timer_handler(read_null);
    cpu_idle(clock_now_us() + 1000, NULL, NULL);
}

static void mid_line(void)
{
    printf("the cursor stays here");
    fflush(stdout);
    read_null();
}

static const struct {
    const char *name;
    void (*crash)(void);
} ways[] = {
    {"read-null", read_null},
    {"write-null", write_null},
    {"call-null", call_null},
    {"write-text", write_text},
    {"write-constant", write_constant},
    {"run-data", run_data},
    {"run-heap", run_heap},
    {"read-unmapped", read_unmapped},
    {"read-non-canonical", read_non_canonical},
    {"overflow-stack", overflow_stack},
    {"overflow-thread", overflow_thread},
    {"big-frame", big_frame},
    {"big-frame-thread", big_frame_thread},
    {"write-upwards", write_upwards},
    {"lose-stack", lose_stack},
    {"lose-frames", lose_frames},
    {"divide", divide},
    {"bad-instruction", bad_instruction},
    {"panic", ask_panic},
    {"assert", fail_assert},
    {"check", fail_check},
    {"abort", abort},
    {"in-callback", in_callback},
    {"in-interrupt", in_interrupt},
    {"mid-line", mid_line},
};

int main(int argc, char **argv)
{
    for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(ways[0]); i++) {
        if (strcmp(ways[i].name, argv[1]) == 0) {
            ways[i].crash();
            return 1;
        }
    }
    for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
        printf("%s\n", ways[i].name);
    return 2;
}
