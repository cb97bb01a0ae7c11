#include "lib/preempt.h"

#include "lib/check.h"
#include "lib/thread_impl.h"
#include "port/cpu.h"

volatile uint32_t preempt_depth = 1;
volatile uint32_t preempt_wanted;
volatile uint32_t preempt_cancel;

static bool allowed;

void preempt_allow(void)
{
    ASSERT(preempt_depth == 1);
    allowed = true;
    sched.since_cycles = cpu_cycles();
    preempt_want(PREEMPT_TICK);
    preempt_on();
}

bool preempt_is_allowed(void)
{
    return allowed;
}

static void act(void)
{
    const uint32_t wanted = preempt_wanted & (PREEMPT_TICK | PREEMPT_TURN);

    preempt_unwant(wanted);
    if (wanted & PREEMPT_TICK)
        cpu_tick_arm(PREEMPT_TICK_US);
    if (wanted & PREEMPT_TURN)
        sched_preempt();
    if (preempt_wanted & PREEMPT_ATTENTION)
        sched.attention();
}

void preempt_point(void)
{
    do {
        preempt_depth = 1;
        act();
        preempt_depth = 0;
    } while (preempt_wanted);
}

void preempt_set_cancellation(void (*cancellation)(void))
{
    sched.cancellation = cancellation;
}

void preempt_cancellation(void)
{
    preempt_off();
    if (sched.cancellation)
        sched.cancellation();
    preempt_on();
}

void preempt_set_again(bool (*again)(long result, int kind))
{
    sched.again = again;
}

bool preempt_again(long result, int kind)
{
    return sched.again && sched.again(result, kind);
}

_Noreturn void preempt_unlocked(void)
{
    preempt_off();
    panic("the program called lwIP's raw API without net_lock()");
}

void preempt_interrupted(void)
{
    do
        act();
    while (preempt_wanted);
}

/*
 * The network gets a turn when it had none since the last tick: a program that waits now and then gives it
 * turns enough, and pays for no more.
 */
void preempt_tick(void)
{
    preempt_want(PREEMPT_TICK);
    if (sched.ticks_left > 0)
        sched.ticks_left--;
    if (sched.spent.head)
        sched.spent_age++;
    if (sched.turns == sched.turns_at_tick)
        preempt_want(PREEMPT_TURN);
    sched.turns_at_tick = sched.turns;
}
