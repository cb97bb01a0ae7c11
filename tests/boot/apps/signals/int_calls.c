/* Calls that return int, and a thread that is cancelled while the C library holds a lock for it. */
#define _GNU_SOURCE
#include "int_calls.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t rings;
static sem_t semaphore;
static struct sockaddr_in where;

static void on_alarm(int sig)
{
    (void)sig;
    rings++;
}

static void alarm_in_50_ms(void)
{
    struct sigaction action = {.sa_handler = on_alarm, .sa_flags = SA_RESTART};
    const struct itimerval once = {.it_value = {.tv_usec = 50000}};

    rings = 0;
    sigemptyset(&action.sa_mask);
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &once, NULL);
}

static int listener(void)
{
    socklen_t len = sizeof(where);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    where = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    if (bind(fd, (struct sockaddr *)&where, sizeof(where)) || listen(fd, 1) ||
        getsockname(fd, (struct sockaddr *)&where, &len))
        perror("listener");
    return fd;
}

/* The alarm is the main thread's. */
static void block_alarm(void)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &set, NULL);
}

static void *help_later(void *arg)
{
    block_alarm();
    usleep(150000);
    sem_post(&semaphore);
    usleep(100000);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (struct sockaddr *)&where, sizeof(where)))
        perror("connect");
    (void)arg;
    return (void *)(intptr_t)fd;
}

static void test_restart(void)
{
    const int fd = listener();
    pthread_t helper;
    void *client;

    sem_init(&semaphore, 0, 0);
    alarm_in_50_ms();
    pthread_create(&helper, NULL, help_later, NULL);
    const int waited = sem_wait(&semaphore);

    printf("signals: sem_wait after an alarm: %d, rings %d\n", waited, (int)rings);
    alarm_in_50_ms();
    const int peer = accept(fd, NULL, NULL);

    printf("signals: accept after an alarm: %s, rings %d\n", peer >= 0 ? "a socket" : "failed",
           (int)rings);
    pthread_join(helper, &client);
    close((int)(intptr_t)client);
    close(peer);
    close(fd);
}

static void *accept_for_ever(void *arg)
{
    (void)accept(*(int *)arg, NULL, NULL);
    printf("signals: accept went on after it was cancelled\n");
    return NULL;
}

static void test_cancelled_accept(void)
{
    int fd = listener();
    pthread_t thread;
    void *result;

    pthread_create(&thread, NULL, accept_for_ever, &fd);
    usleep(20000);
    pthread_cancel(thread);
    pthread_join(thread, &result);
    printf("signals: accept cancelled: %d\n", result == PTHREAD_CANCELED);
    close(fd);
}

static void *print_for_ever(void *arg)
{
    FILE *file = arg;

    while (!ferror(file)) {
        fprintf(file, "x");
        fflush(file);
    }
    return NULL;
}

static void test_cancelled_stdio(void)
{
    FILE *file = fopen("/tmp/signals_out", "w");
    int done = 0;

    for (int i = 0; i < 20; i++) {
        pthread_t thread;
        void *result;

        pthread_create(&thread, NULL, print_for_ever, file);
        usleep(1000 + (unsigned)i * 137);
        pthread_cancel(thread);
        pthread_join(thread, &result);
        done += result == PTHREAD_CANCELED && fprintf(file, "main\n") == 5 && fflush(file) == 0;
    }
    printf("signals: a file is free after a cancellation inside it: %d of 20\n", done);
    fclose(file);
    remove("/tmp/signals_out");
}

void test_int_calls(void)
{
    test_restart();
    test_cancelled_accept();
    test_cancelled_stdio();
}
