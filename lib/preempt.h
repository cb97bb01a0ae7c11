/*
 * Preemption: a program that computes must not silence the network, nor the other threads.
 *
 * Program code may be interrupted anywhere and another thread run instead. Everything of ours (lib/, net/, drivers/,
 * lwIP) may not: it runs with preempt_depth above 0, and therefore needs no locks. Who calls us from a program passes
 * through an entry that raises the depth and lowers it again; the build makes one for every public function
 * (tools/mkentries.py), so that none can be forgotten. A thread that waits takes its depth along.
 *
 * Interrupts only set bits of preempt_wanted. They are acted upon in the interrupt's return when it came upon a
 * program (depth 0), and otherwise when the depth next drops to 0.
 */
#ifndef LIB_PREEMPT_H
#define LIB_PREEMPT_H

#include <stdbool.h>
#include <stdint.h>

enum {
    PREEMPT_TICK_US = 2000, /* how long a program may run before the network is looked at again */
    PREEMPT_SLICE_TICKS = 5 /* how long before another thread that computes gets its turn: 10 ms */
};

/* Bits of preempt_wanted. */
enum {
    PREEMPT_TICK = 1, /* no timer is set to interrupt the program: set one */
    PREEMPT_TURN = 2, /* the network wants its turn, and then perhaps another thread */
    PREEMPT_ATTENTION =
        4 /* the running thread has something to do first: a signal's handler, its cancellation */
};

/* 1 until boot calls preempt_allow(): nothing is preempted before main(), nor ever in host tests. */
extern volatile uint32_t preempt_depth;
extern volatile uint32_t preempt_wanted;

/* Act upon preempt_wanted. Called at depth 0, and returns at depth 0; other threads may have run meanwhile. */
void preempt_point(void);

/* From here to preempt_on() no other thread runs, unless this one waits. Nests. */
static inline void preempt_off(void)
{
    preempt_depth = preempt_depth + 1;
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
}

static inline void preempt_on(void)
{
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    preempt_depth = preempt_depth - 1;
    if (preempt_depth == 0 && preempt_wanted)
        preempt_point();
}

/* An interrupt may come between reading and writing, so these are one instruction. */
static inline void preempt_want(uint32_t bits)
{
    (void)__atomic_fetch_or(&preempt_wanted, bits, __ATOMIC_RELAXED);
}

static inline void preempt_unwant(uint32_t bits)
{
    (void)__atomic_fetch_and(&preempt_wanted, ~bits, __ATOMIC_RELAXED);
}

/* The program begins: its threads, this one included, are preemptible from here. Boot only. */
void preempt_allow(void);

/* True once preempt_allow() was called. */
bool preempt_is_allowed(void);

/* ---- for the entries (tools/mkentries.py) ---- */

/* What an interruption means to a function that waits. All but RESUMED are cancellation points. */
enum {
    PREEMPT_RESTARTED, /* -1 and EINTR, unless handlers let it go on (SA_RESTART) */
    PREEMPT_RESUMED,   /* returns an errno: EINTR never leaves the entry */
    PREEMPT_ENDED,     /* -1 and EINTR in any case */
    PREEMPT_RESUMED_OR_CANCELLED
};

/* After preempt_point(): is the function that returned `result` to be called again? Asks what was set. */
bool preempt_again(long result, int kind);
void preempt_set_again(bool (*again)(long result, int kind));

/* Not 0: the running thread is to end at its next cancellation point. See thread_cancel(). */
extern volatile uint32_t preempt_cancel;

/* Called at a cancellation point while preempt_cancel isn't 0. Calls what was set, which may not return. */
void preempt_cancellation(void);
void preempt_set_cancellation(void (*cancellation)(void));

/* Where a program ends that calls lwIP without net_lock(). */
_Noreturn void preempt_unlocked(void);

/* ---- for the machine's interrupt path ---- */

/* The timer has fired. Interrupts are off. */
void preempt_tick(void);

/* A program was interrupted; the depth is 1 and stays so. Interrupts are on; other threads may run meanwhile. */
void preempt_interrupted(void);

#endif
