/* The scheduler: which thread runs next, the switch to it, and the network's turn in between. */
#include "lib/check.h"
#include "lib/page_alloc.h"
#include "lib/preempt.h"
#include "lib/thread_impl.h"
#include "port/context.h"
#include "port/cpu.h"

static struct thread first_thread = {.state = THREAD_RUNNING, .timer.fire = thread_timed_out};

struct scheduler sched = {
    .current = &first_thread, .all = &first_thread, .count = 1, .ticks_left = PREEMPT_SLICE_TICKS};

struct thread *thread_self(void)
{
    return sched.current;
}

size_t thread_ready_count(void)
{
    return sched.ready_count;
}

void thread_set_idle(void (*idle)(uint64_t deadline_us))
{
    sched.idle = idle;
}

void thread_set_turn(void (*turn)(void))
{
    sched.turn = turn;
}

bool thread_in_idle(void)
{
    return sched.in_idle;
}

/* ---- ready threads ---- */

static void push(struct thread_list *list, struct thread *t)
{
    t->state = THREAD_READY;
    t->ready_next = NULL;
    if (list->tail)
        list->tail->ready_next = t;
    else
        list->head = t;
    list->tail = t;
    sched.ready_count++;
}

static void push_front(struct thread_list *list, struct thread *t)
{
    t->state = THREAD_READY;
    t->ready_next = list->head;
    list->head = t;
    if (!list->tail)
        list->tail = t;
    sched.ready_count++;
}

static struct thread *pop(struct thread_list *list)
{
    struct thread *t = list->head;

    if (!t)
        return NULL;
    list->head = t->ready_next;
    if (!list->head)
        list->tail = NULL;
    sched.ready_count--;
    return t;
}

static struct thread *choose(void)
{
    if (sched.spent.head && (!sched.ready.head || sched.spent_age >= PREEMPT_SLICE_TICKS)) {
        sched.spent_age = 0;
        return pop(&sched.spent);
    }
    return pop(&sched.ready);
}

void sched_ready(struct thread *t)
{
    t->ticks_left = PREEMPT_SLICE_TICKS;
    push(&sched.ready, t);
}

/* ---- the switch ---- */

static void stack_check(const struct thread *t)
{
    if (!t->canary)
        return;
    for (size_t i = 0; i < CANARY_WORDS; i++) {
        if (t->canary[i] != CANARY)
            panic("stack overflow: a thread needs more than its %zu bytes", t->stack_bytes);
    }
}

size_t thread_stack_overrun(uintptr_t addr, uintptr_t sp)
{
    const struct thread *t = sched.current;
    const bool in_guard = t->guarded && addr - (uintptr_t)t->run < PAGE_BYTES;

    return in_guard || sp < (uintptr_t)t->canary ? t->stack_bytes : 0;
}

/* What the running thread has used since it began, or since this was last asked. */
static void charge(struct thread *t)
{
    const uint64_t now = cpu_cycles(), halted = cpu_halted_cycles();

    t->cycles += now - sched.since_cycles - (halted - sched.halted_cycles);
    sched.since_cycles = now;
    sched.halted_cycles = halted;
}

uint64_t thread_cpu_cycles(struct thread *t)
{
    if (t == sched.current)
        charge(t);
    return t->cycles;
}

void sched_arrive(void)
{
    struct thread *corpse = sched.corpse;

    thread_env_arrive(&sched.current->env);
    sched.corpse = NULL;
    if (corpse)
        thread_free(corpse);
}

static void attention_show(const struct thread *t)
{
    if (t->attention)
        preempt_want(PREEMPT_ATTENTION);
    else if (preempt_wanted & PREEMPT_ATTENTION)
        preempt_unwant(PREEMPT_ATTENTION);
    preempt_cancel = t->cancel;
}

static void switch_to(struct thread *to)
{
    struct thread *from = sched.current;

    stack_check(from);
    to->state = THREAD_RUNNING;
    sched.ticks_left = to->ticks_left;
    if (to == from)
        return;
    charge(from);
    from->depth = preempt_depth;
    preempt_depth = to->depth;
    sched.current = to;
    attention_show(to);
    thread_env_leave(from->state == THREAD_DONE ? NULL : &from->env, &to->env);
    context_switch(&from->sp, to->sp);
    sched_arrive();
}

/* ---- the network's turn ---- */

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
    sched.turns++;
    if (preempt_wanted & PREEMPT_TURN)
        preempt_unwant(PREEMPT_TURN);
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

void sched_next(void)
{
    ASSERT(!sched.in_idle && preempt_depth > 0);
    if (sched.ready_count > 0)
        idle_if_due();
    timers_run();

    struct thread *next;

    while (!(next = choose())) {
        idle_turn(timers_next_us());
        timers_run();
    }
    switch_to(next);
}

/* Threads that compute come first here: who waits for one of them by yielding would wait long. */
void thread_yield(void)
{
    sched.current->ticks_left = PREEMPT_SLICE_TICKS;
    push(sched.spent.head ? &sched.spent : &sched.ready, sched.current);
    sched_next();
}

void thread_relax(uint64_t deadline_us)
{
    timers_run();
    if (sched.ready_count > 0) {
        thread_yield();
        return;
    }
    const uint64_t timer = timers_next_us();

    idle_turn(timer < deadline_us ? timer : deadline_us);
}

/* ---- preemption ---- */

/* Doesn't count as a turn: while a program computes there is to be one a tick. */
static void background_turn(void)
{
    if (!sched.turn)
        return;
    ASSERT(!sched.in_idle);
    sched.in_idle = true;
    sched.turn();
    sched.in_idle = false;
}

/*
 * Who was woken meanwhile runs at once; who computes goes on when its slice isn't over yet, before the others that
 * compute.
 */
void sched_preempt(void)
{
    struct thread *self = sched.current;

    background_turn();
    timers_run();
    if (sched.ready_count == 0) {
        sched.ticks_left = PREEMPT_SLICE_TICKS;
        return;
    }
    if (sched.ticks_left == 0) {
        self->ticks_left = PREEMPT_SLICE_TICKS;
        push(&sched.spent, self);
    } else if (sched.ready.head) {
        self->ticks_left = sched.ticks_left;
        push_front(&sched.spent, self);
    } else {
        return;
    }
    struct thread *next = choose();

    ASSERT(next); /* self, if nobody else */
    switch_to(next);
}

void thread_attention(struct thread *t, bool wanted)
{
    t->attention = wanted;
    if (t == sched.current)
        attention_show(t);
}

void thread_cancel(struct thread *t, bool wanted)
{
    t->cancel = wanted;
    if (t == sched.current)
        preempt_cancel = wanted;
}

void thread_set_attention_hook(void (*hook)(void))
{
    sched.attention = hook;
}
