/* Wait queues, and the one place where a thread stops. */
#include <errno.h>

#include "lib/check.h"
#include "lib/preempt.h"
#include "lib/thread_impl.h"

/* Wake-ups and queues belong to code that isn't preempted: ours, or a program's between preempt_off() and _on(). */
static void assert_not_preemptible(void)
{
    ASSERT(preempt_depth > 0);
}

int thread_block(uint64_t deadline_us)
{
    struct thread *self = sched.current;

    ASSERT(!sched.in_idle);
    assert_not_preemptible();
    if (self->interrupted) {
        self->interrupted = false;
        return -EINTR;
    }
    self->outcome = 0;
    self->state = THREAD_BLOCKED;
    if (deadline_us != THREAD_NO_DEADLINE)
        timer_start_at(&self->timer, deadline_us);
    sched_next();
    return self->outcome;
}

void thread_timed_out(struct timer *timer)
{
    struct thread *t = (struct thread *)(void *)((uint8_t *)timer - offsetof(struct thread, timer));

    t->outcome = -ETIMEDOUT;
    thread_wake(t);
}

void thread_wake(struct thread *t)
{
    assert_not_preemptible();
    if (t->state != THREAD_BLOCKED)
        return;
    timer_stop(&t->timer);
    sched_ready(t);
}

void thread_interrupt(struct thread *t)
{
    if (t->state == THREAD_BLOCKED)
        t->outcome = -EINTR;
    else
        t->interrupted = true;
    thread_wake(t);
}

void thread_interrupt_forget(void)
{
    sched.current->interrupted = false;
}

int thread_sleep_until(uint64_t deadline_us)
{
    const int err = thread_block(deadline_us);

    return err == -ETIMEDOUT ? 0 : err;
}

/* ---- queues ---- */

static void node_wake_thread(struct wait_node *node)
{
    thread_wake(node->thread);
}

void wait_node_thread(struct wait_node *node)
{
    *node = (struct wait_node){.wake = node_wake_thread, .thread = sched.current};
}

void waitq_add(struct waitq *q, struct wait_node *node)
{
    ASSERT(!node->queue);
    assert_not_preemptible();
    node->queue = q;
    node->next = NULL;
    node->prev = q->tail;
    if (q->tail)
        q->tail->next = node;
    else
        q->head = node;
    q->tail = node;
}

void waitq_remove(struct wait_node *node)
{
    struct waitq *q = node->queue;

    if (!q)
        return;
    if (node->prev)
        node->prev->next = node->next;
    else
        q->head = node->next;
    if (node->next)
        node->next->prev = node->prev;
    else
        q->tail = node->prev;
    node->queue = NULL;
}

int waitq_wait(struct waitq *q, uint64_t deadline_us)
{
    struct wait_node node;

    wait_node_thread(&node);
    waitq_add(q, &node);
    const int err = thread_block(deadline_us);

    waitq_remove(&node);
    return err;
}

/*
 * A node that is woken leaves the queue if it is a thread's: the next wake_one means the next thread. False: its thread
 * runs already, as its wait was ended by time or a signal, so this wake-up is for another one.
 */
static bool wake_node(struct wait_node *node)
{
    if (node->wake != node_wake_thread) {
        node->wake(node);
        return true;
    }
    const bool waits = node->thread->state == THREAD_BLOCKED;

    waitq_remove(node);
    thread_wake(node->thread);
    return waits;
}

size_t waitq_wake_one(struct waitq *q)
{
    while (q->head) {
        if (wake_node(q->head))
            return 1;
    }
    return 0;
}

size_t waitq_wake_all(struct waitq *q)
{
    size_t woken = 0;

    for (struct wait_node *node = q->head, *next; node; node = next) {
        next = node->next;
        woken += wake_node(node);
    }
    return woken;
}
