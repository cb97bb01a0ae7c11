/* Signals under their POSIX names (POSIX.1-2017 §2.4); what they do is in signals.c. */
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "lib/check.h"
#include "lib/newlib/posix_thread.h"
#include "lib/newlib/result.h"
#include "lib/newlib/timespec.h"
#include "lib/newlib/signals.h"
#include "port/clock.h"

static bool is_signal(int sig)
{
    return sig > 0 && sig < NSIG;
}

/* ---- sending ---- */

static int send_to_process(pid_t pid, int sig, int code, union sigval value)
{
    if (sig < 0 || sig >= NSIG)
        return failed(EINVAL);
    if (pid != OUR_PID && pid != -OUR_PID && pid != 0 && pid != -1)
        return failed(ESRCH);
    if (sig != 0) /* 0 only asks whether we exist */
        signal_send(sig, code, value);
    return 0;
}

int kill(pid_t pid, int sig)
{
    return send_to_process(pid, sig, SI_USER, (union sigval){0});
}

int killpg(pid_t group, int sig)
{
    return kill(group == 0 ? 0 : -group, sig);
}

int sigqueue(pid_t pid, int sig, const union sigval value)
{
    return send_to_process(pid, sig, SI_QUEUE, value);
}

int raise(int sig)
{
    if (sig < 0 || sig >= NSIG)
        return failed(EINVAL);
    if (sig != 0)
        signal_send_to(thread_self(), sig, SI_TKILL, (union sigval){0});
    return 0;
}

static bool is_thread(struct thread *t, void *arg)
{
    return t == arg;
}

int pthread_kill(pthread_t thread, int sig)
{
    if (sig < 0 || sig >= NSIG)
        return EINVAL;
    if (!thread_find(is_thread, thread))
        return ESRCH;
    if (sig != 0)
        signal_send_to(thread, sig, SI_TKILL, (union sigval){0});
    return 0;
}

/* C11 §7.22.4.1: a handler may run, and leave by longjmp(); if it returns, that was the end all the same. */
void abort(void)
{
    posix_self()->blocked &= ~((sigset_t)1 << SIGABRT);
    (void)raise(SIGABRT);
    signals_deliver();
    panic("abort() was called");
}

/* ---- actions ---- */

int sigaction(int sig, const struct sigaction *restrict action, struct sigaction *restrict old)
{
    if (!is_signal(sig) || (action && (sig == SIGKILL || sig == SIGSTOP)))
        return failed(EINVAL);
    struct sigaction *slot = signal_action(sig);
    const struct sigaction before = *slot;

    if (action)
        *slot = *action;
    if (old)
        *old = before;
    return 0;
}

/* As on Linux and the BSDs: the action stays, and calls go on. */
_sig_func_ptr signal(int sig, _sig_func_ptr handler)
{
    struct sigaction action = {.sa_flags = SA_RESTART}, old;

    action.sa_handler = handler;
    if (handler == SIG_ERR || sigaction(sig, &action, &old)) {
        errno = EINVAL;
        return SIG_ERR;
    }
    return old.sa_handler;
}

int siginterrupt(int sig, int interrupts)
{
    struct sigaction action;

    if (sigaction(sig, NULL, &action))
        return -1;
    action.sa_flags = interrupts ? action.sa_flags & ~SA_RESTART : action.sa_flags | SA_RESTART;
    return sigaction(sig, &action, NULL);
}

/* Handlers run on their thread's stack. */
int sigaltstack(const stack_t *restrict stack, stack_t *restrict old)
{
    if (old)
        *old = (stack_t){.ss_flags = SS_DISABLE};
    return stack && !(stack->ss_flags & SS_DISABLE) ? failed(ENOSYS) : 0;
}

/* ---- masks ---- */

int pthread_sigmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    struct posix_thread *self = posix_self();
    const sigset_t before = self->blocked;

    if (set) {
        switch (how) {
        case SIG_BLOCK:
            self->blocked |= *set;
            break;
        case SIG_UNBLOCK:
            self->blocked &= ~*set;
            break;
        case SIG_SETMASK:
            self->blocked = *set;
            break;
        default:
            return EINVAL;
        }
        signal_mask_changed();
    }
    if (old)
        *old = before;
    return 0;
}

int sigprocmask(int how, const sigset_t *restrict set, sigset_t *restrict old)
{
    const int err = pthread_sigmask(how, set, old);

    return err ? failed(err) : 0;
}

int sigpending(sigset_t *set)
{
    *set = signals_pending() & posix_self()->blocked;
    return 0;
}

/* ---- waiting ---- */

int sigsuspend(const sigset_t *mask)
{
    signal_mask_lend(mask);
    while (thread_block(THREAD_NO_DEADLINE) == 0)
        ;
    return failed(EINTR);
}

int pause(void)
{
    while (thread_block(THREAD_NO_DEADLINE) == 0)
        ;
    return failed(EINTR);
}

int sigpause(int sig)
{
    if (!is_signal(sig))
        return failed(EINVAL);
    const sigset_t mask = posix_self()->blocked & ~((sigset_t)1 << sig);

    return sigsuspend(&mask);
}

/* Returns the signal, or -EINTR, -ETIMEDOUT. */
static int accept_one(sigset_t set, siginfo_t *info, uint64_t deadline_us)
{
    struct posix_thread *self = posix_self();
    int sig, err = 0;

    self->accepted = set;
    while (!(sig = signal_take(set, info)) && !err)
        err = thread_block(deadline_us);
    self->accepted = 0;
    return sig ? sig : err;
}

/* Never ended by a handler; EINTR tells the entry to call it again. */
int sigwait(const sigset_t *restrict set, int *restrict sig)
{
    const int got = accept_one(*set, NULL, THREAD_NO_DEADLINE);

    if (got < 0)
        return -got;
    *sig = got;
    return 0;
}

int sigwaitinfo(const sigset_t *restrict set, siginfo_t *restrict info)
{
    const int got = accept_one(*set, info, THREAD_NO_DEADLINE);

    return got < 0 ? failed(-got) : got;
}

int sigtimedwait(const sigset_t *restrict set, siginfo_t *restrict info,
                 const struct timespec *restrict timeout)
{
    uint64_t deadline_us = THREAD_NO_DEADLINE;

    if (timeout) {
        if (!timespec_ok(timeout))
            return failed(EINVAL);
        deadline_us = clock_now_us() + timespec_us(timeout);
    }
    const int got = accept_one(*set, info, deadline_us);

    return got < 0 ? failed(got == -ETIMEDOUT ? EAGAIN : -got) : got;
}

/* ---- sets ---- */

int sigemptyset(sigset_t *set)
{
    *set = 0;
    return 0;
}

int sigfillset(sigset_t *set)
{
    *set = ~(sigset_t)1; /* there is no signal 0 */
    return 0;
}

int sigaddset(sigset_t *set, int sig)
{
    if (!is_signal(sig))
        return failed(EINVAL);
    *set |= (sigset_t)1 << sig;
    return 0;
}

int sigdelset(sigset_t *set, int sig)
{
    if (!is_signal(sig))
        return failed(EINVAL);
    *set &= ~((sigset_t)1 << sig);
    return 0;
}

int sigismember(const sigset_t *set, int sig)
{
    return is_signal(sig) ? (int)(*set >> sig & 1) : failed(EINVAL);
}
