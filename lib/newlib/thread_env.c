/*
 * The C library's share of a thread: its struct _reent, which holds errno, strtok's place, and buffers of printf.
 *
 * newlib reaches it through _impure_ptr, so a switch of threads is a switch of that pointer.
 */
#include <reent.h>
#include <stdlib.h>
#include <string.h>

#include "lib/thread.h"

enum { ENV_REENT };

size_t thread_env_bytes(void)
{
    return sizeof(struct _reent);
}

void thread_env_init(struct thread_env *env, void *memory)
{
    struct _reent *reent = memory;

    _REENT_INIT_PTR(reent);
    env->opaque[ENV_REENT] = reent;
}

void thread_env_fini(struct thread_env *env)
{
    _reclaim_reent(env->opaque[ENV_REENT]);
}

void thread_env_leave(struct thread_env *from, struct thread_env *to)
{
    if (from)
        from->opaque[ENV_REENT] = _impure_ptr; /* the first thread has newlib's own */
    _impure_ptr = to->opaque[ENV_REENT];
}

void thread_env_arrive(struct thread_env *to)
{
    (void)to;
}
