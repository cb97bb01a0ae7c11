#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fenv.h>
#include <stdlib.h>
#include <string.h>

#include "lib/page_alloc.h"
#include "lib/thread.h"
#include "port/clock.h"

enum { ARENA_BYTES = 16 * 1024 * 1024 };

static uint8_t *arena;
static size_t idle_count;
static uint64_t idle_deadline;

static void idle_spin(uint64_t deadline_us)
{
    idle_count++;
    idle_deadline = deadline_us;
}

static int setup(void **state)
{
    (void)state;
    arena = aligned_alloc(PAGE_BYTES, ARENA_BYTES);
    const struct page_range range = {(uintptr_t)arena, (uintptr_t)arena + ARENA_BYTES};

    return page_init(&range, 1);
}

static int before(void **state)
{
    (void)state;
    thread_set_idle(idle_spin);
    thread_set_exit_hook(NULL);
    idle_count = 0;
    assert_int_equal(thread_count(), 1);
    return 0;
}

static int after(void **state)
{
    (void)state;
    thread_yield(); /* detached ones may still have to end */
    assert_int_equal(thread_count(), 1);
    assert_int_equal(thread_ready_count(), 0);
    return 0;
}

static void *add_one(void *arg)
{
    return (void *)((intptr_t)arg + 1);
}

static void join_returns_what_the_thread_returned(void **state)
{
    (void)state;
    void *value;
    struct thread *t = thread_create(add_one, (void *)41, 0);

    assert_int_equal(thread_join(t, &value), 0);
    assert_int_equal((intptr_t)value, 42);
}

static void *exit_early(void *arg)
{
    thread_exit(arg);
}

static void exit_ends_a_thread_from_anywhere(void **state)
{
    (void)state;
    void *value;
    struct thread *t = thread_create(exit_early, (void *)7, 0);

    assert_int_equal(thread_join(t, &value), 0);
    assert_int_equal((intptr_t)value, 7);
}

static void a_thread_cannot_join_itself_nor_a_detached_one(void **state)
{
    (void)state;
    assert_int_equal(thread_join(thread_self(), NULL), -EDEADLK);
    struct thread *t = thread_create(add_one, NULL, 0);

    assert_int_equal(thread_detach(t), 0);
    assert_int_equal(thread_detach(t), -EINVAL);
    assert_int_equal(thread_join(t, NULL), -EINVAL);
}

static void detaching_an_ended_thread_frees_it(void **state)
{
    (void)state;
    struct thread *t = thread_create(add_one, NULL, 0);

    thread_yield();
    assert_int_equal(thread_count(), 2);
    assert_int_equal(thread_detach(t), 0);
    assert_int_equal(thread_count(), 1);
}

static char trace[64];

static void *write_letters(void *arg)
{
    for (int i = 0; i < 3; i++) {
        strncat(trace, arg, 1);
        thread_yield();
    }
    return NULL;
}

static void yielding_threads_take_turns(void **state)
{
    (void)state;
    struct thread *a = thread_create(write_letters, "a", 0);
    struct thread *b = thread_create(write_letters, "b", 0);

    trace[0] = '\0';
    thread_join(a, NULL);
    thread_join(b, NULL);
    assert_string_equal(trace, "ababab");
}

static struct waitq queue;

static void *wait_in_queue(void *arg)
{
    strncat(trace, "w", 2);
    const int err = waitq_wait(&queue, THREAD_NO_DEADLINE);

    strncat(trace, arg, 1);
    return (void *)(intptr_t)err;
}

static void wake_one_wakes_the_first_waiter_and_wake_all_the_rest(void **state)
{
    (void)state;
    struct thread *t[3] = {thread_create(wait_in_queue, "1", 0),
                           thread_create(wait_in_queue, "2", 0),
                           thread_create(wait_in_queue, "3", 0)};

    trace[0] = '\0';
    thread_yield();
    assert_string_equal(trace, "www");
    assert_int_equal(waitq_wake_one(&queue), 1);
    thread_yield();
    assert_string_equal(trace, "www1");
    assert_int_equal(waitq_wake_all(&queue), 2);
    assert_true(waitq_empty(&queue));
    for (int i = 0; i < 3; i++)
        thread_join(t[i], NULL);
    assert_string_equal(trace, "www123");
    assert_int_equal(waitq_wake_one(&queue), 0);
}

static void two_wake_ones_in_a_row_wake_two_threads(void **state)
{
    (void)state;
    struct thread *a = thread_create(wait_in_queue, "1", 0);
    struct thread *b = thread_create(wait_in_queue, "2", 0);

    thread_yield();
    waitq_wake_one(&queue);
    waitq_wake_one(&queue);
    thread_join(a, NULL);
    thread_join(b, NULL);
}

static void a_wait_ends_at_its_deadline(void **state)
{
    (void)state;
    const uint64_t start = clock_now_us();

    assert_int_equal(waitq_wait(&queue, start + 3000), -ETIMEDOUT);
    assert_true(clock_now_us() >= start + 3000);
    assert_int_equal(idle_deadline, start + 3000);
    assert_true(waitq_empty(&queue));
    assert_int_equal(waitq_wait(&queue, 0), -ETIMEDOUT);
}

static void *sleep_for(void *arg)
{
    thread_sleep_until(clock_now_us() + (uint64_t)(uintptr_t)arg);
    strncat(trace, (uintptr_t)arg > 2000 ? "l" : (uintptr_t)arg > 1000 ? "m" : "s", 2);
    return NULL;
}

static void sleepers_wake_in_the_order_of_their_deadlines(void **state)
{
    (void)state;
    struct thread *t[3] = {thread_create(sleep_for, (void *)4000, 0),
                           thread_create(sleep_for, (void *)800, 0),
                           thread_create(sleep_for, (void *)1800, 0)};

    trace[0] = '\0';
    for (int i = 0; i < 3; i++)
        thread_join(t[i], NULL);
    assert_string_equal(trace, "sml");
}

static void wake_queue_from_idle(uint64_t deadline_us)
{
    (void)deadline_us;
    assert_true(thread_in_idle());
    waitq_wake_all(&queue);
}

static void the_idle_hook_can_wake_the_thread_on_whose_stack_it_runs(void **state)
{
    (void)state;
    thread_set_idle(wake_queue_from_idle);
    assert_int_equal(waitq_wait(&queue, THREAD_NO_DEADLINE), 0);
    assert_false(thread_in_idle());
}

static bool stop_yielding;

static void *yield_until_told(void *arg)
{
    (void)arg;
    while (!stop_yielding)
        thread_yield();
    return NULL;
}

static void busy_threads_do_not_silence_the_network(void **state)
{
    (void)state;
    struct thread *t[40];

    stop_yielding = false;
    for (size_t i = 0; i < ARRAY_COUNT(t); i++)
        t[i] = thread_create(yield_until_told, NULL, THREAD_STACK_MIN_BYTES);
    idle_count = 0;
    for (int i = 0; i < 10; i++)
        thread_yield(); /* 41 switches each */
    assert_in_range(idle_count, 10 * 41 / (THREAD_IDLE_EVERY + 1) - 1, 10 * 41);
    assert_int_equal(idle_deadline, 0);
    stop_yielding = true;
    for (size_t i = 0; i < ARRAY_COUNT(t); i++)
        thread_join(t[i], NULL);
}

static void a_lone_thread_that_yields_polls_the_network_each_time(void **state)
{
    (void)state;
    thread_yield();
    idle_count = 0;
    for (int i = 0; i < 5; i++)
        thread_yield();
    assert_int_equal(idle_count, 5);
}

static void relax_runs_the_idle_hook_with_the_nearer_deadline(void **state)
{
    (void)state;
    struct thread *t = thread_create(sleep_for, (void *)20000, 0);
    const uint64_t now = clock_now_us();

    thread_relax(now + 1000000); /* runs t, which falls asleep */
    thread_relax(now + 1000000);
    assert_in_range(idle_deadline, now + 20000, now + 900000);
    thread_relax(now + 100);
    assert_int_equal(idle_deadline, now + 100);
    thread_join(t, NULL);
}

static void *set_errno(void *arg)
{
    errno = (int)(intptr_t)arg;
    thread_yield();
    return (void *)(intptr_t)errno;
}

static void errno_is_each_threads_own(void **state)
{
    (void)state;
    void *a, *b;
    struct thread *t = thread_create(set_errno, (void *)EPERM, 0);
    struct thread *u = thread_create(set_errno, (void *)ENOENT, 0);

    errno = EIO;
    thread_join(t, &a);
    thread_join(u, &b);
    assert_int_equal((intptr_t)a, EPERM);
    assert_int_equal((intptr_t)b, ENOENT);
    assert_int_equal(errno, EIO);
}

static void *round_upward(void *arg)
{
    (void)arg;
    fesetround(FE_UPWARD);
    thread_yield();
    return (void *)(intptr_t)fegetround();
}

static void the_rounding_mode_is_each_threads_own(void **state)
{
    (void)state;
    void *mode;
    struct thread *t = thread_create(round_upward, NULL, 0);

    thread_yield();
    assert_int_equal(fegetround(), FE_TONEAREST);
    thread_join(t, &mode);
    assert_int_equal((intptr_t)mode, FE_UPWARD);
    assert_int_equal(fegetround(), FE_TONEAREST);
}

static void *interrupted_wait(void *arg)
{
    (void)arg;
    return (void *)(intptr_t)waitq_wait(&queue, THREAD_NO_DEADLINE);
}

static void an_interrupt_ends_a_wait_or_the_next_one(void **state)
{
    (void)state;
    void *err;
    struct thread *t = thread_create(interrupted_wait, NULL, 0);

    thread_yield();
    thread_interrupt(t);
    thread_join(t, &err);
    assert_int_equal((intptr_t)err, -EINTR);

    t = thread_create(interrupted_wait, NULL, 0);
    thread_interrupt(t);
    thread_join(t, &err);
    assert_int_equal((intptr_t)err, -EINTR);
    assert_true(waitq_empty(&queue));
}

static void *set_value(void *arg)
{
    assert_null(thread_value_get(3));
    thread_value_set(3, arg);
    thread_yield();
    return thread_value_get(3);
}

static void values_belong_to_their_thread(void **state)
{
    (void)state;
    void *value;
    struct thread *t = thread_create(set_value, "t", 0);

    thread_value_set(3, "main");
    thread_yield();
    assert_string_equal(thread_value_get(3), "main");
    thread_values_clear(3);
    assert_null(thread_value_get(3));
    thread_join(t, &value);
    assert_null(value);
}

static void memory_comes_back_when_threads_end(void **state)
{
    (void)state;
    size_t free_pages = 0;

    for (int round = 0; round < 4; round++) {
        struct thread *t[20];

        for (size_t i = 0; i < ARRAY_COUNT(t); i++)
            assert_non_null(t[i] = thread_create(add_one, NULL, i % 2 ? 0 : 20000));
        for (size_t i = 0; i < ARRAY_COUNT(t); i++)
            thread_join(t[i], NULL);
        if (round > 0) /* the cache of stacks is full after the first */
            assert_int_equal(page_free_count(), free_pages);
        free_pages = page_free_count();
    }
}

static void create_fails_when_no_pages_are_left(void **state)
{
    (void)state;
    assert_null(thread_create(add_one, NULL, ARENA_BYTES));
    assert_null(thread_create(add_one, NULL, SIZE_MAX));
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(join_returns_what_the_thread_returned),
        TEST(exit_ends_a_thread_from_anywhere),
        TEST(a_thread_cannot_join_itself_nor_a_detached_one),
        TEST(detaching_an_ended_thread_frees_it),
        TEST(yielding_threads_take_turns),
        TEST(wake_one_wakes_the_first_waiter_and_wake_all_the_rest),
        TEST(two_wake_ones_in_a_row_wake_two_threads),
        TEST(a_wait_ends_at_its_deadline),
        TEST(sleepers_wake_in_the_order_of_their_deadlines),
        TEST(the_idle_hook_can_wake_the_thread_on_whose_stack_it_runs),
        TEST(busy_threads_do_not_silence_the_network),
        TEST(a_lone_thread_that_yields_polls_the_network_each_time),
        TEST(relax_runs_the_idle_hook_with_the_nearer_deadline),
        TEST(errno_is_each_threads_own),
        TEST(the_rounding_mode_is_each_threads_own),
        TEST(an_interrupt_ends_a_wait_or_the_next_one),
        TEST(values_belong_to_their_thread),
        TEST(memory_comes_back_when_threads_end),
        TEST(create_fails_when_no_pages_are_left),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
