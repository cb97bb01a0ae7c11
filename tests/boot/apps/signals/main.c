/*
 * Signals, alarms and clocks as a program sees them. Plain POSIX: built for Linux as well, it must print the same lines there
 * (test_threads.py).
 */
#define _GNU_SOURCE
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/times.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "../error_name.h"
#include "int_calls.h"

static volatile sig_atomic_t rings;
static sigjmp_buf back;

static void show_error(const char *what, int error)
{
    printf("signals: %s: %s\n", what, error_name(error));
}

/* -1 means errno, anything else itself. */
static void show(const char *what, long value)
{
    if (value == -1)
        show_error(what, errno);
    else
        printf("signals: %s: %ld\n", what, value);
}

static void on_alarm(int sig)
{
    (void)sig;
    rings++;
    errno = 0; /* the interrupted code must not see it */
}

static void catch_with(int sig, void (*handler)(int), int flags)
{
    struct sigaction action = {.sa_handler = handler, .sa_flags = flags};

    sigemptyset(&action.sa_mask);
    sigaction(sig, &action, NULL);
}

static void ring_in_ms(long ms)
{
    const struct itimerval once = {.it_value = {0, ms * 1000}};

    setitimer(ITIMER_REAL, &once, NULL);
}

static long ms_since(const struct timespec *from)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - from->tv_sec) * 1000 + (now.tv_nsec - from->tv_nsec) / 1000000;
}

/* ---- raise, kill, masks ---- */

static void test_raise(void)
{
    catch_with(SIGUSR1, on_alarm, 0);
    rings = 0;

    show("raise", raise(SIGUSR1));
    show("handled when it returns", rings);
    show("kill", kill(getpid(), SIGUSR1));
    show("handled again", rings);
    show("kill asks", kill(getpid(), 0));
    show("kill nobody", kill(getpid() + 100000, SIGUSR1));
    show("kill with nonsense", kill(getpid(), 1000));
    catch_with(SIGUSR1, on_alarm, (int)SA_RESETHAND);
    raise(SIGUSR1);
    struct sigaction now;
    sigaction(SIGUSR1, NULL, &now);
    show("reset", now.sa_handler == SIG_DFL);
    signal(SIGUSR1, SIG_IGN);
    show("ignored", raise(SIGUSR1));
    show("window", raise(SIGWINCH));
    show("catch SIGKILL", sigaction(SIGKILL, &now, NULL));
}

static void test_masks(void)
{
    sigset_t set, old, pending;
    int sig;

    catch_with(SIGUSR1, on_alarm, 0);
    rings = 0;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGTERM);
    show("block", sigprocmask(SIG_BLOCK, &set, &old));
    raise(SIGUSR1);
    raise(SIGUSR1);
    kill(getpid(), SIGTERM);
    show("held back", rings);
    sigpending(&pending);
    show("pending", sigismember(&pending, SIGUSR1) && sigismember(&pending, SIGTERM));
    sigdelset(&set, SIGUSR1);
    show("sigwait", sigwait(&set, &sig));
    show("accepted", sig == SIGTERM);
    sigprocmask(SIG_SETMASK, &old, NULL);
    show("handled once", rings);
    show("sets", sigismember(&set, 1000));
}

/* SIGUSR1's raises SIGUSR2; SIGUSR2's raises itself, blocked meanwhile, so that it comes once more afterwards. */
static void nested(int sig)
{
    static int depth, twos;

    printf("signals: depth %d\n", ++depth);
    if (sig == SIGUSR1 || twos++ == 0)
        raise(SIGUSR2);
    printf("signals: leaves depth %d\n", depth--);
}

static void with_info(int sig, siginfo_t *info, void *context)
{
    (void)context;
    show("number", sig == SIGUSR1 && info->si_signo == SIGUSR1);
    show("code", info->si_code == SI_QUEUE);
    show("value", info->si_value.sival_int);
}

static void test_handlers(void)
{
    struct sigaction action = {.sa_flags = SA_SIGINFO};

    action.sa_sigaction = with_info;
    sigemptyset(&action.sa_mask);
    sigaction(SIGUSR1, &action, NULL);
    sigqueue(getpid(), SIGUSR1, (union sigval){.sival_int = 1234});
    signal(SIGUSR2, nested);
    catch_with(SIGUSR1, nested, 0);
    raise(SIGUSR1);
}

/* ---- alarms end what waits ---- */

static void test_interrupted_calls(void)
{
    struct timespec begin, left, long_time = {100, 0};
    char byte;
    int pipe_fds[2];
    sem_t sem;

    catch_with(SIGALRM, on_alarm, 0);
    rings = 0;
    show("pipe", pipe(pipe_fds));
    ring_in_ms(20);
    show("read", read(pipe_fds[0], &byte, 1));
    ring_in_ms(20);
    show("nanosleep", nanosleep(&long_time, &left));
    show("left", left.tv_sec == 99);
    ring_in_ms(20);
    show("poll", poll(&(struct pollfd){.fd = pipe_fds[0], .events = POLLIN}, 1, 100000));
    sem_init(&sem, 0, 0);
    ring_in_ms(20);
    show("sem_wait", sem_wait(&sem));
    ring_in_ms(20);
    show("pause", pause());
    ring_in_ms(20);
    show("sleep", sleep(100) > 90);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    ring_in_ms(20);
    while (rings < 7)
        ; /* computes: interrupted all the same */
    show("in time", ms_since(&begin) >= 19 && ms_since(&begin) < 2000);
    show("alarm", alarm(50));
    show("alarm off", alarm(0));
    show("alarm was off", alarm(0));
    close(pipe_fds[0]);
    close(pipe_fds[1]);
}

static int write_fd;

static void on_alarm_write(int sig)
{
    (void)sig;
    rings++;
    (void)!write(write_fd, "x", 1);
}

static void test_restarted_calls(void)
{
    int fds[2];
    char byte = 0;

    (void)!pipe(fds);
    write_fd = fds[1];
    catch_with(SIGALRM, on_alarm_write, SA_RESTART);
    rings = 0;
    ring_in_ms(20);
    show("read goes on", read(fds[0], &byte, 1));
    show("handler wrote", byte == 'x' && rings == 1);
    ring_in_ms(20);
    show("poll ends", poll(&(struct pollfd){.fd = -1}, 1, 100000));
    close(fds[0]);
    close(fds[1]);
}

static void test_interval(void)
{
    const struct itimerval every = {{0, 10000}, {0, 10000}}, off = {{0, 0}, {0, 0}};
    struct itimerval now;

    catch_with(SIGALRM, on_alarm, 0);
    rings = 0;
    setitimer(ITIMER_REAL, &every, NULL);
    while (rings < 5)
        pause();
    getitimer(ITIMER_REAL, &now);
    show("interval", now.it_interval.tv_usec);
    setitimer(ITIMER_REAL, &off, &now);
    show("some was left", now.it_value.tv_sec == 0 && now.it_value.tv_usec <= 10000);
    const struct itimerval wrong = {{0, 0}, {0, 2000000}};
    show("bad time", setitimer(ITIMER_REAL, &wrong, NULL));
}

/* ---- out of a handler ---- */

static void jump(int sig)
{
    siglongjmp(back, sig);
}

static void test_jump(void)
{
    sigset_t mask;
    volatile int jumps = 0;
    char byte;
    int fds[2];

    (void)!pipe(fds);
    catch_with(SIGALRM, jump, 0);
    if (sigsetjmp(back, 1) == 0) {
        ring_in_ms(20);
        (void)!read(fds[0], &byte, 1);
        printf("signals: never printed\n");
    }
    jumps++;
    sigprocmask(SIG_BLOCK, NULL, &mask);
    show("mask is back", sigismember(&mask, SIGALRM) == 0);
    if (jumps == 1 && sigsetjmp(back, 1) == 0) {
        ring_in_ms(20);
        for (;;)
            ;
    }
    show("jumped out of a loop", jumps);
    close(fds[0]);
    close(fds[1]);
}

/* ---- threads ---- */

static volatile sig_atomic_t ran_in_thread;
static pthread_t expected_thread;

static void which_thread(int sig)
{
    (void)sig;
    ran_in_thread = pthread_equal(pthread_self(), expected_thread);
}

static void *wait_for_signal(void *arg)
{
    sem_post(arg);
    show("pause in a thread", pause());
    return NULL;
}

static void *blocks_all(void *arg)
{
    sigset_t all;
    int sig;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, NULL);
    sem_post(arg);
    sigemptyset(&all);
    sigaddset(&all, SIGUSR2);
    show("sigwait in a thread", sigwait(&all, &sig));
    show("got", sig == SIGUSR2);
    return NULL;
}

static void test_threads(void)
{
    sem_t started;
    sigset_t set, old;
    const struct timespec soon = {0, 20000000};

    sem_init(&started, 0, 0);
    catch_with(SIGUSR1, which_thread, 0);
    pthread_create(&expected_thread, NULL, wait_for_signal, &started);
    sem_wait(&started);
    usleep(20000);
    show("pthread_kill", pthread_kill(expected_thread, SIGUSR1));
    pthread_join(expected_thread, NULL);
    show("ran in its thread", ran_in_thread);

    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    pthread_sigmask(SIG_BLOCK, &set, &old);
    pthread_create(&expected_thread, NULL, blocks_all, &started);
    sem_wait(&started);
    usleep(20000);
    kill(getpid(), SIGUSR2);
    pthread_join(expected_thread, NULL);
    show("sigtimedwait", sigtimedwait(&set, NULL, &soon));
    raise(SIGUSR2);
    show("sigtimedwait gets it", sigtimedwait(&set, NULL, &soon) == SIGUSR2);
    catch_with(SIGUSR2, on_alarm, 0);
    raise(SIGUSR2);
    rings = 0;
    sigemptyset(&set);
    show("sigsuspend", sigsuspend(&set));
    show("its handler", rings);
    pthread_sigmask(SIG_SETMASK, NULL, &set);
    show("blocked again", sigismember(&set, SIGUSR2));
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void test_sigpipe(void)
{
    int fds[2];

    (void)!pipe(fds);
    close(fds[0]);
    signal(SIGPIPE, SIG_IGN);
    show("write to nobody", write(fds[1], "x", 1));
    close(fds[1]);
}

/* ---- clocks and the process ---- */

static void test_clocks(void)
{
    struct timespec ts, begin, cpu, cpu_after;
    struct rusage usage, after;
    struct timeval tv;
    struct utsname name;
    struct tms tms;
    const struct timespec nap = {0, 50000000};
    volatile double x = 0;

    clock_gettime(CLOCK_MONOTONIC, &begin);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu);
    getrusage(RUSAGE_SELF, &usage);
    show("clock_nanosleep", clock_nanosleep(CLOCK_MONOTONIC, 0, &nap, NULL));
    show("slept", ms_since(&begin) >= 50);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &cpu_after);
    show("sleep costs nothing",
         (cpu_after.tv_sec - cpu.tv_sec) * 1000 + (cpu_after.tv_nsec - cpu.tv_nsec) / 1000000 < 40);
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
    clock_gettime(CLOCK_MONOTONIC, &begin);
    while (ms_since(&begin) < 60)
        x = x * 0.5 + 1;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu_after);
    show("computing does",
         cpu_after.tv_sec > cpu.tv_sec || cpu_after.tv_nsec - cpu.tv_nsec > 5000000);
    getrusage(RUSAGE_SELF, &after);
    show("getrusage", after.ru_utime.tv_sec * 1000000 + after.ru_utime.tv_usec +
                              after.ru_stime.tv_sec * 1000000 + after.ru_stime.tv_usec >
                          usage.ru_utime.tv_sec * 1000000 + usage.ru_utime.tv_usec + 5000);
    clock_gettime(CLOCK_REALTIME, &ts);
    gettimeofday(&tv, NULL);
    show("one wall clock", tv.tv_sec - ts.tv_sec <= 1);
    show("after 2020", ts.tv_sec > 1577836800);
    ts.tv_sec = 0;
    ts.tv_nsec = 0;
    show("a time that has passed", clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL));
    ts.tv_nsec = 1000000000;
    show_error("bad time", clock_nanosleep(CLOCK_MONOTONIC, 0, &ts, NULL));
    show("bad clock", clock_gettime((clockid_t)77, &ts));
    show("times", times(&tms) != (clock_t)-1);
    show("clock", clock() != (clock_t)-1);
    show("uname", uname(&name));
    show("machine", strcmp(name.machine, "x86_64") == 0);
    show("page", sysconf(_SC_PAGESIZE) == getpagesize());
    show("processors", sysconf(_SC_NPROCESSORS_ONLN) >= 1);
    show("no such sysconf", sysconf(100000));
    setenv("SIGNALS_TEST", "1", 1);
    show("environment", strcmp(getenv("SIGNALS_TEST"), "1") == 0 && getenv("PATH") != NULL);
    unsetenv("SIGNALS_TEST");
    show("unset", getenv("SIGNALS_TEST") == NULL);
    show("wait", wait(NULL));
    show("yield", sched_yield());
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    test_raise();
    test_masks();
    test_handlers();
    test_interrupted_calls();
    test_restarted_calls();
    test_interval();
    test_jump();
    test_threads();
    test_sigpipe();
    test_clocks();
    test_int_calls();
    return 0;
}
