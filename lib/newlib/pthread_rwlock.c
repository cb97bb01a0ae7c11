/* Read-write locks, barriers and spin locks under their POSIX names. */
#include "lib/newlib/pthread_impl.h"

#include <errno.h>

/* ---- read-write locks: a waiting writer holds new readers back ---- */

int pthread_rwlock_init(pthread_rwlock_t *lock, const pthread_rwlockattr_t *attr)
{
    (void)attr;
    *lock = (pthread_rwlock_t){0};
    return 0;
}

int pthread_rwlock_destroy(pthread_rwlock_t *lock)
{
    return lock->__writer || lock->__readers ? EBUSY : 0;
}

int pthread_rwlock_tryrdlock(pthread_rwlock_t *lock)
{
    if (lock->__writer || lock->__writers_waiting)
        return EBUSY;
    lock->__readers++;
    return 0;
}

static int read_lock(pthread_rwlock_t *lock, uint64_t deadline_us)
{
    int err = lock->__writer == thread_self() ? -EDEADLK : 0;

    while (!err && pthread_rwlock_tryrdlock(lock) == EBUSY)
        err = waitq_wait(waitq_of(&lock->__waiters), deadline_us);
    return -err;
}

int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    return read_lock(lock, THREAD_NO_DEADLINE);
}

int pthread_rwlock_timedrdlock(pthread_rwlock_t *lock, const struct timespec *until)
{
    uint64_t deadline_us;
    const int err = pthread_deadline(until, false, &deadline_us);

    return err ? err : read_lock(lock, deadline_us);
}

int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
    if (lock->__writer || lock->__readers)
        return EBUSY;
    lock->__writer = thread_self();
    return 0;
}

/* Whoever gives up waiting lets the readers in that it held back. */
static int write_lock(pthread_rwlock_t *lock, uint64_t deadline_us)
{
    if (lock->__writer == thread_self())
        return EDEADLK;
    int err = 0;

    lock->__writers_waiting++;
    while (!err && pthread_rwlock_trywrlock(lock) == EBUSY)
        err = waitq_wait(waitq_of(&lock->__waiters), deadline_us);
    lock->__writers_waiting--;
    if (err)
        (void)waitq_wake_all(waitq_of(&lock->__waiters));
    return -err;
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    return write_lock(lock, THREAD_NO_DEADLINE);
}

int pthread_rwlock_timedwrlock(pthread_rwlock_t *lock, const struct timespec *until)
{
    uint64_t deadline_us;
    const int err = pthread_deadline(until, false, &deadline_us);

    return err ? err : write_lock(lock, deadline_us);
}

int pthread_rwlock_unlock(pthread_rwlock_t *lock)
{
    if (lock->__writer)
        lock->__writer = NULL;
    else if (lock->__readers > 0)
        lock->__readers--;
    else
        return EPERM;
    (void)waitq_wake_all(waitq_of(&lock->__waiters));
    return 0;
}

int pthread_rwlockattr_init(pthread_rwlockattr_t *attr)
{
    *attr = (pthread_rwlockattr_t){0};
    return 0;
}

int pthread_rwlockattr_destroy(pthread_rwlockattr_t *attr)
{
    (void)attr;
    return 0;
}

int pthread_rwlockattr_setpshared(pthread_rwlockattr_t *attr, int shared)
{
    (void)attr;
    return pthread_check_shared(shared);
}

/* ---- barriers ---- */

int pthread_barrierattr_init(pthread_barrierattr_t *attr)
{
    *attr = (pthread_barrierattr_t){0};
    return 0;
}

int pthread_barrierattr_destroy(pthread_barrierattr_t *attr)
{
    (void)attr;
    return 0;
}

int pthread_barrierattr_setpshared(pthread_barrierattr_t *attr, int shared)
{
    (void)attr;
    return pthread_check_shared(shared);
}

int pthread_barrier_init(pthread_barrier_t *barrier, const pthread_barrierattr_t *attr,
                         unsigned int count)
{
    (void)attr;
    if (count == 0)
        return EINVAL;
    *barrier = (pthread_barrier_t){.__count = count};
    return 0;
}

int pthread_barrier_destroy(pthread_barrier_t *barrier)
{
    return barrier->__arrived ? EBUSY : 0;
}

int pthread_barrier_wait(pthread_barrier_t *barrier)
{
    const unsigned round = barrier->__round;

    if (++barrier->__arrived == barrier->__count) {
        barrier->__arrived = 0;
        barrier->__round++;
        (void)waitq_wake_all(waitq_of(&barrier->__waiters));
        return PTHREAD_BARRIER_SERIAL_THREAD;
    }
    while (barrier->__round == round)
        (void)waitq_wait(waitq_of(&barrier->__waiters), THREAD_NO_DEADLINE);
    return 0;
}

/* ---- spin locks: spinning would never end, so they wait ---- */

int pthread_spin_init(pthread_spinlock_t *lock, int shared)
{
    (void)shared;
    return pthread_mutex_init(lock, NULL);
}

int pthread_spin_destroy(pthread_spinlock_t *lock)
{
    return pthread_mutex_destroy(lock);
}

int pthread_spin_lock(pthread_spinlock_t *lock)
{
    return pthread_mutex_lock(lock);
}

int pthread_spin_trylock(pthread_spinlock_t *lock)
{
    return pthread_mutex_trylock(lock);
}

int pthread_spin_unlock(pthread_spinlock_t *lock)
{
    return pthread_mutex_unlock(lock);
}
