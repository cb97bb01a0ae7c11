#include "lib/timer.h"

#include "port/clock.h"

static struct timer *head, *tail; /* by time, earliest first */

/* From the back: most waits are as long as the ones before them, so they end last. */
static void insert(struct timer *timer)
{
    struct timer *before = tail;

    while (before && before->due_us > timer->due_us)
        before = before->prev;
    timer->prev = before;
    timer->next = before ? before->next : head;
    if (timer->next)
        timer->next->prev = timer;
    else
        tail = timer;
    if (before)
        before->next = timer;
    else
        head = timer;
}

void timer_start_at(struct timer *timer, uint64_t due_us)
{
    timer_stop(timer);
    timer->due_us = due_us;
    timer->running = true;
    insert(timer);
}

void timer_stop(struct timer *timer)
{
    if (!timer->running)
        return;
    timer->running = false;
    if (timer->prev)
        timer->prev->next = timer->next;
    else
        head = timer->next;
    if (timer->next)
        timer->next->prev = timer->prev;
    else
        tail = timer->prev;
}

uint64_t timers_next_us(void)
{
    return head ? head->due_us : TIMER_NEVER;
}

void timers_run(void)
{
    if (!head)
        return;

    const uint64_t now = clock_now_us();

    while (head && head->due_us <= now) {
        struct timer *timer = head;

        timer_stop(timer);
        timer->fire(timer);
    }
}
