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

enum { ECHO_PORT = 7, BACKLOG = 8, ROUNDS = 1000, PRINT_EVERY = 500 };

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

/* Uses the heap and stdio as well, a little: both are locked against the other threads. */
static int disturb(int id, int round)
{
    char *block = malloc((size_t)(1 + (id * 977 + round * 31) % 5000));
    char text[32];

    if (!block)
        return 0;
    memset(block, id, 1);
    snprintf(text, sizeof(text), "%d %.3f", id, round / 8.0);
    const int right = block[0] == (char)id && strtod(strchr(text, ' '), NULL) == round / 8.0;

    free(block);
    if (id > 0 && round % PRINT_EVERY == 0)
        printf("spin: thread %d in round %d.\n", id, round);
    return right;
}

static void *spin(void *arg)
{
    const int id = (int)(intptr_t)arg;
    const double step = 1.0 + id / 7.0, expected = sum_of_squares(step);
    int round = 0;

    while (sum_of_squares(step) == expected && disturb(id, round))
        round = (round + 1) & 0xffff;
    printf("spin: thread %d computed wrongly\n", id);
    exit(1);
}

int main(int argc, char **argv)
{
    const int threads = argc > 1 ? atoi(argv[1]) : 0;
    pthread_t thread;

    pthread_create(&thread, NULL, serve, (void *)(intptr_t)listener());
    for (int i = 0; i < threads; i++)
        pthread_create(&thread, NULL, spin, (void *)(intptr_t)(i + 1));
    /* Not even a call into the library: this is what must not silence the network. */
    while (sum_of_squares(1.5) > 0)
        ;
    return 1;
}
