#include "net/loop.h"

#include "lib/check.h"
#include "lib/thread.h"
#include "lwip/netif.h"
#include "lwip/timeouts.h"
#include "net/ready.h"
#include "port/clock.h"
#include "port/cpu.h"

enum {
    TICK_US = NETDEV_TICK_MS * 1000,
    BACKGROUND_TURNS = 8, /* before a program that computes goes on, whatever is still waiting */
    READY_AFTER = 50 /* ticks of a program that hasn't waited once: it has set up what it serves */
};

static struct vif *nics[LOOP_NICS_MAX];
static size_t nic_count;
static enum opt_poll strategy;
static uint64_t next_tick_us;
static uint64_t turns, sleeps;

static struct counter loop_counters[] = {
    {.name = "loop_turns_total", .labels = "", .help = "Turns of the poll loop", .value = &turns},
    {.name = "loop_sleeps_total",
     .labels = "",
     .help = "Times the processor was halted",
     .value = &sleeps},
};

static bool poll_nics(void)
{
    bool found = false;

    for (size_t i = 0; i < nic_count; i++) {
        nics[i]->dev->irq_seen = false;
        found |= vif_poll(nics[i]) > 0;
    }
    return found;
}

static void flush_nics(void)
{
    for (size_t i = 0; i < nic_count; i++)
        vif_flush(nics[i]);
}

static void tick_nics(uint64_t now_us)
{
    if (now_us < next_tick_us)
        return;
    next_tick_us = now_us + TICK_US;
    for (size_t i = 0; i < nic_count; i++)
        vif_tick(nics[i]);
}

static bool run_timers(void)
{
    if (sys_timeouts_sleeptime() > 0)
        return false;
    sys_check_timeouts();
    return true;
}

bool loop_turn(void)
{
    bool found = poll_nics();

    turns++;
    netif_poll_all();
    found |= run_timers();
    tick_nics(clock_now_us());
    flush_nics();
    return found;
}

/* ---- sleep ---- */

static bool arm_nics(void)
{
    bool work = false;

    for (size_t i = 0; i < nic_count; i++)
        work |= vif_arm(nics[i]);
    return work;
}

static void disarm_nics(void)
{
    if (strategy == OPT_POLL_IRQ)
        return; /* for measuring: interrupts stay on while there is work */
    for (size_t i = 0; i < nic_count; i++)
        vif_disarm(nics[i]);
}

/*
 * Asked with interrupts off, right before the halt, when all that we stored is visible to devices: whatever
 * arm_nics() looked at too early is looked at again.
 */
static bool work_after_all(void *arg)
{
    (void)arg;
    for (size_t i = 0; i < nic_count; i++) {
        if (nics[i]->dev->irq_seen)
            return true;
    }
    return arm_nics();
}

static uint64_t min_us(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* When the loop must turn again, whatever the threads want. */
static uint64_t own_deadline(void)
{
    const uint32_t timer_ms = sys_timeouts_sleeptime();
    const uint64_t tick_us = nic_count > 0 ? next_tick_us : UINT64_MAX;

    if (timer_ms == SYS_TIMEOUTS_SLEEPTIME_INFINITE)
        return tick_us;
    return min_us(tick_us, clock_now_us() + (uint64_t)timer_ms * 1000);
}

static void sleep_until(uint64_t deadline_us)
{
    if (arm_nics() || strategy == OPT_POLL_SPIN)
        return;
    sleeps++;
    cpu_idle(min_us(deadline_us, own_deadline()), work_after_all, NULL);
}

void loop_wait_turn(uint64_t until_us)
{
    if (loop_turn())
        disarm_nics();
    else
        sleep_until(until_us);
}

/* The scheduler's idle hook: no thread can run before deadline_us, unless the network makes one ready. */
static void idle(uint64_t deadline_us)
{
    const bool found = loop_turn();

    if (found || deadline_us == 0) {
        disarm_nics();
        return;
    }
    ready_check();
    if (thread_ready_count() == 0)
        sleep_until(deadline_us);
}

/* A program computes: interrupts stay on, so that the next frame is seen at once and not after a tick. */
static void background(void)
{
    static unsigned calls;

    for (int i = 0; i < BACKGROUND_TURNS && loop_turn(); i++)
        ;
    if (++calls >= READY_AFTER)
        ready_check();
    (void)arm_nics();
}

void loop_init(enum opt_poll how)
{
    strategy = how;
    for (size_t i = 0; i < ARRAY_COUNT(loop_counters); i++)
        counters_add(&loop_counters[i]);
    thread_set_idle(idle);
    thread_set_turn(background);
}

void loop_add(struct vif *vif)
{
    ASSERT(nic_count < LOOP_NICS_MAX);
    nics[nic_count++] = vif;
}
