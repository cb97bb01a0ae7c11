/*
 * Threads: what lets a program block in recv() while the network goes on.
 *
 * One core, and no preemption in our own code: there a thread runs until it waits, yields or ends, so nothing that
 * doesn't block needs a lock. Program code is preempted (lib/preempt.h). Whoever waits stands in a wait queue. When no
 * thread is ready the scheduler calls the idle hook, which net/ sets to one turn of its poll loop; this file
 * knows no network.
 *
 * Threads are created over page_alloc; the running thread at start (boot's stack) is a thread as well and
 * needs no set-up. Nothing here may be called from an interrupt handler. Whatever runs inside the idle hook
 * (lwIP's callbacks, too) may wake threads and create them, but must not wait: that is ASSERTed.
 */
#ifndef LIB_THREAD_H
#define LIB_THREAD_H

#include "lib/types.h"

enum {
    THREAD_STACK_BYTES = 64 * 1024, /* default; lwIP's deepest input path needs about 4 KiB of it */
    THREAD_STACK_MIN_BYTES = 16 * 1024,
    THREAD_IDLE_EVERY = 16, /* switches between ready threads before the idle hook gets its turn */
    THREAD_KEYS_MAX = 128,  /* _POSIX_THREAD_KEYS_MAX */
};
#define THREAD_NO_DEADLINE UINT64_MAX

struct thread;

/*
 * Start a thread that runs entry(arg). It becomes ready; the caller goes on.
 *
 *   stack_bytes   0 for THREAD_STACK_BYTES; rounded up to pages and to the minimum.
 *
 * Returns the thread, joinable: thread_join() or thread_detach() it once. NULL when no pages are left.
 */
struct thread *thread_create(void *(*entry)(void *arg), void *arg, size_t stack_bytes);

/* Who runs now. Never NULL. */
struct thread *thread_self(void);

/*
 * For the crash block: how large a stack the running thread was given when addr lies in its guard page, or sp
 * below it (there was no memory to unmap the page), else 0. The first thread's guard is the image's own.
 */
size_t thread_stack_overrun(uintptr_t addr, uintptr_t sp);

/* Cycles of the processor (port/cpu.h) that t has used, the network's turns on its stack included. */
uint64_t thread_cpu_cycles(struct thread *t);

/* The thread that the C library's share belongs to, and back. */
struct thread_env *thread_env_of(struct thread *t);

/* Let every thread that is ready now run before this one goes on; polls the network when none is. */
void thread_yield(void);

/* End this thread; join hands `value` on. Ending the first thread leaves the others running. */
_Noreturn void thread_exit(void *value);

/*
 * Wait until `t` has ended and free it. *value (may be NULL) receives what it returned.
 * Returns 0; -EDEADLK for oneself; -EINVAL when it is detached or another thread already joins it; -EINTR.
 */
int thread_join(struct thread *t, void **value);

/* Nobody will join `t`: free it when it ends (at once, if it has). Returns 0, or -EINVAL if it is detached. */
int thread_detach(struct thread *t);

/* Threads that have not been freed, the first one included; ready ones among them. For /metrics and tests. */
size_t thread_count(void);
size_t thread_ready_count(void);

/* Sleep until clock_now_us() reaches deadline_us. Returns 0, or -EINTR. */
int thread_sleep_until(uint64_t deadline_us);

/*
 * Run another ready thread if there is one, else call the idle hook once, with the earliest of deadline_us and
 * what other threads wait for. For loops that test a condition themselves: net_wait().
 */
void thread_relax(uint64_t deadline_us);

/*
 * What to do when no thread is ready: one turn of the poll loop, then halt until an interrupt or until
 * clock_now_us() reaches deadline_us, whichever is first. With 0: poll, don't halt. Also called, with 0, at least
 * every THREAD_IDLE_EVERY switches while threads stay ready. NULL (the start value): spin on the clock.
 */
void thread_set_idle(void (*idle)(uint64_t deadline_us));

/*
 * One turn of the poll loop on behalf of a program that computes: it returns soon, and sees to it that the devices
 * interrupt the program when there is more to do. NULL (the start value): nothing.
 */
void thread_set_turn(void (*turn)(void));

/* True while one of these hooks runs: waiting is forbidden then. */
bool thread_in_idle(void);

/* ---- waiting ---- */

/*
 * One entry of a wait queue. wake() runs in the waker's context and must not wait; it may remove
 * the node. A node stands in one queue at a time.
 */
struct wait_node {
    struct wait_node *next, *prev;
    struct waitq *queue; /* NULL: in none */
    void (*wake)(struct wait_node *node);
    struct thread *thread; /* for wait_node_thread() */
};

/* Whoever waits for one thing, first come first served. All-zero is an empty queue. */
struct waitq {
    struct wait_node *head, *tail;
};

/*
 * Wait in q until woken or until clock_now_us() reaches deadline_us.
 * Returns 0 when woken (look again at what you waited for: others may have been quicker), -ETIMEDOUT,
 * or -EINTR when thread_interrupt() ended the wait.
 */
int waitq_wait(struct waitq *q, uint64_t deadline_us);

/* Wake the first, or all. Returns how many. The woken run later: the caller isn't switched away. */
size_t waitq_wake_one(struct waitq *q);
size_t waitq_wake_all(struct waitq *q);

static inline bool waitq_empty(const struct waitq *q)
{
    return q->head == NULL;
}

/*
 * The same in parts, for waiting in several queues (poll): a node for the calling thread, put into each queue;
 * then thread_block(); then take every node out again. A node may also carry a wake() of its own (epoll).
 */
void wait_node_thread(struct wait_node *node);
void waitq_add(struct waitq *q, struct wait_node *node); /* borrows node until removed */
void waitq_remove(struct wait_node *node);               /* in none: does nothing */

/* Stop until thread_wake(thread_self()), an interrupt, or the deadline. Returns 0, -ETIMEDOUT or -EINTR. */
int thread_block(uint64_t deadline_us);

/* Make a blocked thread ready; no effect on others. */
void thread_wake(struct thread *t);

/* End t's wait with -EINTR (signals). If it isn't waiting, its next wait ends at once. */
void thread_interrupt(struct thread *t);

/* An interruption that has not ended a wait yet is not to end the next one. For the running thread. */
void thread_interrupt_forget(void);

/*
 * `wanted`: the attention hook is to run in thread t as soon as it is in program code (with preempt_depth 1; the hook
 * lowers it while it calls the program), again and again until this is called with false.
 */
void thread_attention(struct thread *t, bool wanted);
void thread_set_attention_hook(void (*hook)(void));

/* `wanted`: thread t is to end at its next cancellation point (lib/preempt.h). */
void thread_cancel(struct thread *t, bool wanted);

/* Call fn for every thread that has not ended, newest first, until it returns true. Returns that thread, or NULL. */
struct thread *thread_find(bool (*fn)(struct thread *t, void *arg), void *arg);

/* ---- per-thread values, for pthread keys ---- */
void *thread_value_get(unsigned key); /* key < THREAD_KEYS_MAX; NULL until set */
void thread_value_set(unsigned key, void *value);
void thread_values_clear(unsigned key); /* in every thread: a key was deleted */
/* Called in an ending thread, before its values are gone. */
void thread_set_exit_hook(void (*hook)(void));

/*
 * ---- the C library's share ----
 * What the library keeps per thread (errno, newlib's struct _reent, the thread pointer for __thread). Link-time
 * names: lib/newlib/thread_env.c in the image, tests/host/support/thread_env.c on the host.
 */
struct thread_env {
    void *opaque[4];
    void *stack; /* lowest byte; NULL for the first thread */
    size_t stack_bytes;
};
size_t thread_env_bytes(void); /* memory it wants beside the thread, 16-byte aligned */
void thread_env_init(struct thread_env *env, void *memory); /* memory: NULL for the first thread */
void thread_env_fini(struct thread_env *env);               /* the thread has ended; another runs */
/* Around each switch; `from` is NULL when that thread ends. */
void thread_env_leave(struct thread_env *from, struct thread_env *to);
void thread_env_arrive(struct thread_env *to);

#endif
