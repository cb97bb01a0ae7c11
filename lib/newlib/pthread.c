/* Threads under their POSIX names: life, attributes, once, and keys. The functions return an errno. */
#include "lib/newlib/pthread_impl.h"

#include <errno.h>
#include <stdlib.h>

#include "port/clock.h"

enum { US_PER_S = 1000000, NS_PER_US = 1000, NS_PER_S = 1000000000 };

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
            destructors[key](value);
            again = true;
        }
    }
}

static void on_exit_of_thread(void)
{
    run_destructors();
    if (--alive == 0)
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
    thread_set_exit_hook(on_exit_of_thread);
    thread_exit(value);
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

int sched_yield(void)
{
    thread_yield();
    return 0;
}

/* There is no pthread_cancel(), so nothing ever comes of these. */
int pthread_setcancelstate(int state, int *old)
{
    (void)state;
    if (old)
        *old = PTHREAD_CANCEL_ENABLE;
    return 0;
}

void pthread_testcancel(void)
{
}

/* ---- attributes ---- */

int pthread_attr_init(pthread_attr_t *attr)
{
    *attr = (pthread_attr_t){.__stack_bytes = THREAD_STACK_BYTES};
    return 0;
}

int pthread_attr_destroy(pthread_attr_t *attr)
{
    (void)attr;
    return 0;
}

int pthread_attr_setdetachstate(pthread_attr_t *attr, int state)
{
    if (state != PTHREAD_CREATE_DETACHED && state != PTHREAD_CREATE_JOINABLE)
        return EINVAL;
    attr->__detached = state == PTHREAD_CREATE_DETACHED;
    return 0;
}

int pthread_attr_getdetachstate(const pthread_attr_t *attr, int *state)
{
    *state = attr->__detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE;
    return 0;
}

int pthread_attr_setstacksize(pthread_attr_t *attr, size_t bytes)
{
    if (bytes < PTHREAD_STACK_MIN)
        return EINVAL;
    attr->__stack_bytes = bytes;
    return 0;
}

int pthread_attr_getstacksize(const pthread_attr_t *attr, size_t *bytes)
{
    *bytes = attr->__stack_bytes;
    return 0;
}

int pthread_attr_setscope(pthread_attr_t *attr, int scope)
{
    (void)attr;
    return scope == PTHREAD_SCOPE_SYSTEM ? 0 : ENOTSUP;
}

/* ---- once and keys ---- */

int pthread_once(pthread_once_t *once, void (*init)(void))
{
    (void)pthread_mutex_lock(&once->__lock);
    if (!once->__done) {
        init();
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
