/*
 * Mutexes and condition variables under their POSIX names.
 *
 * No atomics: in here a thread is switched away only where it waits. A wait for a lock that a signal ends returns EINTR,
 * upon which the entry runs the handler and calls again (tools/mkentries.py).
 */
#include "lib/newlib/pthread_impl.h"

#include <errno.h>

#include "lib/newlib/posix_thread.h"

/* ---- mutexes ---- */

int pthread_mutex_init(pthread_mutex_t *mutex, const pthread_mutexattr_t *attr)
{
    *mutex = (pthread_mutex_t){.__type = attr ? attr->__type : PTHREAD_MUTEX_DEFAULT};
    return 0;
}

int pthread_mutex_destroy(pthread_mutex_t *mutex)
{
    return mutex->__owner ? EBUSY : 0;
}

/* 0: taken; EBUSY: somebody else has it (or, for a plain mutex, we do). */
static int mutex_try(pthread_mutex_t *mutex)
{
    if (!mutex->__owner) {
        mutex->__owner = thread_self();
        mutex->__depth = 1;
        return 0;
    }
    if (mutex->__owner != thread_self())
        return EBUSY;
    if (mutex->__type == PTHREAD_MUTEX_RECURSIVE) {
        mutex->__depth++;
        return 0;
    }
    return mutex->__type == PTHREAD_MUTEX_ERRORCHECK ? EDEADLK : EBUSY;
}

static int mutex_lock(pthread_mutex_t *mutex, uint64_t deadline_us)
{
    int err;

    while ((err = mutex_try(mutex)) == EBUSY) {
        err = waitq_wait(waitq_of(&mutex->__waiters), deadline_us);
        if (err)
            return -err;
    }
    return err;
}

int pthread_mutex_lock(pthread_mutex_t *mutex)
{
    return mutex_lock(mutex, THREAD_NO_DEADLINE);
}

int pthread_mutex_trylock(pthread_mutex_t *mutex)
{
    const int err = mutex_try(mutex);

    return err == EDEADLK ? EBUSY : err;
}

int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until)
{
    uint64_t deadline_us;
    int err = mutex_try(mutex);

    if (err != EBUSY)
        return err;
    err = pthread_deadline(until, clock == CLOCK_MONOTONIC, &deadline_us);
    return err ? err : mutex_lock(mutex, deadline_us);
}

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    return pthread_mutex_clocklock(mutex, CLOCK_REALTIME, until);
}

/* A plain mutex may be unlocked by any thread, as on Linux. */
int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
    if (mutex->__type != PTHREAD_MUTEX_NORMAL && mutex->__owner != thread_self())
        return EPERM;
    if (mutex->__depth > 1) {
        mutex->__depth--;
        return 0;
    }
    mutex->__owner = NULL;
    mutex->__depth = 0;
    (void)waitq_wake_one(waitq_of(&mutex->__waiters));
    return 0;
}

int pthread_mutexattr_init(pthread_mutexattr_t *attr)
{
    *attr = (pthread_mutexattr_t){.__type = PTHREAD_MUTEX_DEFAULT};
    return 0;
}

int pthread_mutexattr_destroy(pthread_mutexattr_t *attr)
{
    (void)attr;
    return 0;
}

int pthread_mutexattr_settype(pthread_mutexattr_t *attr, int type)
{
    if (type < PTHREAD_MUTEX_NORMAL || type > PTHREAD_MUTEX_ERRORCHECK)
        return EINVAL;
    attr->__type = type;
    return 0;
}

int pthread_mutexattr_gettype(const pthread_mutexattr_t *attr, int *type)
{
    *type = attr->__type;
    return 0;
}

int pthread_mutexattr_setpshared(pthread_mutexattr_t *attr, int shared)
{
    attr->__shared = shared;
    return pthread_check_shared(shared);
}

int pthread_mutexattr_getpshared(const pthread_mutexattr_t *attr, int *shared)
{
    *shared = attr->__shared;
    return 0;
}

int pthread_mutexattr_setprotocol(pthread_mutexattr_t *attr, int protocol)
{
    (void)attr;
    return protocol == PTHREAD_PRIO_NONE ? 0 : ENOTSUP;
}

int pthread_mutexattr_getprotocol(const pthread_mutexattr_t *attr, int *protocol)
{
    (void)attr;
    *protocol = PTHREAD_PRIO_NONE;
    return 0;
}

int pthread_mutexattr_setrobust(pthread_mutexattr_t *attr, int robust)
{
    (void)attr;
    return robust == PTHREAD_MUTEX_STALLED ? 0 : ENOTSUP;
}

int pthread_mutexattr_getrobust(const pthread_mutexattr_t *attr, int *robust)
{
    (void)attr;
    *robust = PTHREAD_MUTEX_STALLED;
    return 0;
}

/* ---- condition variables ---- */

int pthread_cond_init(pthread_cond_t *cond, const pthread_condattr_t *attr)
{
    *cond = (pthread_cond_t){.__monotonic = attr && attr->__monotonic};
    return 0;
}

int pthread_cond_destroy(pthread_cond_t *cond)
{
    return waitq_empty(waitq_of(&cond->__waiters)) ? 0 : EBUSY;
}

/* The mutex is ours again in any case. A signal ends the wait as if by chance; a cancellation acts after that. */
static int cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex, uint64_t deadline_us)
{
    const unsigned depth = mutex->__depth;

    mutex->__depth = 1; /* a recursive one is let go of altogether */
    const int err = pthread_mutex_unlock(mutex);

    if (err) {
        mutex->__depth = depth;
        return err;
    }
    const int waited = waitq_wait(waitq_of(&cond->__waiters), deadline_us);

    while (pthread_mutex_lock(mutex) == EINTR)
        ;
    mutex->__depth = depth;
    if (waited == -EINTR && cancel_is_due())
        return EINTR;
    return waited == -ETIMEDOUT ? ETIMEDOUT : 0;
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    return cond_wait(cond, mutex, THREAD_NO_DEADLINE);
}

static int cond_wait_until(pthread_cond_t *cond, pthread_mutex_t *mutex, bool monotonic,
                           const struct timespec *until)
{
    uint64_t deadline_us;
    const int err = pthread_deadline(until, monotonic, &deadline_us);

    return err ? err : cond_wait(cond, mutex, deadline_us);
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    return cond_wait_until(cond, mutex, cond->__monotonic, until);
}

int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock,
                           const struct timespec *until)
{
    return cond_wait_until(cond, mutex, clock == CLOCK_MONOTONIC, until);
}

int pthread_cond_signal(pthread_cond_t *cond)
{
    (void)waitq_wake_one(waitq_of(&cond->__waiters));
    return 0;
}

int pthread_cond_broadcast(pthread_cond_t *cond)
{
    (void)waitq_wake_all(waitq_of(&cond->__waiters));
    return 0;
}

int pthread_condattr_init(pthread_condattr_t *attr)
{
    *attr = (pthread_condattr_t){0};
    return 0;
}

int pthread_condattr_destroy(pthread_condattr_t *attr)
{
    (void)attr;
    return 0;
}

int pthread_condattr_setpshared(pthread_condattr_t *attr, int shared)
{
    (void)attr;
    return pthread_check_shared(shared);
}

int pthread_condattr_setclock(pthread_condattr_t *attr, clockid_t clock)
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC)
        return EINVAL;
    attr->__monotonic = clock == CLOCK_MONOTONIC;
    return 0;
}

int pthread_condattr_getclock(const pthread_condattr_t *attr, clockid_t *clock)
{
    *clock = attr->__monotonic ? CLOCK_MONOTONIC : CLOCK_REALTIME;
    return 0;
}
