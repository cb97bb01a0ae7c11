/* A thread's life: create, exit, join, detach; its stack, and the values it keeps. */
#include "lib/thread.h"

#include <errno.h>
#include <string.h>

#include "lib/check.h"
#include "lib/page_alloc.h"
#include "lib/preempt.h"
#include "lib/thread_impl.h"
#include "port/context.h"
#include "port/guard.h"

enum { STACK_CACHE_MAX = 8, DEFAULT_PAGES = THREAD_STACK_BYTES / PAGE_BYTES };

static struct {
    struct thread *head; /* ended threads' default-size runs, linked by ready_next */
    size_t count;
} cache;

size_t thread_count(void)
{
    return sched.count;
}

struct thread_env *thread_env_of(struct thread *t)
{
    return &t->env;
}

/* ---- runs of pages: from the lowest address up a guard, the stack, the C library's share, struct thread ---- */

static size_t struct_bytes(void)
{
    return size_round_up(sizeof(struct thread), 64);
}

/* The default is a whole run, guard and all: a power of two, and what a thread per connection costs. */
static size_t run_pages(size_t stack_bytes)
{
    if (stack_bytes == 0)
        return DEFAULT_PAGES;
    const size_t beside = struct_bytes() + size_round_up(thread_env_bytes(), 64);

    return 1 + size_round_up(size_max(stack_bytes, THREAD_STACK_MIN_BYTES) + beside,
                             (size_t)PAGE_BYTES) /
                   PAGE_BYTES;
}

/* A fresh run, with *guarded set when its first page could be unmapped. */
static uint8_t *run_take(size_t pages, bool *guarded)
{
    struct thread *cached = cache.head;

    if (pages == DEFAULT_PAGES && cached) {
        cache.head = cached->ready_next;
        cache.count--;
        *guarded = cached->guarded;
        return cached->run;
    }
    uint8_t *run = page_take(pages);

    *guarded = run && guard_page_set(run);
    return run;
}

/* Threads per connection come and go: their runs needn't pass through the bitmap each time. */
static void run_give(struct thread *t)
{
    if (t->run_pages == DEFAULT_PAGES && cache.count < STACK_CACHE_MAX) {
        t->ready_next = cache.head;
        cache.head = t;
        cache.count++;
        return;
    }
    if (t->guarded)
        guard_page_clear(t->run);
    page_give(t->run, t->run_pages);
}

/* ---- life ---- */

static void all_add(struct thread *t)
{
    t->all_next = sched.all;
    t->all_prev = NULL;
    if (sched.all)
        sched.all->all_prev = t;
    sched.all = t;
    sched.count++;
}

static void all_remove(struct thread *t)
{
    if (t->all_prev)
        t->all_prev->all_next = t->all_next;
    else
        sched.all = t->all_next;
    if (t->all_next)
        t->all_next->all_prev = t->all_prev;
    sched.count--;
}

static _Noreturn void thread_first(void)
{
    struct thread *self = sched.current;

    sched_arrive();
    if (!preempt_is_allowed())
        thread_exit(self->entry(self->arg));
    preempt_on();
    void *value = self->entry(self->arg);

    preempt_off();
    thread_exit(value);
}

struct thread *thread_create(void *(*entry)(void *arg), void *arg, size_t stack_bytes)
{
    if (stack_bytes > SIZE_MAX / 2)
        return NULL;
    const size_t pages = run_pages(stack_bytes);
    bool guarded;
    uint8_t *run = run_take(pages, &guarded);

    if (!run)
        return NULL;

    uint8_t *bottom = run + (guarded ? PAGE_BYTES : 0);
    struct thread *t = (struct thread *)(void *)(run + pages * PAGE_BYTES - struct_bytes());
    uint8_t *top = (uint8_t *)t - size_round_up(thread_env_bytes(), 64);

    *t = (struct thread){.depth = 1,
                         .timer.fire = thread_timed_out,
                         .entry = entry,
                         .arg = arg,
                         .run = run,
                         .run_pages = pages,
                         .stack_bytes = stack_bytes ? stack_bytes : THREAD_STACK_BYTES,
                         .guarded = guarded,
                         .canary = (uint64_t *)(void *)bottom,
                         .env = {.stack = bottom, .stack_bytes = (size_t)(top - bottom)}};
    for (size_t i = 0; i < CANARY_WORDS; i++)
        t->canary[i] = CANARY;
    thread_env_init(&t->env, top);
    t->sp = context_new(top, thread_first);
    all_add(t);
    sched_ready(t);
    return t;
}

void thread_free(struct thread *t)
{
    thread_env_fini(&t->env);
    all_remove(t);
    if (t->run)
        run_give(t);
}

void thread_set_exit_hook(void (*hook)(void))
{
    sched.exit_hook = hook;
}

_Noreturn void thread_exit(void *value)
{
    struct thread *self = sched.current;

    if (sched.exit_hook)
        sched.exit_hook();
    self->result = value;
    self->state = THREAD_DONE;
    waitq_wake_all(&self->join_queue);
    if (self->detached)
        sched.corpse = self;
    sched_next();
    panic("a thread that had ended was switched to");
}

int thread_join(struct thread *t, void **value)
{
    if (t == sched.current)
        return -EDEADLK;
    if (t->detached || t->join_taken)
        return -EINVAL;
    t->join_taken = true;
    while (t->state != THREAD_DONE) {
        const int err = waitq_wait(&t->join_queue, THREAD_NO_DEADLINE);

        if (err && t->state != THREAD_DONE) {
            t->join_taken = false;
            return err;
        }
    }
    if (value)
        *value = t->result;
    thread_free(t);
    return 0;
}

int thread_detach(struct thread *t)
{
    if (t->detached || t->join_taken)
        return -EINVAL;
    t->detached = true;
    if (t->state == THREAD_DONE)
        thread_free(t);
    return 0;
}

struct thread *thread_find(bool (*fn)(struct thread *t, void *arg), void *arg)
{
    for (struct thread *t = sched.all; t; t = t->all_next) {
        if (t->state != THREAD_DONE && fn(t, arg))
            return t;
    }
    return NULL;
}

/* ---- per-thread values ---- */

void *thread_value_get(unsigned key)
{
    ASSERT(key < THREAD_KEYS_MAX);
    return sched.current->values[key];
}

void thread_value_set(unsigned key, void *value)
{
    ASSERT(key < THREAD_KEYS_MAX);
    sched.current->values[key] = value;
}

void thread_values_clear(unsigned key)
{
    ASSERT(key < THREAD_KEYS_MAX);
    for (struct thread *t = sched.all; t; t = t->all_next)
        t->values[key] = NULL;
}
