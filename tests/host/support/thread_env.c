/* The C library's share of a thread, on the host: errno, and what AddressSanitizer wants to know of stacks. */
#include "lib/thread.h"

#include <errno.h>

/* Weak: absent in builds without the sanitizer. */
void __sanitizer_start_switch_fiber(void **save, const void *bottom, size_t size)
    __attribute__((weak));
void __sanitizer_finish_switch_fiber(void *save, const void **bottom, size_t *size)
    __attribute__((weak));
void __asan_unpoison_memory_region(const volatile void *addr, size_t size) __attribute__((weak));

enum { ENV_ERRNO, ENV_FAKE_STACK };

static const void *first_stack;
static size_t first_stack_bytes;

size_t thread_env_bytes(void)
{
    return 0;
}

void thread_env_init(struct thread_env *env, void *memory)
{
    (void)memory;
    if (__asan_unpoison_memory_region && env->stack)
        __asan_unpoison_memory_region(env->stack, env->stack_bytes);
}

void thread_env_fini(struct thread_env *env)
{
    thread_env_init(env, NULL);
}

void thread_env_leave(struct thread_env *from, struct thread_env *to)
{
    if (from)
        from->opaque[ENV_ERRNO] = (void *)(intptr_t)errno;
    if (!__sanitizer_start_switch_fiber)
        return;
    __sanitizer_start_switch_fiber(from ? &from->opaque[ENV_FAKE_STACK] : NULL,
                                   to->stack ? to->stack : first_stack,
                                   to->stack ? to->stack_bytes : first_stack_bytes);
}

void thread_env_arrive(struct thread_env *to)
{
    const void *old_stack;
    size_t old_bytes;

    errno = (int)(intptr_t)to->opaque[ENV_ERRNO];
    if (!__sanitizer_finish_switch_fiber)
        return;
    __sanitizer_finish_switch_fiber(to->opaque[ENV_FAKE_STACK], &old_stack, &old_bytes);
    if (!first_stack) { /* the first switch ever leaves the first thread */
        first_stack = old_stack;
        first_stack_bytes = old_bytes;
    }
}
