/*
 * The poll loop: NICs, lwIP's timers, and sleep.
 *
 * One turn takes what the NICs have, lets due timers run and flushes what was queued. When a turn finds nothing,
 * interrupts are asked for, the rings are looked at once more (an event between the last look and the request
 * is seen then), and the processor halts until an interrupt or the next deadline.
 */
#ifndef NET_LOOP_H
#define NET_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "lib/options.h"
#include "net/vif.h"

enum { LOOP_NICS_MAX = OPT_NICS_MAX };

/* Become the thread scheduler's idle hook. */
void loop_init(enum opt_poll strategy);

/* Poll this NIC from now on (borrowed for good). */
void loop_add(struct vif *vif);

/* Turn, and sleep while the network has nothing to do, at most until then: for whoever waits where no other thread may run. */
void loop_wait_turn(uint64_t until_us);

/* One turn. Returns true when it found frames or a timer that was due. */
bool loop_turn(void);

#endif
