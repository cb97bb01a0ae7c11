/* Counting semaphores, as POSIX.1-2017 <semaphore.h> has the unnamed ones. */
#ifndef RINGLET_SEMAPHORE_H
#define RINGLET_SEMAPHORE_H

#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    __pthread_waiters __waiters;
    unsigned int __value;
} sem_t;

#define SEM_VALUE_MAX 0x7fffffff

int sem_init(sem_t *sem, int shared, unsigned int value);
int sem_destroy(sem_t *sem);
int sem_wait(sem_t *sem);
int sem_trywait(sem_t *sem);
int sem_timedwait(sem_t *sem, const struct timespec *until);
int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until);
int sem_post(sem_t *sem);
int sem_getvalue(sem_t *sem, int *value);

#ifdef __cplusplus
}
#endif

#endif
