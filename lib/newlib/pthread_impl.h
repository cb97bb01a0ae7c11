/* What the files of the pthread layer share. */
#ifndef LIB_NEWLIB_PTHREAD_IMPL_H
#define LIB_NEWLIB_PTHREAD_IMPL_H

#include <errno.h>
#include <pthread.h>

#include "lib/thread.h"

static_assert(sizeof(__pthread_waiters) == sizeof(struct waitq), "the public type stands for it");

static inline struct waitq *waitq_of(__pthread_waiters *waiters)
{
    return (struct waitq *)(void *)waiters;
}

/* There is one process: shared with all of them. */
static inline int pthread_check_shared(int shared)
{
    return shared == PTHREAD_PROCESS_PRIVATE || shared == PTHREAD_PROCESS_SHARED ? 0 : EINVAL;
}

/* It was created and has not ended. */
bool pthread_is_alive(pthread_t thread);

/* An absolute time of either clock as a deadline of lib/thread.h. Returns 0 or EINVAL. */
int pthread_deadline(const struct timespec *until, bool monotonic, uint64_t *deadline_us);

#endif
