/*
 * newlib's locks: its stdio, heap, environment, exit functions and time zone, each locked by the library itself.
 *
 * Whoever holds one isn't preempted (docs/decisions/0007-preemption.md), so there is contention only when the holder
 * waits: a printf() into a socket. Then the others stand in the lock's queue. Nor is the holder cancelled before it has given
 * the lock back: a write() inside fflush() is a cancellation point, and nobody else would do it. flockfile() is a program's own lock and
 * does neither.
 */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/lock.h>

#include "lib/check.h"
#include "lib/newlib/posix_thread.h"
#include "lib/preempt.h"
#include "lib/thread.h"

struct __lock {
    struct thread *owner; /* NULL: free */
    unsigned count;
    bool
        of_file; /* a FILE's: what it is held for may be a cancellation point (POSIX.1-2017 §2.9.5.2) */
    struct waitq waiters;
};

/* newlib names them, and expects all of them beside each other (libc/misc/lock.c). */
struct __lock __lock___sfp_recursive_mutex;
struct __lock __lock___atexit_recursive_mutex;
struct __lock __lock___at_quick_exit_mutex;
struct __lock __lock___malloc_recursive_mutex;
struct __lock __lock___env_recursive_mutex;
struct __lock __lock___tz_mutex;
struct __lock __lock___dd_hash_mutex;
struct __lock __lock___arc4random_mutex;

static bool try(struct __lock *lock)
{
    struct thread *self = thread_self();

    if (lock->owner && lock->owner != self)
        return false;
    lock->owner = self;
    lock->count++;
    return true;
}

static void take(struct __lock *lock)
{
    while (!try(lock))
        (void)waitq_wait(&lock->waiters, THREAD_NO_DEADLINE);
}

static void give(struct __lock *lock)
{
    ASSERT(lock->count > 0);
    if (--lock->count > 0)
        return;
    lock->owner = NULL;
    (void)waitq_wake_one(&lock->waiters);
}

/* ---- under newlib's names ---- */

/* No memory for a FILE's lock: NULL, and holding preemption off has to do. */
void __retarget_lock_init(_LOCK_T *lock)
{
    *lock = calloc(1, sizeof(**lock));
    if (*lock)
        (*lock)->of_file = true;
}

void __retarget_lock_init_recursive(_LOCK_T *lock)
{
    __retarget_lock_init(lock);
}

void __retarget_lock_close(_LOCK_T lock)
{
    free(lock);
}

void __retarget_lock_close_recursive(_LOCK_T lock)
{
    free(lock);
}

void __retarget_lock_acquire_recursive(_LOCK_T lock)
{
    preempt_off();
    if (!lock)
        return;
    cancel_hold();
    take(lock);
}

void __retarget_lock_acquire(_LOCK_T lock)
{
    __retarget_lock_acquire_recursive(lock);
}

int __retarget_lock_try_acquire_recursive(_LOCK_T lock)
{
    preempt_off();
    if (!lock)
        return 1;
    if (try(lock)) {
        cancel_hold();
        return 1;
    }
    preempt_on();
    return 0;
}

int __retarget_lock_try_acquire(_LOCK_T lock)
{
    return __retarget_lock_try_acquire_recursive(lock);
}

void __retarget_lock_release_recursive(_LOCK_T lock)
{
    const bool may_end = lock && lock->of_file;

    if (lock) {
        give(lock);
        cancel_release();
    }
    preempt_on();
    if (may_end)
        cancel_act(); /* unless it still holds another */
}

void __retarget_lock_release(_LOCK_T lock)
{
    __retarget_lock_release_recursive(lock);
}

/* The heap never waits. */
void __malloc_lock(struct _reent *reent)
{
    (void)reent;
    preempt_off();
}

void __malloc_unlock(struct _reent *reent)
{
    (void)reent;
    preempt_on();
}

/* ---- a program's own ---- */

void flockfile(FILE *file)
{
    if (file->_lock)
        take(file->_lock);
}

int ftrylockfile(FILE *file)
{
    return !file->_lock || try(file->_lock) ? 0 : -1;
}

void funlockfile(FILE *file)
{
    if (file->_lock)
        give(file->_lock);
}
