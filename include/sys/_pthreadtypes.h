/*
 * The types of <pthread.h>, in place of newlib's, which are handles into tables.
 *
 * Whoever changes a lock isn't preempted (lib/preempt.h), so it is a few words that need no atomics. All-zero is the
 * start value.
 */
#ifndef _SYS__PTHREADTYPES_H_
#define _SYS__PTHREADTYPES_H_

#include <stddef.h>
#include <sys/sched.h>

struct thread;
struct wait_node;

typedef struct thread *pthread_t;
typedef unsigned int pthread_key_t;

typedef struct {
    struct wait_node *__head, *__tail;
} __pthread_waiters;

typedef struct {
    size_t __stack_bytes; /* 0: the default */
    int __detached, __explicit;
    struct sched_param __sched;
} pthread_attr_t;

typedef struct {
    __pthread_waiters __waiters;
    struct thread *__owner;
    unsigned int __depth;
    int __type;
} pthread_mutex_t;

typedef struct {
    int __type, __shared;
} pthread_mutexattr_t;

typedef struct {
    __pthread_waiters __waiters;
    int __monotonic;
} pthread_cond_t;

typedef struct {
    int __monotonic;
} pthread_condattr_t;

typedef struct {
    __pthread_waiters __waiters;
    struct thread *__writer;
    unsigned int __readers, __writers_waiting;
} pthread_rwlock_t;

typedef struct {
    int __shared;
} pthread_rwlockattr_t;

typedef struct {
    __pthread_waiters __waiters;
    unsigned int __count, __arrived, __round;
} pthread_barrier_t;

typedef struct {
    int __shared;
} pthread_barrierattr_t;

typedef pthread_mutex_t pthread_spinlock_t;

typedef struct {
    pthread_mutex_t __lock;
    int __done;
} pthread_once_t;

#endif
