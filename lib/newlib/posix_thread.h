/*
 * What POSIX adds to a thread of lib/thread.h: its signal mask, its cancellation, its name; and what the files about signals
 * and cancellation share.
 */
#ifndef LIB_NEWLIB_POSIX_THREAD_H
#define LIB_NEWLIB_POSIX_THREAD_H

#include <signal.h>
#include <stdbool.h>

#include "lib/thread.h"

enum { POSIX_NAME_BYTES = 16 }; /* as on Linux, its NUL included */

struct __pthread_cleanup;

struct posix_thread {
    sigset_t blocked, pending;
    sigset_t accepted; /* sigwait() waits for these: they come although they are blocked */
    sigset_t mask_after;
    bool mask_is_lent;  /* mask_after is to be the mask once the call that changed it returns */
    bool must_end_call; /* a handler without SA_RESTART was among those that ran last */
    bool cancelled, cancel_disabled, cancel_async, ending;
    unsigned
        library_locks; /* that the C library holds in this thread: it isn't cancelled meanwhile */
    struct __pthread_cleanup *cleanups;
    char name[POSIX_NAME_BYTES];
};

/* Of the running thread, and of any. */
struct posix_thread *posix_self(void);
struct posix_thread *posix_of(struct thread *t);

/* The first thread's share of the C library, before constructors run. Boot only. */
void posix_thread_init(void);

/*
 * Program code called from ours: between these two the thread is preemptible again. begin() returns what end() wants.
 */
uint32_t program_begin(void);
void program_end(uint32_t depth);

/* ---- signals ---- */

/* Send to the process or to one thread; sig is 1 … NSIG - 1. Callable from the idle hook and from timers. */
void signal_send(int sig, int code, union sigval value);
void signal_send_to(struct thread *t, int sig, int code, union sigval value);

/* Run the handlers of what is pending for the running thread and not blocked. */
void signals_deliver(void);

/*
 * For a call that waits with another mask (sigsuspend, ppoll, pselect, epoll_pwait; NULL: with the present one). The old
 * mask comes back by itself when the call has returned and handlers have run. If a signal is pending under the new mask,
 * the next wait ends at once.
 */
void signal_mask_lend(const sigset_t *mask);

/* The running thread's mask changed: what was held back may be due. */
void signal_mask_changed(void);

/* ---- cancellation ---- */

/* End the running thread if it was asked to, and lets itself be. At cancellation points. */
void cancel_act(void);
bool cancel_is_due(void);

/* The C library takes a lock in the running thread, and has given it back: a cancellation in between would leave it locked. */
void cancel_hold(void);
void cancel_release(void);

#endif
