/*
 * Signals within the one process: who gets one, and what happens then. The calls under their POSIX names are in
 * signal_calls.c.
 *
 * A handler runs on its thread, in program code: when one of our calls returns, or where the program was preempted. So it
 * never interrupts the C library or us, and may call anything. A call that waits ends with EINTR first; if every handler
 * that ran has SA_RESTART, the entry calls it again (tools/mkentries.py).
 */
#include <errno.h>
#include <signal.h>

#include "lib/check.h"
#include "lib/image_end.h"
#include "lib/log.h"
#include "lib/newlib/posix_thread.h"
#include "lib/newlib/signals.h"
#include "lib/preempt.h"

enum { STATUS_OF_SIGNAL = 128 }; /* as a shell reports it */

static struct sigaction actions[NSIG];
static siginfo_t infos[NSIG]; /* of the latest of each: signals don't queue */
static sigset_t pending;      /* for the process: every thread blocks them */

static sigset_t bit(int sig)
{
    return (sigset_t)1 << sig;
}

static const sigset_t never_blocked = (sigset_t)1 << SIGKILL | (sigset_t)1 << SIGSTOP;
static const sigset_t ignored_by_default =
    (sigset_t)1 << SIGCHLD | (sigset_t)1 << SIGURG | (sigset_t)1 << SIGWINCH |
    (sigset_t)1 << SIGCONT | (sigset_t)1 << SIGPIPE | (sigset_t)1 << SIGSTOP |
    (sigset_t)1 << SIGTSTP | (sigset_t)1 << SIGTTIN | (sigset_t)1 << SIGTTOU;
static const sigset_t crashes = (sigset_t)1 << SIGABRT | (sigset_t)1 << SIGSEGV |
                                (sigset_t)1 << SIGBUS | (sigset_t)1 << SIGFPE |
                                (sigset_t)1 << SIGILL | (sigset_t)1 << SIGTRAP |
                                (sigset_t)1 << SIGSYS | (sigset_t)1 << SIGQUIT;

struct sigaction *signal_action(int sig)
{
    return &actions[sig];
}

static bool is_ignored(int sig)
{
    const _sig_func_ptr handler = actions[sig].sa_handler;

    return handler == SIG_IGN || (handler == SIG_DFL && (ignored_by_default & bit(sig)));
}

/* ---- sending ---- */

static bool wants(struct thread *t, int sig)
{
    const struct posix_thread *p = posix_of(t);

    return p && (~p->blocked | p->accepted) & bit(sig);
}

struct choice {
    int sig;
    struct thread *thread;
};

static bool consider(struct thread *t, void *arg)
{
    struct choice *choice = arg;

    if (wants(t, choice->sig))
        choice->thread = t;
    return false; /* the last one asked is the oldest: the first thread, as on Linux */
}

static void note(int sig, int code, union sigval value)
{
    infos[sig] = (siginfo_t){.si_signo = sig, .si_code = code, .si_value = value};
    infos[sig].si_pid = OUR_PID;
}

void signal_send_to(struct thread *t, int sig, int code, union sigval value)
{
    struct posix_thread *p = posix_of(t);

    if (!wants(t, sig)) {
        note(sig, code, value);
        p->pending |= bit(sig);
        return;
    }
    if (is_ignored(sig) && !(p->accepted & bit(sig)))
        return;
    note(sig, code, value);
    p->pending |= bit(sig);
    thread_attention(t, true);
    thread_interrupt(t);
}

void signal_send(int sig, int code, union sigval value)
{
    struct choice choice = {.sig = sig};

    (void)thread_find(consider, &choice);
    if (choice.thread) {
        signal_send_to(choice.thread, sig, code, value);
        return;
    }
    note(sig, code, value);
    pending |= bit(sig);
}

sigset_t signals_pending(void)
{
    return pending | posix_self()->pending;
}

int signal_take(sigset_t set, siginfo_t *info)
{
    struct posix_thread *self = posix_self();
    const sigset_t due = (pending | self->pending) & set;

    if (!due)
        return 0;
    const int sig = __builtin_ctzl(due);

    if (self->pending & bit(sig))
        self->pending &= ~bit(sig);
    else
        pending &= ~bit(sig);
    if (info)
        *info = infos[sig];
    return sig;
}

/* ---- delivering ---- */

static _Noreturn void end_by(int sig)
{
    if (sig == SIGABRT)
        panic("abort() was called");
    if (crashes & bit(sig))
        panic("ended by signal %d", sig);
    log_error("signal", "ended by signal %d", sig);
    image_end(STATUS_OF_SIGNAL + sig);
}

static void call_handler(const struct sigaction *action, int sig, siginfo_t *info)
{
    const int saved = errno;
    const uint32_t depth = program_begin();

    if (action->sa_flags & SA_SIGINFO)
        action->sa_sigaction(sig, info, NULL);
    else
        action->sa_handler(sig);
    program_end(depth);
    errno = saved;
}

/* Returns whether it lets an interrupted call go on. */
static bool handle(struct posix_thread *self, int sig, siginfo_t *info)
{
    const struct sigaction action = actions[sig];
    const sigset_t after = self->mask_is_lent ? self->mask_after : self->blocked;

    self->mask_is_lent = false;
    self->blocked |= action.sa_mask | (action.sa_flags & SA_NODEFER ? 0 : bit(sig));
    self->blocked &= ~never_blocked;
    if ((unsigned)action.sa_flags & SA_RESETHAND)
        actions[sig].sa_handler = SIG_DFL;
    call_handler(&action, sig, info);
    self->blocked = after;
    return action.sa_flags & SA_RESTART;
}

void signals_deliver(void)
{
    struct posix_thread *self = posix_self();
    bool handled = false, restarts = true;
    siginfo_t info;
    int sig;

    while ((sig = signal_take(~self->blocked, &info)) != 0) {
        if (is_ignored(sig))
            continue;
        if (actions[sig].sa_handler == SIG_DFL)
            end_by(sig);
        restarts &= handle(self, sig, &info);
        handled = true;
    }
    if (self->mask_is_lent) {
        self->mask_is_lent = false;
        self->blocked = self->mask_after;
    }
    self->must_end_call = handled && !restarts;
}

/* The attention hook: something was sent to this thread. */
static void attend(void)
{
    struct posix_thread *self = posix_self();

    thread_attention(thread_self(), false);
    thread_interrupt_forget();
    signals_deliver();
    if (self->cancel_async && cancel_is_due())
        cancel_act();
}

/* Is a call that was interrupted to be called again? At its beginning it is ended if its thread was cancelled. */
static bool again(long result, int kind)
{
    const bool by_errno = kind == PREEMPT_RESTARTED || kind == PREEMPT_ENDED;
    /* Of a function that returns int only half of the register is its result; what returns a length never ends in all ones. */
    const bool interrupted =
        (int)result == (by_errno ? -1 : EINTR) && (!by_errno || errno == EINTR);

    if (kind == PREEMPT_ENDED) /* whatever it returned: sleep() tells what is left */
        return cancel_is_due();
    if (!interrupted)
        return false;
    return !by_errno || cancel_is_due() || !posix_self()->must_end_call;
}

void signals_init(void)
{
    thread_set_attention_hook(attend);
    preempt_set_again(again);
    preempt_set_cancellation(cancel_act);
}

/* ---- masks ---- */

void signal_mask_changed(void)
{
    struct posix_thread *self = posix_self();

    self->blocked &= ~never_blocked;
    if ((pending | self->pending) & ~self->blocked)
        thread_attention(thread_self(), true);
}

void signal_mask_lend(const sigset_t *mask)
{
    struct posix_thread *self = posix_self();

    if (!mask)
        return;
    self->mask_after = self->blocked;
    self->mask_is_lent = true;
    self->blocked = *mask & ~never_blocked;
    thread_attention(thread_self(), true); /* gives it back */
    if ((pending | self->pending) & ~self->blocked)
        thread_interrupt(thread_self());
}
