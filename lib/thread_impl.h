/* What the files of the thread layer share: lib/sched.c, thread.c, waitq.c. */
#ifndef LIB_THREAD_IMPL_H
#define LIB_THREAD_IMPL_H

#include "lib/thread.h"
#include "lib/timer.h"

enum thread_state { THREAD_READY, THREAD_RUNNING, THREAD_BLOCKED, THREAD_DONE };

enum { CANARY_WORDS = 8 };
#define CANARY 0x5afe57acc0ffee11u

struct thread {
    void *sp; /* while it doesn't run */
    enum thread_state state;
    uint32_t depth;      /* preempt_depth, while it doesn't run */
    uint32_t ticks_left; /* of its time slice, while it doesn't run */
    bool detached, join_taken;
    bool interrupted;
    int outcome;               /* of its wait: 0, -ETIMEDOUT, -EINTR */
    bool attention;            /* preempt_wanted has PREEMPT_ATTENTION while it runs */
    bool cancel;               /* preempt_cancel while it runs */
    struct timer timer;        /* ends its wait */
    struct thread *ready_next; /* ready queue, stack cache */
    struct thread *all_next, *all_prev;
    struct waitq join_queue;
    void *(*entry)(void *arg);
    void *arg;
    void *result;
    uint64_t cycles; /* of the processor, while it ran */
    uint8_t *
        run; /* its pages: guard, stack, C library's share, this struct; NULL for the first thread */
    size_t run_pages;
    size_t stack_bytes; /* as asked for */
    bool guarded;       /* the run's first page is not mapped */
    uint64_t *canary;   /* lowest words of the stack */
    struct thread_env env;
    void *values[THREAD_KEYS_MAX];
};

struct thread_list {
    struct thread *head, *tail;
};

struct scheduler {
    struct thread *current;
    /*
     * Who was preempted while it computed stands in `spent`, everybody else in `ready`. Ready ones come first, so a
     * thread that answers requests doesn't queue behind ten that compute; but a spent one that has waited for
     * a time slice comes before them.
     */
    struct thread_list ready, spent;
    size_t ready_count;  /* in both */
    uint32_t ticks_left; /* of the running thread's slice */
    uint32_t spent_age;  /* ticks since a spent thread was last chosen */
    uint32_t turns, turns_at_tick;
    struct thread *all;
    size_t count;
    struct thread *corpse;  /* ended, and its stack still in use by the switch */
    unsigned switches_left; /* before the idle hook gets its turn */
    uint64_t since_cycles;  /* when the running thread began */
    uint64_t halted_cycles; /* as cpu_halted_cycles() stood then */
    bool in_idle;
    void (*idle)(uint64_t deadline_us);
    void (*turn)(void);
    void (*attention)(void);
    void (*cancellation)(void);
    bool (*again)(long result, int kind);
    void (*exit_hook)(void);
};

extern struct scheduler sched;

/* Make t ready, with a new time slice. */
void sched_ready(struct thread *t);

/* Go on with the next thread; the current one stands in a queue (or is done). */
void sched_next(void);

/* First thing on the other side of every switch. */
void sched_arrive(void);

/* The program has computed for a tick, or an interrupt came: the network's turn, and perhaps another thread's. */
void sched_preempt(void);

/* Free an ended thread. */
void thread_free(struct thread *t);

void thread_timed_out(struct timer *timer);

#endif
