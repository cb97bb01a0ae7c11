#include "lib/thread.h"

#include <errno.h>
#include <string.h>

#include "lib/check.h"
#include "lib/page_alloc.h"
#include "port/clock.h"
#include "port/context.h"

enum thread_state { THREAD_READY, THREAD_RUNNING, THREAD_BLOCKED, THREAD_DONE };

enum { STACK_CACHE_MAX = 8, CANARY_WORDS = 8 };
#define CANARY 0x5afe57acc0ffee11u

struct thread {
    void *sp; /* while it doesn't run */
    enum thread_state state;
    bool detached, join_taken;
    bool interrupted;
    bool timed, timed_out;
    uint64_t deadline_us;      /* when timed */
    struct thread *ready_next; /* ready queue, stack cache */
    struct thread *timer_next, *timer_prev;
    struct thread *all_next, *all_prev;
    struct waitq join_queue;
    void *(*entry)(void *arg);
    void *arg;
    void *result;
    size_t run_pages; /* stack and this struct, in one run; 0 for the first thread */
    uint64_t *canary; /* lowest words of the stack */
    struct thread_env env;
    void *values[THREAD_KEYS_MAX];
};

static struct thread first_thread = {.state = THREAD_RUNNING};

static struct {
    struct thread *current;
    struct thread *ready_head, *ready_tail;
    size_t ready_count;
    struct thread *timer_head, *timer_tail; /* by deadline, earliest first */
    struct thread *all;
    size_t count;
    struct thread *corpse;      /* ended, and its stack still in use by the switch */
    struct thread *stack_cache; /* default-size runs, linked by ready_next */
    size_t stack_cache_count;
    unsigned switches_left; /* before the idle hook gets its turn */
    bool in_idle;
    void (*idle)(uint64_t deadline_us);
    void (*exit_hook)(void);
} sched = {.current = &first_thread, .all = &first_thread, .count = 1};

struct thread *thread_self(void)
{
    return sched.current;
}

size_t thread_count(void)
{
    return sched.count;
}

size_t thread_ready_count(void)
{
    return sched.ready_count;
}

void thread_set_idle(void (*idle)(uint64_t deadline_us))
{
    sched.idle = idle;
}

bool thread_in_idle(void)
{
    return sched.in_idle;
}

/* ---- ready queue and timers ---- */

static void ready_push(struct thread *t)
{
    t->state = THREAD_READY;
    t->ready_next = NULL;
    if (sched.ready_tail)
        sched.ready_tail->ready_next = t;
    else
        sched.ready_head = t;
    sched.ready_tail = t;
    sched.ready_count++;
}

static struct thread *ready_pop(void)
{
    struct thread *t = sched.ready_head;

    if (!t)
        return NULL;
    sched.ready_head = t->ready_next;
    if (!sched.ready_head)
        sched.ready_tail = NULL;
    sched.ready_count--;
    return t;
}

/* From the back: most waits are as long as the ones before them, so they end last. */
static void timer_add(struct thread *t)
{
    struct thread *before = sched.timer_tail;

    while (before && before->deadline_us > t->deadline_us)
        before = before->timer_prev;
    t->timer_prev = before;
    t->timer_next = before ? before->timer_next : sched.timer_head;
    if (t->timer_next)
        t->timer_next->timer_prev = t;
    else
        sched.timer_tail = t;
    if (before)
        before->timer_next = t;
    else
        sched.timer_head = t;
    t->timed = true;
}

static void timer_remove(struct thread *t)
{
    if (!t->timed)
        return;
    t->timed = false;
    if (t->timer_prev)
        t->timer_prev->timer_next = t->timer_next;
    else
        sched.timer_head = t->timer_next;
    if (t->timer_next)
        t->timer_next->timer_prev = t->timer_prev;
    else
        sched.timer_tail = t->timer_prev;
}

static void timers_run(void)
{
    if (!sched.timer_head)
        return;

    const uint64_t now = clock_now_us();

    while (sched.timer_head && sched.timer_head->deadline_us <= now) {
        struct thread *t = sched.timer_head;

        t->timed_out = true;
        thread_wake(t);
    }
}

/* ---- the switch ---- */

static void stack_check(const struct thread *t)
{
    if (!t->canary)
        return;
    for (size_t i = 0; i < CANARY_WORDS; i++) {
        if (t->canary[i] != CANARY)
            panic("stack overflow: a thread needs more than its %zu bytes",
                  t->run_pages * (size_t)PAGE_BYTES);
    }
}

size_t thread_stack_overrun(uintptr_t sp)
{
    const struct thread *t = sched.current;

    return sp < (uintptr_t)t->canary ? t->run_pages * (size_t)PAGE_BYTES : 0;
}

static void thread_free(struct thread *t)
{
    thread_env_fini(&t->env);
    if (t->all_prev)
        t->all_prev->all_next = t->all_next;
    else
        sched.all = t->all_next;
    if (t->all_next)
        t->all_next->all_prev = t->all_prev;
    sched.count--;
    if (!t->run_pages)
        return;

    /* Threads per connection come and go: their runs needn't pass through the bitmap each time. */
    if (t->run_pages == THREAD_STACK_BYTES / PAGE_BYTES &&
        sched.stack_cache_count < STACK_CACHE_MAX) {
        t->ready_next = sched.stack_cache;
        sched.stack_cache = t;
        sched.stack_cache_count++;
        return;
    }
    page_give(t->canary, t->run_pages);
}

/* First thing on the other side of every switch. */
static void switch_arrive(void)
{
    struct thread *corpse = sched.corpse;

    thread_env_arrive(&sched.current->env);
    sched.corpse = NULL;
    if (corpse)
        thread_free(corpse);
}

static void switch_to(struct thread *to)
{
    struct thread *from = sched.current;

    stack_check(from);
    to->state = THREAD_RUNNING;
    if (to == from)
        return;
    sched.current = to;
    thread_env_leave(from->state == THREAD_DONE ? NULL : &from->env, &to->env);
    context_switch(&from->sp, to->sp);
    switch_arrive();
}

static void idle_turn(uint64_t deadline_us)
{
    /* This switch included, a round of the ready queue. */
    sched.switches_left =
        sched.ready_count ? (unsigned)size_min(sched.ready_count, THREAD_IDLE_EVERY) - 1 : 0;
    if (!sched.idle)
        return;
    ASSERT(!sched.in_idle);
    sched.in_idle = true;
    sched.idle(deadline_us);
    sched.in_idle = false;
}

static uint64_t earliest_timer(void)
{
    return sched.timer_head ? sched.timer_head->deadline_us : THREAD_NO_DEADLINE;
}

/* The network's turn comes once a round of the ready queue, and after so many switches at the latest. */
static void idle_if_due(void)
{
    if (sched.switches_left > 0) {
        sched.switches_left--;
        return;
    }
    idle_turn(0);
}

/* Go on with the next thread; the current one stands in a queue (or is done). */
static void schedule(void)
{
    ASSERT(!sched.in_idle);
    if (sched.ready_head)
        idle_if_due();
    timers_run();

    struct thread *next;

    while (!(next = ready_pop())) {
        idle_turn(earliest_timer());
        timers_run();
    }
    switch_to(next);
}

void thread_yield(void)
{
    ready_push(sched.current);
    schedule();
}

void thread_relax(uint64_t deadline_us)
{
    timers_run();
    if (sched.ready_head) {
        thread_yield();
        return;
    }
    const uint64_t timer = earliest_timer();

    idle_turn(timer < deadline_us ? timer : deadline_us);
}

/* ---- life ---- */

static _Noreturn void thread_first(void)
{
    switch_arrive();
    thread_exit(sched.current->entry(sched.current->arg));
}

static void *run_take(size_t pages)
{
    struct thread *cached = sched.stack_cache;

    if (pages != THREAD_STACK_BYTES / PAGE_BYTES || !cached)
        return page_take(pages);
    sched.stack_cache = cached->ready_next;
    sched.stack_cache_count--;
    return cached->canary;
}

/* From the top of the run downwards: the struct, the C library's share, the stack, its canary. */
struct thread *thread_create(void *(*entry)(void *arg), void *arg, size_t stack_bytes)
{
    if (stack_bytes == 0)
        stack_bytes = THREAD_STACK_BYTES;
    if (stack_bytes > SIZE_MAX / 2)
        return NULL;
    const size_t bytes =
        size_round_up(size_max(stack_bytes, THREAD_STACK_MIN_BYTES), (size_t)PAGE_BYTES);
    uint8_t *run = run_take(bytes / PAGE_BYTES);

    if (!run)
        return NULL;

    struct thread *t =
        (struct thread *)(void *)(run + bytes - size_round_up(sizeof(struct thread), 64));
    uint8_t *top = (uint8_t *)t - size_round_up(thread_env_bytes(), 16);

    *t = (struct thread){.entry = entry,
                         .arg = arg,
                         .run_pages = bytes / PAGE_BYTES,
                         .canary = (uint64_t *)(void *)run,
                         .env = {.stack = run, .stack_bytes = (size_t)(top - run)}};
    for (size_t i = 0; i < CANARY_WORDS; i++)
        t->canary[i] = CANARY;
    thread_env_init(&t->env, top);
    t->sp = context_new(top, thread_first);
    t->all_next = sched.all;
    if (sched.all)
        sched.all->all_prev = t;
    sched.all = t;
    sched.count++;
    ready_push(t);
    return t;
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
    schedule();
    panic("a thread that had ended was switched to");
}

int thread_join(struct thread *t, void **value)
{
    if (t == sched.current)
        return -EDEADLK;
    if (t->detached || t->join_taken)
        return -EINVAL;
    t->join_taken = true;
    while (t->state != THREAD_DONE)
        (void)waitq_wait(&t->join_queue, THREAD_NO_DEADLINE);
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

/* ---- waiting ---- */

int thread_block(uint64_t deadline_us)
{
    struct thread *self = sched.current;

    ASSERT(!sched.in_idle);
    if (self->interrupted) {
        self->interrupted = false;
        return -EINTR;
    }
    self->timed_out = false;
    self->state = THREAD_BLOCKED;
    if (deadline_us != THREAD_NO_DEADLINE) {
        self->deadline_us = deadline_us;
        timer_add(self);
    }
    schedule();
    if (self->timed_out)
        return -ETIMEDOUT;
    if (self->interrupted) {
        self->interrupted = false;
        return -EINTR;
    }
    return 0;
}

void thread_wake(struct thread *t)
{
    if (t->state != THREAD_BLOCKED)
        return;
    timer_remove(t);
    ready_push(t);
}

void thread_interrupt(struct thread *t)
{
    t->interrupted = true;
    thread_wake(t);
}

int thread_sleep_until(uint64_t deadline_us)
{
    const int err = thread_block(deadline_us);

    return err == -ETIMEDOUT ? 0 : err;
}

static void node_wake_thread(struct wait_node *node)
{
    thread_wake(node->thread);
}

void wait_node_thread(struct wait_node *node)
{
    *node = (struct wait_node){.wake = node_wake_thread, .thread = sched.current};
}

void waitq_add(struct waitq *q, struct wait_node *node)
{
    ASSERT(!node->queue);
    node->queue = q;
    node->next = NULL;
    node->prev = q->tail;
    if (q->tail)
        q->tail->next = node;
    else
        q->head = node;
    q->tail = node;
}

void waitq_remove(struct wait_node *node)
{
    struct waitq *q = node->queue;

    if (!q)
        return;
    if (node->prev)
        node->prev->next = node->next;
    else
        q->head = node->next;
    if (node->next)
        node->next->prev = node->prev;
    else
        q->tail = node->prev;
    node->queue = NULL;
}

int waitq_wait(struct waitq *q, uint64_t deadline_us)
{
    struct wait_node node;

    wait_node_thread(&node);
    waitq_add(q, &node);
    const int err = thread_block(deadline_us);

    waitq_remove(&node);
    return err;
}

/* A node that is woken leaves the queue if it is a thread's: the next wake_one means the next thread. */
static void wake_node(struct wait_node *node)
{
    if (node->wake == node_wake_thread)
        waitq_remove(node);
    node->wake(node);
}

size_t waitq_wake_one(struct waitq *q)
{
    if (!q->head)
        return 0;
    wake_node(q->head);
    return 1;
}

size_t waitq_wake_all(struct waitq *q)
{
    size_t woken = 0;

    for (struct wait_node *node = q->head, *next; node; node = next) {
        next = node->next;
        wake_node(node);
        woken++;
    }
    return woken;
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
