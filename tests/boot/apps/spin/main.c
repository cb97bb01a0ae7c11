/*
 * main computes and never waits: the network must go on without it. A thread echoes on TCP port 7 meanwhile. The argument
 * says how many threads compute as well.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ECHO_PORT = 7, BACKLOG = 8, ROUNDS = 1000 };

static void echo(int fd)
{
    static char buf[16 * 1024];
    ssize_t got;

    while ((got = recv(fd, buf, sizeof(buf), 0)) > 0) {
        for (ssize_t done = 0, sent; done < got; done += sent) {
            sent = send(fd, buf + done, (size_t)(got - done), MSG_NOSIGNAL);
            if (sent < 0)
                return;
        }
    }
}

static void *serve(void *arg)
{
    int fd;

    while ((fd = accept((int)(intptr_t)arg, NULL, NULL)) >= 0) {
        echo(fd);
        close(fd);
    }
    perror("spin: accept");
    exit(1);
}

static int listener(void)
{
    const struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(ECHO_PORT)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&here, sizeof(here)) || listen(fd, BACKLOG)) {
        perror("spin");
        exit(1);
    }
    return fd;
}

/* The sum must come out the same each time, whoever runs in between: vector registers are kept. */
static double sum_of_squares(double step)
{
    double sum = 0;

    for (int i = 0; i < ROUNDS; i++)
        sum += step * i * (step * i);
    return sum;
}

static void *spin(void *arg)
{
    const double step = 1.0 + (double)(intptr_t)arg / 7;
    const double expected = sum_of_squares(step);

    while (sum_of_squares(step) == expected)
        ;
    printf("spin: thread %d computed wrongly\n", (int)(intptr_t)arg);
    exit(1);
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t thread;

    pthread_create(&thread, NULL, serve, (void *)(intptr_t)listener());
    for (int i = 0; i < threads; i++)
        pthread_create(&thread, NULL, spin, (void *)(intptr_t)(i + 1));
    return spin(NULL) != NULL;
}
