/* Upper-case echo with edge-triggered epoll, IPv4 and IPv6 through one socket. Also builds on Linux. */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_MAX = 64 };

static void welcome(int epoll, int listener)
{
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0) {
        struct epoll_event event = {.events = EPOLLIN | EPOLLET | EPOLLRDHUP, .data.fd = fd};

        if (epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event))
            close(fd);
    }
}

static int send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        const ssize_t sent = send(fd, data, len, MSG_NOSIGNAL);

        if (sent < 0 && errno != EAGAIN)
            return -1;
        if (sent > 0) {
            data += sent;
            len -= (size_t)sent;
        }
    }
    return 0;
}

static void serve(int fd)
{
    char data[4096];
    ssize_t got;

    while ((got = recv(fd, data, sizeof data, 0)) > 0) {
        for (ssize_t i = 0; i < got; i++)
            data[i] = (char)toupper((unsigned char)data[i]);
        if (send_all(fd, data, (size_t)got)) {
            close(fd);
            return;
        }
    }
    if (got == 0 || errno != EAGAIN)
        close(fd);
}

int main(int argc, char **argv)
{
    const int port = argc > 1 ? atoi(argv[1]) : 7000, on = 1, off = 0;
    const int listener = socket(AF_INET6, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const int epoll = epoll_create1(EPOLL_CLOEXEC);
    const struct sockaddr_in6 addr = {.sin6_family = AF_INET6, .sin6_port = htons((uint16_t)port)};
    struct epoll_event event = {.events = EPOLLIN, .data.fd = listener}, events[EVENTS_MAX];

    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
    if (bind(listener, (const struct sockaddr *)&addr, sizeof addr) ||
        listen(listener, SOMAXCONN) || epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &event)) {
        perror("epoll_server");
        return 1;
    }
    printf("listening on %d\n", port);
    fflush(stdout);
    for (;;) {
        const int ready = epoll_wait(epoll, events, EVENTS_MAX, -1);

        for (int i = 0; i < ready; i++) {
            if (events[i].data.fd == listener)
                welcome(epoll, listener);
            else
                serve(events[i].data.fd);
        }
    }
}
