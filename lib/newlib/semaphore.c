/* Unnamed semaphores under their POSIX names: -1 and errno. */
#include <errno.h>
#include <semaphore.h>

#include "lib/newlib/pthread_impl.h"
#include "lib/newlib/result.h"

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

int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until)
{
    uint64_t deadline_us;

    if (sem->__value > 0)
        return sem_trywait(sem);
    const int err = pthread_deadline(until, clock == CLOCK_MONOTONIC, &deadline_us);

    return err ? failed(err) : sem_take(sem, deadline_us);
}

int sem_timedwait(sem_t *sem, const struct timespec *until)
{
    return sem_clockwait(sem, CLOCK_REALTIME, until);
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
