/*
 * For test_swarm.py: a server for many short connections (port 8000, epoll), one that lets its backlog fill up (8001), and a
 * datagram service that tells what memory is in use (8002).
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "lib/fd.h"
#include "lib/page_frag.h"

enum { SHORT = 8000, SLOW = 8001, MEMORY = 8002, BACKLOG = 5, SLEEP_S = 10, EVENTS = 64 };

static int listen_on(in_port_t port, int backlog)
{
    const struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (fd < 0 || bind(fd, (const struct sockaddr *)&addr, sizeof(addr)) || listen(fd, backlog)) {
        perror("listen");
        exit(1);
    }
    return fd;
}

static void accept_all(int set, int listener)
{
    struct epoll_event event = {.events = EPOLLIN};

    for (;;) {
        event.data.fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK);
        if (event.data.fd < 0)
            return;
        epoll_ctl(set, EPOLL_CTL_ADD, event.data.fd, &event);
    }
}

/* One request, one answer, and we end first: TIME-WAIT is ours. */
static void answer(int fd)
{
    char request[64];
    const ssize_t got = recv(fd, request, sizeof(request), 0);

    if (got > 0)
        send(fd, request, (size_t)got, 0);
    close(fd);
}

static void *serve_short(void *arg)
{
    const int listener = listen_on(SHORT, 128), set = epoll_create1(0);
    struct epoll_event events[EVENTS], event = {.events = EPOLLIN, .data.fd = listener};
    const int on = 1;

    (void)arg;
    ioctl(listener, FIONBIO, &on);
    epoll_ctl(set, EPOLL_CTL_ADD, listener, &event);
    for (;;) {
        const int count = epoll_wait(set, events, EVENTS, -1);

        for (int i = 0; i < count; i++) {
            if (events[i].data.fd == listener)
                accept_all(set, listener);
            else
                answer(events[i].data.fd);
        }
    }
    return NULL;
}

static void *serve_slowly(void *arg)
{
    const int listener = listen_on(SLOW, BACKLOG);

    (void)arg;
    sleep(SLEEP_S);
    for (;;) {
        const int fd = accept(listener, NULL, NULL);

        answer(fd);
    }
    return NULL;
}

static void tell_memory(void)
{
    struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(MEMORY)};
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct frag_stats stats;
    char text[64];

    bind(fd, (struct sockaddr *)&addr, sizeof(addr));
    for (;;) {
        socklen_t len = sizeof(addr);

        recvfrom(fd, text, sizeof(text), 0, (struct sockaddr *)&addr, &len);
        frag_stats_get(&stats);
        snprintf(text, sizeof(text), "%llu %zu", (unsigned long long)(stats.takes - stats.gives),
                 fd_open_count());
        sendto(fd, text, strlen(text), 0, (struct sockaddr *)&addr, len);
    }
}

int main(void)
{
    pthread_t thread;

    setvbuf(stdout, NULL, _IOLBF, 0);
    pthread_create(&thread, NULL, serve_short, NULL);
    pthread_create(&thread, NULL, serve_slowly, NULL);
    tell_memory();
    return 0;
}
