/*
 * The network as boot and programs see it: start it, serve it, stop it.
 *
 * One poll loop runs everything: NICs, lwIP and its timers, blocked threads. Whoever must wait waits
 * in net_wait(), which keeps the loop turning; so nothing here needs locks.
 */
#ifndef NET_NET_H
#define NET_NET_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/preempt.h"

struct netdev;
struct options;

/*
 * A program that calls lwIP's raw API outside lwIP's callbacks does so between these two: lwIP runs in interruptions of
 * the program, too. They nest; nobody else's thread runs in between, unless this one waits. Don't compute there.
 */
static inline void net_lock(void)
{
    preempt_off();
}

static inline void net_unlock(void)
{
    preempt_on();
}

/* Start lwIP. Call once, before net_attach(). Sizes windows and pools from the memory there is. */
void net_init(const struct options *opt);

/* Bring up one NIC (borrowed for good) with opt->nic[idx]. Returns 0, -ENOMEM, -ENOSPC. */
int net_attach(struct netdev *dev, unsigned idx);

/* One turn of the loop: poll every NIC once, run due timers, push out what was queued. Returns true when
 * it found work. */
bool net_poll(void);

/*
 * Turn the loop until `done(arg)` is true or the clock reaches deadline_us (UINT64_MAX: none);
 * halts the processor while there is nothing to do. Other threads run meanwhile. done may be NULL.
 */
void net_wait(bool (*done)(void *arg), void *arg, uint64_t deadline_us);

/* The program has set up its servers and lives on in their callbacks: turn the loop for ever. */
_Noreturn void net_serve(void);

#endif
