/* Threads under their POSIX names: life, names, once, and keys. The functions return an errno. */
#include "lib/newlib/pthread_impl.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/newlib/posix_thread.h"
#include "lib/newlib/timespec.h"
#include "port/clock.h"

static void (*destructors[PTHREAD_KEYS_MAX])(void *);
static bool key_used[PTHREAD_KEYS_MAX];
static size_t alive = 1; /* threads that have not ended, the first one included */

static_assert((unsigned)PTHREAD_KEYS_MAX == (unsigned)THREAD_KEYS_MAX, "one slot a key");

int pthread_deadline(const struct timespec *until, bool monotonic, uint64_t *deadline_us)
{
    if (until->tv_nsec < 0 || until->tv_nsec >= NS_PER_S)
        return EINVAL;
    const uint64_t at_us = until->tv_sec < 0 ? 0
                                             : (uint64_t)until->tv_sec * US_PER_S +
                                                   (uint64_t)until->tv_nsec / NS_PER_US;
    const uint64_t boot_us = monotonic ? 0 : clock_wall_us() - clock_now_us();

    *deadline_us = at_us > boot_us ? at_us - boot_us : 0;
    return 0;
}

/* ---- life ---- */

static void call_program(void (*fn)(void *), void *arg)
{
    const uint32_t depth = program_begin();

    fn(arg);
    program_end(depth);
}

/* Values may be set anew by destructors: a few rounds, as POSIX says. */
static void run_destructors(void)
{
    bool again = true;

    for (int round = 0; again && round < PTHREAD_DESTRUCTOR_ITERATIONS; round++) {
        again = false;
        for (unsigned key = 0; key < PTHREAD_KEYS_MAX; key++) {
            void *value = thread_value_get(key);

            if (!value || !destructors[key])
                continue;
            thread_value_set(key, NULL);
            call_program(destructors[key], value);
            again = true;
        }
    }
}

static void on_exit_of_thread(void)
{
    posix_self()->ending = true;
    run_destructors();
    if (--alive > 0)
        return;
    (void)program_begin();
    exit(0); /* POSIX pthread_exit(): the last thread ends the process */
}

int pthread_create(pthread_t *thread, const pthread_attr_t *attr, void *(*entry)(void *), void *arg)
{
    thread_set_exit_hook(on_exit_of_thread);
    *thread = thread_create(entry, arg, attr ? attr->__stack_bytes : 0);
    if (!*thread)
        return EAGAIN;
    alive++;
    if (attr && attr->__detached)
        (void)thread_detach(*thread);
    return 0;
}

void pthread_exit(void *value)
{
    struct posix_thread *self = posix_self();

    thread_set_exit_hook(on_exit_of_thread);
    self->ending = true; /* no cancellation from here */
    thread_cancel(thread_self(), false);
    while (self->cleanups) {
        const struct __pthread_cleanup entry = *self->cleanups;

        self->cleanups = entry.__next;
        call_program(entry.__routine, entry.__arg);
    }
    thread_exit(value);
}

void __pthread_cleanup_push(struct __pthread_cleanup *entry, void (*routine)(void *), void *arg)
{
    struct posix_thread *self = posix_self();

    *entry = (struct __pthread_cleanup){routine, arg, self->cleanups};
    self->cleanups = entry;
}

void __pthread_cleanup_pop(struct __pthread_cleanup *entry)
{
    posix_self()->cleanups = entry->__next;
}

int pthread_join(pthread_t thread, void **value)
{
    return -thread_join(thread, value);
}

int pthread_detach(pthread_t thread)
{
    return -thread_detach(thread);
}

pthread_t pthread_self(void)
{
    return thread_self();
}

int pthread_equal(pthread_t a, pthread_t b)
{
    return a == b;
}

int pthread_yield(void)
{
    thread_yield();
    return 0;
}

static bool is_thread(struct thread *t, void *arg)
{
    return t == arg;
}

bool pthread_is_alive(pthread_t thread)
{
    return thread_find(is_thread, thread) != NULL;
}

int pthread_tryjoin_np(pthread_t thread, void **value)
{
    return pthread_is_alive(thread) ? EBUSY : pthread_join(thread, value);
}

int pthread_setname_np(pthread_t thread, const char *name)
{
    if (strlen(name) >= POSIX_NAME_BYTES)
        return ERANGE;
    if (!pthread_is_alive(thread))
        return ESRCH;
    strcpy(posix_of(thread)->name, name);
    return 0;
}

int pthread_getname_np(pthread_t thread, char *name, size_t len)
{
    if (!pthread_is_alive(thread))
        return ESRCH;
    if (len <= strlen(posix_of(thread)->name))
        return ERANGE;
    strcpy(name, posix_of(thread)->name);
    return 0;
}

/* There is no fork(), so the functions are never called. */
int pthread_atfork(void (*prepare)(void), void (*parent)(void), void (*child)(void))
{
    (void)prepare;
    (void)parent;
    (void)child;
    return 0;
}

/* ---- once and keys ---- */

int pthread_once(pthread_once_t *once, void (*init)(void))
{
    (void)pthread_mutex_lock(&once->__lock);
    if (!once->__done) {
        const uint32_t depth = program_begin();

        init();
        program_end(depth);
        once->__done = 1;
    }
    return pthread_mutex_unlock(&once->__lock);
}

int pthread_key_create(pthread_key_t *key, void (*destructor)(void *))
{
    for (unsigned i = 0; i < PTHREAD_KEYS_MAX; i++) {
        if (key_used[i])
            continue;
        key_used[i] = true;
        destructors[i] = destructor;
        *key = i;
        return 0;
    }
    return EAGAIN;
}

int pthread_key_delete(pthread_key_t key)
{
    if (key >= PTHREAD_KEYS_MAX || !key_used[key])
        return EINVAL;
    key_used[key] = false;
    destructors[key] = NULL;
    thread_values_clear(key);
    return 0;
}

void *pthread_getspecific(pthread_key_t key)
{
    return key < PTHREAD_KEYS_MAX ? thread_value_get(key) : NULL;
}

int pthread_setspecific(pthread_key_t key, const void *value)
{
    if (key >= PTHREAD_KEYS_MAX || !key_used[key])
        return EINVAL;
    thread_value_set(key, (void *)(uintptr_t)value);
    return 0;
}
