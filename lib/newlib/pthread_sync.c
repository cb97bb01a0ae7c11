/*
 * Mutexes, condition variables, read-write locks, barriers and semaphores under their POSIX names.
 *
 * No atomics: a thread is switched away only where it waits. Waits are ended by deadlines, never by signals.
 */
#include "lib/newlib/pthread_impl.h"

#include <errno.h>
#include <semaphore.h>

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
        if (waitq_wait(waitq_of(&mutex->__waiters), deadline_us) == -ETIMEDOUT)
            return ETIMEDOUT;
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

int pthread_mutex_timedlock(pthread_mutex_t *mutex, const struct timespec *until)
{
    uint64_t deadline_us;
    int err = mutex_try(mutex);

    if (err != EBUSY)
        return err;
    err = pthread_deadline(until, false, &deadline_us);
    return err ? err : mutex_lock(mutex, deadline_us);
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
    (void)attr; /* there is one process: shared with all of them */
    return shared == PTHREAD_PROCESS_PRIVATE || shared == PTHREAD_PROCESS_SHARED ? 0 : EINVAL;
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

    (void)pthread_mutex_lock(mutex);
    mutex->__depth = depth;
    return waited == -ETIMEDOUT ? ETIMEDOUT : 0;
}

int pthread_cond_wait(pthread_cond_t *cond, pthread_mutex_t *mutex)
{
    return cond_wait(cond, mutex, THREAD_NO_DEADLINE);
}

int pthread_cond_timedwait(pthread_cond_t *cond, pthread_mutex_t *mutex,
                           const struct timespec *until)
{
    uint64_t deadline_us;
    const int err = pthread_deadline(until, cond->__monotonic, &deadline_us);

    return err ? err : cond_wait(cond, mutex, deadline_us);
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

int pthread_rwlock_rdlock(pthread_rwlock_t *lock)
{
    if (lock->__writer == thread_self())
        return EDEADLK;
    while (pthread_rwlock_tryrdlock(lock) == EBUSY)
        (void)waitq_wait(waitq_of(&lock->__waiters), THREAD_NO_DEADLINE);
    return 0;
}

int pthread_rwlock_trywrlock(pthread_rwlock_t *lock)
{
    if (lock->__writer || lock->__readers)
        return EBUSY;
    lock->__writer = thread_self();
    return 0;
}

int pthread_rwlock_wrlock(pthread_rwlock_t *lock)
{
    if (lock->__writer == thread_self())
        return EDEADLK;
    lock->__writers_waiting++;
    while (pthread_rwlock_trywrlock(lock) == EBUSY)
        (void)waitq_wait(waitq_of(&lock->__waiters), THREAD_NO_DEADLINE);
    lock->__writers_waiting--;
    return 0;
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

/* ---- barriers ---- */

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

/* ---- semaphores: -1 and errno ---- */

static int failed(int err)
{
    errno = err;
    return -1;
}

int sem_init(sem_t *sem, int shared, unsigned int value)
{
    (void)shared;
    if (value > SEM_VALUE_MAX)
        return failed(EINVAL);
    *sem = (sem_t){.__value = value};
    return 0;
}

int sem_destroy(sem_t *sem)
{
    return waitq_empty(waitq_of(&sem->__waiters)) ? 0 : failed(EBUSY);
}

static int sem_take(sem_t *sem, uint64_t deadline_us)
{
    while (sem->__value == 0) {
        const int err = waitq_wait(waitq_of(&sem->__waiters), deadline_us);

        if (err)
            return failed(-err);
    }
    sem->__value--;
    return 0;
}

int sem_wait(sem_t *sem)
{
    return sem_take(sem, THREAD_NO_DEADLINE);
}

int sem_trywait(sem_t *sem)
{
    if (sem->__value == 0)
        return failed(EAGAIN);
    sem->__value--;
    return 0;
}

int sem_timedwait(sem_t *sem, const struct timespec *until)
{
    uint64_t deadline_us;

    if (sem->__value > 0)
        return sem_trywait(sem);
    const int err = pthread_deadline(until, false, &deadline_us);

    return err ? failed(err) : sem_take(sem, deadline_us);
}

int sem_post(sem_t *sem)
{
    if (sem->__value == SEM_VALUE_MAX)
        return failed(EOVERFLOW);
    sem->__value++;
    (void)waitq_wake_one(waitq_of(&sem->__waiters));
    return 0;
}

int sem_getvalue(sem_t *sem, int *value)
{
    *value = (int)sem->__value;
    return 0;
}
