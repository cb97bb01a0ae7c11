/*
 * Preemption without interrupts: a thread that "computes" calls compute(), which does what the timer's interrupt would.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/page_alloc.h"
#include "lib/preempt.h"
#include "lib/thread_impl.h"
#include "port/clock.h"
#include "tests/host/support/clock.h"

enum { ARENA_BYTES = 8 * 1024 * 1024 };

static char trace[256];
static unsigned turns;
static struct waitq queue;

static void note(char letter)
{
    const char text[2] = {letter, '\0'};

    if (strlen(trace) < sizeof(trace) - 1)
        strcat(trace, text);
}

static void count_turn(void)
{
    assert_true(thread_in_idle());
    turns++;
}

static void idle_nothing(uint64_t deadline_us)
{
    (void)deadline_us;
}

/* A tick's worth of computing. */
static void compute(void)
{
    preempt_tick();
    if (!(preempt_wanted & PREEMPT_TURN))
        return;
    preempt_depth = 0; /* as if in program code */
    preempt_point();
    preempt_depth = 1;
}

static int setup(void **state)
{
    (void)state;
    uint8_t *arena = aligned_alloc(PAGE_BYTES, ARENA_BYTES);
    const struct page_range range = {(uintptr_t)arena, (uintptr_t)arena + ARENA_BYTES};

    return page_init(&range, 1);
}

static int before(void **state)
{
    (void)state;
    trace[0] = '\0';
    turns = 0;
    preempt_unwant(~0u);
    thread_set_idle(idle_nothing);
    thread_set_turn(count_turn);
    thread_set_attention_hook(NULL);
    return 0;
}

static int after(void **state)
{
    (void)state;
    thread_set_turn(NULL);
    assert_int_equal(thread_count(), 1);
    assert_int_equal(preempt_depth, 1);
    return 0;
}

static void *compute_ten_ticks(void *arg)
{
    for (int i = 0; i < 10; i++) {
        note(*(const char *)arg);
        compute();
    }
    return NULL;
}

static void threads_that_compute_take_turns_by_time_slices(void **state)
{
    (void)state;
    struct thread *a = thread_create(compute_ten_ticks, "a", 0);
    struct thread *b = thread_create(compute_ten_ticks, "b", 0);

    thread_join(a, NULL);
    thread_join(b, NULL);
    /* A fresh thread comes before one that computes; after that each has what is left of its slice. */
    assert_non_null(strstr(trace, "aaaaa"));
    assert_non_null(strstr(trace, "bbbbb"));
    assert_null(strstr(trace, "aaaaaaa"));
    assert_null(strstr(trace, "bbbbbbb"));
}

static void *wait_then_note(void *arg)
{
    while (waitq_wait(&queue, THREAD_NO_DEADLINE) == 0 && *(const char *)arg != '\0')
        note(*(const char *)arg);
    return NULL;
}

static void wake_in_turn(void)
{
    turns++;
    if (turns == 2)
        (void)waitq_wake_one(&queue);
}

static void who_is_woken_runs_before_those_that_compute(void **state)
{
    (void)state;
    struct thread *waiter = thread_create(wait_then_note, "W", 0);
    struct thread *t[4];

    thread_yield();
    for (size_t i = 0; i < ARRAY_COUNT(t); i++)
        t[i] = thread_create(compute_ten_ticks, "c", 0);
    thread_set_turn(wake_in_turn);
    for (size_t i = 0; i < ARRAY_COUNT(t); i++)
        thread_join(t[i], NULL);
    /* The four fresh ones have begun; the turn that woke it comes within their first ticks. */
    assert_in_range(strcspn(trace, "W"), 1, 6);
    thread_interrupt(waiter);
    thread_join(waiter, NULL);
}

static bool stop;

static void *yield_and_compute(void *arg)
{
    while (!stop) {
        thread_sleep_until(0); /* ready again at once, ahead of whoever computes */
        note('y');
        preempt_tick();
    }
    return arg;
}

static void *compute_once(void *arg)
{
    for (int i = 0; i < 2 * PREEMPT_SLICE_TICKS; i++)
        compute();
    stop = true;
    return arg;
}

static void who_computes_is_not_starved_by_those_that_wait_a_little(void **state)
{
    (void)state;
    struct thread *y = thread_create(yield_and_compute, NULL, 0);
    struct thread *z = thread_create(yield_and_compute, NULL, 0);
    struct thread *c = thread_create(compute_once, NULL, 0);

    stop = false;
    thread_join(c, NULL);
    assert_true(stop);
    assert_in_range(strlen(trace), 1, 200);
    thread_join(y, NULL);
    thread_join(z, NULL);
}

static void a_tick_wants_a_turn_only_if_the_network_had_none(void **state)
{
    (void)state;
    preempt_tick(); /* whatever happened before */
    preempt_unwant(~0u);
    preempt_tick();
    assert_int_equal(preempt_wanted, PREEMPT_TICK | PREEMPT_TURN);
    preempt_unwant(~0u);
    thread_yield(); /* has polled */
    preempt_tick();
    assert_int_equal(preempt_wanted, PREEMPT_TICK);
    preempt_unwant(~0u);
    preempt_tick();
    assert_int_equal(preempt_wanted, PREEMPT_TICK | PREEMPT_TURN);
}

static void what_is_put_off_happens_when_the_depth_becomes_0(void **state)
{
    (void)state;
    preempt_off();
    preempt_want(PREEMPT_TURN);
    preempt_on();
    assert_int_equal(turns, 0);
    preempt_on(); /* the one that host tests run with */
    assert_int_equal(turns, 1);
    assert_int_equal(preempt_wanted, 0);
    preempt_off();
}

static unsigned seen_depth;

static void *sleep_in_depth(void *arg)
{
    preempt_off();
    preempt_off();
    (void)waitq_wait(&queue, THREAD_NO_DEADLINE);
    seen_depth = preempt_depth;
    return arg;
}

static void each_thread_has_its_own_depth(void **state)
{
    (void)state;
    struct thread *t = thread_create(sleep_in_depth, NULL, 0);

    thread_yield();
    assert_int_equal(preempt_depth, 1);
    waitq_wake_all(&queue);
    thread_join(t, NULL);
    assert_int_equal(seen_depth, 3);
    assert_int_equal(preempt_depth, 1);
}

static struct thread *attended;

static void attend(void)
{
    assert_int_equal(preempt_depth, 1);
    attended = thread_self();
    thread_attention(attended, false);
}

static void attention_reaches_the_thread_that_it_is_for(void **state)
{
    (void)state;
    thread_set_attention_hook(attend);
    struct thread *t = thread_create(compute_ten_ticks, "t", 0);

    thread_attention(t, true);
    assert_int_equal(preempt_wanted & PREEMPT_ATTENTION, 0);
    thread_join(t, NULL);
    assert_ptr_equal(attended, t);
    thread_attention(thread_self(), true);
    assert_int_equal(preempt_wanted & PREEMPT_ATTENTION, PREEMPT_ATTENTION);
    compute();
    compute();
    assert_ptr_equal(attended, thread_self());
}

static void *wait_note_error(void *arg)
{
    const int err = waitq_wait(&queue, THREAD_NO_DEADLINE);

    note(err == -EINTR ? 'i' : err == 0 ? 'w' : '?');
    return arg;
}

static void a_wake_up_is_not_lost_on_a_thread_whose_wait_was_over(void **state)
{
    (void)state;
    struct thread *a = thread_create(wait_note_error, NULL, 0);
    struct thread *b = thread_create(wait_note_error, NULL, 0);

    thread_yield();
    thread_interrupt(a); /* ready, and still in the queue */
    assert_int_equal(waitq_wake_one(&queue), 1);
    thread_join(a, NULL);
    thread_join(b, NULL);
    assert_string_equal(trace, "iw");
}

static void time_that_passes_is_the_running_threads(void **state)
{
    (void)state;
    const uint64_t before_cycles = thread_cpu_cycles(thread_self());

    host_clock_advance(1000); /* counts as cycles here */
    assert_true(thread_cpu_cycles(thread_self()) >= before_cycles + 1000000);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(threads_that_compute_take_turns_by_time_slices),
        TEST(who_is_woken_runs_before_those_that_compute),
        TEST(who_computes_is_not_starved_by_those_that_wait_a_little),
        TEST(a_tick_wants_a_turn_only_if_the_network_had_none),
        TEST(what_is_put_off_happens_when_the_depth_becomes_0),
        TEST(each_thread_has_its_own_depth),
        TEST(attention_reaches_the_thread_that_it_is_for),
        TEST(a_wake_up_is_not_lost_on_a_thread_whose_wait_was_over),
        TEST(time_that_passes_is_the_running_threads),
    };

    return cmocka_run_group_tests_name("preempt", tests, setup, NULL);
}
