/*
 * Moments to act on: senders' pacing, ends of tests. All share one lwIP timeout, and none while nothing
 * waits, so an idle image keeps sleeping. Poll loop only.
 */
#ifndef APPS_IPERF_TICKER_H
#define APPS_IPERF_TICKER_H

#include "lib/types.h"

/* Embedded in its owner, zeroed before first use. Stop it before freeing the owner. */
struct ticker {
    void (*fn)(void *arg); /* may arm or stop any ticker, and free its owner */
    void *arg;
    uint64_t due_us;     /* by clock_now_us() */
    struct ticker *next; /* internal */
    bool armed;
};

/* Call t->fn(t->arg) once, at due_us or up to about a millisecond later. Replaces an earlier wish. */
void ticker_at(struct ticker *t, uint64_t due_us);
void ticker_stop(struct ticker *t);

#endif
