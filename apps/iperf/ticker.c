#include "apps/iperf/ticker.h"

#include "lwip/timeouts.h"
#include "port/clock.h"

static struct ticker *waiting; /* sorted by due_us */
static bool scheduled;
static uint64_t scheduled_us; /* when lwIP is to call us */

static void run_due(void *arg);

/* Have lwIP call at the first ticker's time, if it doesn't do so already. */
static void schedule(uint64_t now_us)
{
    if (!waiting)
        return;
    /* A timeout that is late by a second was lost for want of memory. */
    const bool lost = scheduled && now_us > scheduled_us + 1000000;
    if (scheduled && !lost && scheduled_us <= waiting->due_us + 500)
        return;
    if (scheduled)
        sys_untimeout(run_due, NULL);
    const uint64_t wait_us = waiting->due_us > now_us ? waiting->due_us - now_us : 0;
    const uint64_t wait_ms = wait_us / 1000 + 1;
    scheduled = true;
    scheduled_us = now_us + wait_ms * 1000;
    sys_timeout(wait_ms < 1000000 ? (u32_t)wait_ms : 1000000, run_due, NULL);
}

static void run_due(void *arg)
{
    (void)arg;
    scheduled = false;
    const uint64_t now_us = clock_now_us();
    while (waiting && waiting->due_us <= now_us) {
        struct ticker *t = waiting;
        waiting = t->next;
        t->armed = false;
        t->fn(t->arg);
    }
    schedule(clock_now_us());
}

void ticker_stop(struct ticker *t)
{
    if (!t->armed)
        return;
    struct ticker **at = &waiting;
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
    t->armed = false;
}

void ticker_at(struct ticker *t, uint64_t due_us)
{
    ticker_stop(t);
    struct ticker **at = &waiting;
    while (*at && (*at)->due_us <= due_us)
        at = &(*at)->next;
    t->due_us = due_us;
    t->next = *at;
    t->armed = true;
    *at = t;
    if (waiting == t)
        schedule(clock_now_us());
}
