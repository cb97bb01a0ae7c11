/* What signals.c offers to the calls under their POSIX names, beyond posix_thread.h. */
#ifndef LIB_NEWLIB_SIGNALS_H
#define LIB_NEWLIB_SIGNALS_H

#include <signal.h>

enum { OUR_PID = 1 };

/* Become the scheduler's attention hook. Boot only. */
void signals_init(void);

/* sig: 1 … NSIG - 1. */
struct sigaction *signal_action(int sig);

/* What was sent and is held back by the running thread's mask, or not delivered yet. */
sigset_t signals_pending(void);

/* Accept one of `set` that is pending. Returns it, with *info (may be NULL), or 0. */
int signal_take(sigset_t set, siginfo_t *info);

#endif
