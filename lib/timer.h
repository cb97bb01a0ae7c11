/*
 * Things to do at a time: what ends threads' waits, and what alarms are made of.
 *
 * Kept in one list by time. The scheduler lets due ones run before it looks for a thread, and at least every
 * 2 ms (lib/preempt.h) while a program computes; the poll loop sleeps no longer than to the first.
 */
#ifndef LIB_TIMER_H
#define LIB_TIMER_H

#include "lib/types.h"

#define TIMER_NEVER UINT64_MAX

/* Embedded in its owner. All-zero but `fire` is a timer that isn't running. */
struct timer {
    uint64_t due_us; /* clock_now_us() time */
    struct timer *next, *prev;
    bool running;
    void (*fire)(struct timer *timer); /* the timer is stopped; must not wait, may start it anew */
};

/* Start, or start anew; the timer is borrowed until it fires or is stopped. */
void timer_start_at(struct timer *timer, uint64_t due_us);
void timer_stop(struct timer *timer); /* not running: does nothing */

uint64_t timers_next_us(void); /* TIMER_NEVER: none runs */
void timers_run(void);         /* fire those that are due */

#endif
