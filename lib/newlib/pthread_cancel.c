/*
 * Cancellation (POSIX.1-2017 §2.9.5). A deferred one acts where a call that is a cancellation point begins, or is ended by it
 * (tools/mkentries.py); an asynchronous one as soon as the thread is in program code.
 */
#include <errno.h>
#include <pthread.h>

#include "lib/check.h"
#include "lib/newlib/posix_thread.h"
#include "lib/newlib/pthread_impl.h"

bool cancel_is_due(void)
{
    const struct posix_thread *self = posix_self();

    return self->cancelled && !self->cancel_disabled && !self->ending && self->library_locks == 0;
}

void cancel_act(void)
{
    if (cancel_is_due())
        pthread_exit(PTHREAD_CANCELED);
}

/* What the running thread asks for now may differ from what it asked for before. */
static void show(void)
{
    const bool due = cancel_is_due();

    thread_cancel(thread_self(), due);
    if (due && posix_self()->cancel_async)
        thread_attention(thread_self(), true);
}

void cancel_hold(void)
{
    struct posix_thread *self = posix_self();

    if (self->library_locks++ == 0 && self->cancelled)
        show();
}

void cancel_release(void)
{
    struct posix_thread *self = posix_self();

    ASSERT(self->library_locks > 0);
    if (--self->library_locks == 0 && self->cancelled)
        show();
}

int pthread_cancel(pthread_t thread)
{
    if (!pthread_is_alive(thread))
        return ESRCH;
    struct posix_thread *p = posix_of(thread);

    p->cancelled = true;
    if (p->cancel_disabled || p->ending || p->library_locks > 0)
        return 0;
    thread_cancel(thread, true);
    thread_attention(thread, true);
    thread_interrupt(thread);
    return 0;
}

int pthread_setcancelstate(int state, int *old)
{
    struct posix_thread *self = posix_self();

    if (state != PTHREAD_CANCEL_ENABLE && state != PTHREAD_CANCEL_DISABLE)
        return EINVAL;
    if (old)
        *old = self->cancel_disabled ? PTHREAD_CANCEL_DISABLE : PTHREAD_CANCEL_ENABLE;
    self->cancel_disabled = state == PTHREAD_CANCEL_DISABLE;
    show();
    return 0;
}

int pthread_setcanceltype(int type, int *old)
{
    struct posix_thread *self = posix_self();

    if (type != PTHREAD_CANCEL_DEFERRED && type != PTHREAD_CANCEL_ASYNCHRONOUS)
        return EINVAL;
    if (old)
        *old = self->cancel_async ? PTHREAD_CANCEL_ASYNCHRONOUS : PTHREAD_CANCEL_DEFERRED;
    self->cancel_async = type == PTHREAD_CANCEL_ASYNCHRONOUS;
    show();
    return 0;
}

void pthread_testcancel(void)
{
    cancel_act();
}
