/* What the files of the pthread layer share. */
#ifndef LIB_NEWLIB_PTHREAD_IMPL_H
#define LIB_NEWLIB_PTHREAD_IMPL_H

#include <pthread.h>

#include "lib/thread.h"

static_assert(sizeof(__pthread_waiters) == sizeof(struct waitq), "the public type stands for it");

static inline struct waitq *waitq_of(__pthread_waiters *waiters)
{
    return (struct waitq *)(void *)waiters;
}

/* An absolute time of either clock as a deadline of lib/thread.h. Returns 0 or EINVAL. */
int pthread_deadline(const struct timespec *until, bool monotonic, uint64_t *deadline_us);

#endif
