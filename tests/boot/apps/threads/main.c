/*
 * Threads, thread-local variables and locks as a program sees them. Plain POSIX: built for Linux as well, it must print the
 * same lines there, in any order (test_threads.py).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { MANY = 16, ROUNDS = 40 };

/* ---- thread-local variables ---- */

static __thread int counter = 41;
static _Thread_local char text[40] = "initial";
static __thread _Alignas(64) double wide[8];
static __thread long zeroed[100];

static void *use_locals(void *arg)
{
    const int id = (int)(intptr_t)arg;

    show("alignment of a local", (uintptr_t)wide % 64 == 0);
    show("initial values", counter == 41 && strcmp(text, "initial") == 0 && zeroed[99] == 0);
    counter += id;
    snprintf(text, sizeof(text), "thread %d", id);
    wide[7] = id;
    zeroed[99] = id;
    for (int i = 0; i < 20; i++)
        sched_yield();
    char expected[40];
    snprintf(expected, sizeof(expected), "thread %d", id);
    show("own values",
         counter == 41 + id && strcmp(text, expected) == 0 && wide[7] == id && zeroed[99] == id);
    return &counter;
}

static void test_locals(void)
{
    pthread_t t[3];
    void *address[3];

    counter = 7;
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, use_locals, (void *)(intptr_t)(i + 1));
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], &address[i]);
    show("main's value", counter);
    show("places differ", address[0] != &counter && address[1] != &counter);
}

/* ---- computing: vector registers and errno are kept, whoever runs in between ---- */

static double sum(double step)
{
    double total = 0;

    for (int i = 0; i < 20000; i++)
        total += step * i / (1.0 + i);
    return total;
}

static void *compute(void *arg)
{
    const int id = (int)(intptr_t)arg;
    const double step = 1.0 + id / 7.0, expected = sum(step);
    long wrong = 0;

    for (int i = 0; i < ROUNDS; i++) {
        errno = id + 1;
        wrong += sum(step) != expected;
        wrong += errno != id + 1;
        printf("threads: %d of thread %d\n", i, id);
        char *block = malloc((size_t)(1 + (i * 37 + id * 101) % 3000));

        wrong += block == NULL;
        memset(block, id, 1);
        free(block);
    }
    return (void *)wrong;
}

static void test_stress(void)
{
    pthread_t t[MANY];
    long wrong = 0;
    void *value;

    for (int i = 0; i < MANY; i++)
        pthread_create(&t[i], NULL, compute, (void *)(intptr_t)i);
    for (int i = 0; i < MANY; i++) {
        pthread_join(t[i], &value);
        wrong += (long)value;
    }
    show("wrong results", wrong);
}

/* ---- mutexes ---- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile long shared;

static void *add(void *arg)
{
    for (int i = 0; i < 20000; i++) {
        pthread_mutex_lock(&lock);
        shared++;
        pthread_mutex_unlock(&lock);
    }
    return arg;
}

static void test_mutex_excludes(void)
{
    pthread_t t[8];

    for (int i = 0; i < 8; i++)
        pthread_create(&t[i], NULL, add, NULL);
    for (int i = 0; i < 8; i++)
        pthread_join(t[i], NULL);
    show("sum", shared);
}

static struct timespec in_ms(clockid_t clock, long ms)
{
    struct timespec at;

    clock_gettime(clock, &at);
    at.tv_nsec += ms * 1000000;
    at.tv_sec += at.tv_nsec / 1000000000;
    at.tv_nsec %= 1000000000;
    return at;
}

static void *try_it(void *arg)
{
    const struct timespec soon = in_ms(CLOCK_REALTIME, 20);

    show_error("trylock elsewhere", pthread_mutex_trylock(arg));
    show_error("timedlock elsewhere", pthread_mutex_timedlock(arg, &soon));
    show_error("unlock elsewhere", pthread_mutex_unlock(arg));
    return NULL;
}

static void test_mutex_type(int type, const char *name)
{
    pthread_mutexattr_t attr;
    pthread_mutex_t mutex;
    pthread_t t;

    printf("threads: %s mutex\n", name);
    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, type);
    pthread_mutex_init(&mutex, &attr);
    show_error("lock", pthread_mutex_lock(&mutex));
    show_error("trylock again", pthread_mutex_trylock(&mutex));
    if (type != PTHREAD_MUTEX_NORMAL)
        show_error("lock again", pthread_mutex_lock(&mutex));
    pthread_create(&t, NULL, try_it, &mutex);
    pthread_join(t, NULL);
    /* A normal one was unlocked by the other thread: both systems allow that. */
    for (int i = type == PTHREAD_MUTEX_RECURSIVE ? 3 : type == PTHREAD_MUTEX_ERRORCHECK; i > 0; i--)
        show_error("unlock", pthread_mutex_unlock(&mutex));
    show_error("unlock once more", type == PTHREAD_MUTEX_NORMAL ? 0 : pthread_mutex_unlock(&mutex));
    show_error("destroy", pthread_mutex_destroy(&mutex));
}

/* ---- condition variables ---- */

static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int stage;

static void *next_stage(void *arg)
{
    const int mine = (int)(intptr_t)arg;

    pthread_mutex_lock(&lock);
    while (stage != mine)
        pthread_cond_wait(&changed, &lock);
    stage++;
    printf("threads: stage %d\n", stage);
    pthread_cond_broadcast(&changed);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void test_cond(void)
{
    pthread_t t[5];
    pthread_condattr_t attr;
    pthread_cond_t cond;
    struct timespec soon = in_ms(CLOCK_MONOTONIC, 20);

    for (int i = 4; i >= 0; i--)
        pthread_create(&t[i], NULL, next_stage, (void *)(intptr_t)i);
    for (int i = 0; i < 5; i++)
        pthread_join(t[i], NULL);
    pthread_condattr_init(&attr);
    show_error("monotonic", pthread_condattr_setclock(&attr, CLOCK_MONOTONIC));
    pthread_cond_init(&cond, &attr);
    pthread_mutex_lock(&lock);
    show_error("timed wait", pthread_cond_timedwait(&cond, &lock, &soon));
    soon.tv_nsec = -1;
    show_error("bad time", pthread_cond_timedwait(&cond, &lock, &soon));
    show_error("still locked", pthread_mutex_trylock(&lock));
    pthread_mutex_unlock(&lock);
    show_error("destroy", pthread_cond_destroy(&cond));
}

/* ---- read-write locks, barriers, spin locks, semaphores ---- */

static pthread_rwlock_t rwlock = PTHREAD_RWLOCK_INITIALIZER;

static void *try_rwlock(void *arg)
{
    const struct timespec soon = in_ms(CLOCK_REALTIME, 20);

    show_error("read elsewhere", pthread_rwlock_tryrdlock(&rwlock));
    show_error("write elsewhere", pthread_rwlock_trywrlock(&rwlock));
    show_error("timed write elsewhere", pthread_rwlock_timedwrlock(&rwlock, &soon));
    if (arg)
        pthread_rwlock_unlock(&rwlock);
    return NULL;
}

static void test_rwlock(void)
{
    pthread_t t;

    show_error("read", pthread_rwlock_rdlock(&rwlock));
    show_error("read again", pthread_rwlock_rdlock(&rwlock));
    pthread_create(&t, NULL, try_rwlock, "reads");
    pthread_join(t, NULL);
    pthread_rwlock_unlock(&rwlock);
    pthread_rwlock_unlock(&rwlock);
    show_error("write", pthread_rwlock_wrlock(&rwlock));
    pthread_create(&t, NULL, try_rwlock, NULL);
    pthread_join(t, NULL);
    show_error("write again", pthread_rwlock_wrlock(&rwlock));
    show_error("unlock", pthread_rwlock_unlock(&rwlock));
}

static pthread_barrier_t barrier;
static pthread_spinlock_t spin;
static volatile int before, serial;

static void *meet(void *arg)
{
    for (int round = 0; round < 3; round++) {
        pthread_spin_lock(&spin);
        before++;
        pthread_spin_unlock(&spin);
        if (pthread_barrier_wait(&barrier) == PTHREAD_BARRIER_SERIAL_THREAD)
            serial++;
        show("all came", before >= 4 * (round + 1));
        pthread_barrier_wait(&barrier);
    }
    return arg;
}

static void test_barrier(void)
{
    pthread_t t[4];

    pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE);
    show_error("barrier of none", pthread_barrier_init(&barrier, NULL, 0));
    pthread_barrier_init(&barrier, NULL, 4);
    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, meet, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
    show("serial threads", serial);
    show_error("destroy", pthread_barrier_destroy(&barrier));
}

static sem_t items, rooms;
static int ring[4], taken_sum;

static void *produce(void *arg)
{
    for (int i = 1; i <= 100; i++) {
        sem_wait(&rooms);
        ring[i % 4] = i;
        sem_post(&items);
    }
    return arg;
}

static void test_semaphores(void)
{
    pthread_t t;
    int value;
    struct timespec soon = in_ms(CLOCK_REALTIME, 20);

    sem_init(&items, 0, 0);
    sem_init(&rooms, 0, 4);
    show("trywait", sem_trywait(&items));
    show("timedwait", sem_timedwait(&items, &soon));
    pthread_create(&t, NULL, produce, NULL);
    for (int i = 1; i <= 100; i++) {
        sem_wait(&items);
        taken_sum += ring[i % 4];
        sem_post(&rooms);
    }
    pthread_join(t, NULL);
    sem_getvalue(&rooms, &value);
    show("taken", taken_sum);
    show("rooms", value);
}

/* ---- once, keys, cancellation ---- */

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int initialised, destroyed;
static pthread_key_t key;

static void initialise(void)
{
    initialised++;
}

static void destroy(void *value)
{
    destroyed += *(int *)value;
}

static void *use_key(void *arg)
{
    static int values[3] = {1, 10, 100};

    pthread_once(&once, initialise);
    show("no value yet", pthread_getspecific(key) == NULL);
    pthread_setspecific(key, &values[(intptr_t)arg]);
    sched_yield();
    show("own value", *(int *)pthread_getspecific(key) == values[(intptr_t)arg]);
    if (arg)
        pthread_exit(NULL);
    return NULL;
}

static void test_keys(void)
{
    pthread_t t[3];

    pthread_key_create(&key, destroy);
    for (int i = 0; i < 3; i++)
        pthread_create(&t[i], NULL, use_key, (void *)(intptr_t)i);
    for (int i = 0; i < 3; i++)
        pthread_join(t[i], NULL);
    show("initialised", initialised);
    show("destroyed", destroyed);
    show_error("delete", pthread_key_delete(key));
}

static void cleaned(void *arg)
{
    printf("threads: cleaned up %s\n", (const char *)arg);
}

static void *sleep_long(void *arg)
{
    pthread_cleanup_push(cleaned, "outer");
    pthread_cleanup_push(cleaned, "inner");
    sleep(100);
    pthread_cleanup_pop(0);
    pthread_cleanup_pop(0);
    return arg;
}

static void unlock(void *mutex)
{
    pthread_mutex_unlock(mutex);
}

static void *wait_long(void *arg)
{
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, &lock);
    for (;;)
        pthread_cond_wait(&changed, &lock);
    pthread_cleanup_pop(1);
    return arg;
}

static void *compute_long(void *arg)
{
    volatile double x = 1;

    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    while (x > 0)
        x = x * 0.5 + 1;
    return arg;
}

static void *not_yet(void *arg)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    usleep(60000);
    printf("threads: not cancelled in between\n");
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_testcancel();
    printf("threads: never printed\n");
    return arg;
}

static void cancel_one(const char *what, void *(*entry)(void *))
{
    pthread_t t;
    void *value = NULL;

    pthread_create(&t, NULL, entry, NULL);
    usleep(20000);
    show_error(what, pthread_cancel(t));
    pthread_join(t, &value);
    show(what, value == PTHREAD_CANCELED);
}

static void test_cancel(void)
{
    cancel_one("cancel a sleeper", sleep_long);
    cancel_one("cancel a waiter", wait_long);
    show_error("its mutex is free", pthread_mutex_trylock(&lock));
    pthread_mutex_unlock(&lock);
    cancel_one("cancel who computes", compute_long);
    cancel_one("cancel later", not_yet);
}

/* ---- attributes ---- */

static void *deep(void *arg)
{
    volatile char big[200 * 1024];

    memset((void *)big, 1, sizeof(big));
    return (void *)(intptr_t)(big[0] + big[sizeof(big) - 1] + (arg != NULL));
}

static void test_attributes(void)
{
    pthread_attr_t attr;
    pthread_t t;
    void *value;
    char name[16];
    size_t bytes;

    pthread_attr_init(&attr);
    show_error("tiny stack", pthread_attr_setstacksize(&attr, 1000));
    show_error("large stack", pthread_attr_setstacksize(&attr, 256 * 1024));
    pthread_attr_getstacksize(&attr, &bytes);
    show("its size", (long)bytes);
    show_error("create", pthread_create(&t, &attr, deep, NULL));
    show_error("join", pthread_join(t, &value));
    show("result", (long)(intptr_t)value);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    show_error("create detached", pthread_create(&t, &attr, deep, NULL));
    show_error("name", pthread_setname_np(pthread_self(), "somebody"));
    pthread_getname_np(pthread_self(), name, sizeof(name));
    printf("threads: called %s\n", name);
    show_error("long name", pthread_setname_np(pthread_self(), "a name of 17 char"));
    show_error("join oneself", pthread_join(pthread_self(), NULL));
}

/* ---- a lock on a file is a program's own; nobody waits for the processor meanwhile ---- */

static void *print_under_lock(void *arg)
{
    flockfile(stdout);
    printf("threads: one");
    usleep(2000);
    sched_yield();
    printf(" piece\n");
    funlockfile(stdout);
    return arg;
}

static void test_flockfile(void)
{
    pthread_t t[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, print_under_lock, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

int main(void)
{
    test_locals();
    test_stress();
    test_mutex_excludes();
    test_mutex_type(PTHREAD_MUTEX_NORMAL, "normal");
    test_mutex_type(PTHREAD_MUTEX_RECURSIVE, "recursive");
    test_mutex_type(PTHREAD_MUTEX_ERRORCHECK, "checking");
    test_cond();
    test_rwlock();
    test_barrier();
    test_semaphores();
    test_keys();
    test_cancel();
    test_attributes();
    test_flockfile();
    return 0;
}
