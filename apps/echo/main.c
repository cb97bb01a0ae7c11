/*
 * Echo, RFC 862: what comes in on TCP port 7 goes back. The smallest program worth reading.
 *
 * One thread a connection, so a client that sends without reading holds up only itself. Plain POSIX: on
 * Linux, `gcc apps/echo/main.c` makes a server of it, too.
 */
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ECHO_PORT = 7, BACKLOG = 128 };

static int send_all(int fd, const char *data, size_t len)
{
    while (len > 0) {
        const ssize_t sent = send(fd, data, len, MSG_NOSIGNAL);

        if (sent < 0)
            return -1;
        data += sent;
        len -= (size_t)sent;
    }
    return 0;
}

static void *serve(void *arg)
{
    const int fd = (int)(intptr_t)arg;
    char buf[16 * 1024];
    ssize_t got;

    while ((got = recv(fd, buf, sizeof(buf), 0)) > 0) {
        if (send_all(fd, buf, (size_t)got))
            break;
    }
    close(fd);
    return NULL;
}

int main(void)
{
    /* The wildcard of IPv6 takes IPv4 connections as well (RFC 3493 §5.3). */
    const struct sockaddr_in6 here = {.sin6_family = AF_INET6, .sin6_port = htons(ECHO_PORT)};
    const int listener = socket(AF_INET6, SOCK_STREAM, 0);

    if (listener < 0 || bind(listener, (const struct sockaddr *)&here, sizeof(here)) ||
        listen(listener, BACKLOG)) {
        perror("echo");
        return 1;
    }
    for (;;) {
        pthread_t thread;
        const int fd = accept(listener, NULL, NULL);

        if (fd < 0)
            continue;
        if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd))
            close(fd); /* no memory for one more: refused */
        else
            pthread_detach(thread);
    }
}
