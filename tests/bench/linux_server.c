/*
 * The services of the iperf image's contract for the Linux reference guest, as one would write them there: one process, epoll,
 * non-blocking sockets. Echo 7/TCP+UDP, discard 9/TCP, chargen 19/TCP, counter 9/UDP, HTTP 80 with one small page.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { BUFFER_BYTES = 128 * 1024, EVENTS_MAX = 256, FILES_MAX = 65536, BACKLOG = 4096 };
enum kind { NOTHING, LISTENER, UDP_ECHO, UDP_COUNTER, ECHO, DISCARD, CHARGEN, HTTP };

struct file {
    enum kind kind;
    enum kind serves; /* of a listener: what its connections are */
    char *held;       /* echo: read and not yet written */
    size_t held_from, held_to;
    size_t seen; /* HTTP: how much of the blank line that ends a request */
};

static struct file files[FILES_MAX];
static int epoll_fd;
static char buffer[BUFFER_BYTES];
static unsigned long long datagrams, bytes;

static void watch(int fd, uint32_t events, int how)
{
    struct epoll_event event = {.events = events, .data.fd = fd};

    epoll_ctl(epoll_fd, how, fd, &event);
}

static int open_port(int type, uint16_t port)
{
    const int fd = socket(AF_INET6, type | SOCK_NONBLOCK, 0), on = 1;
    const struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(port)};

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fd, (const void *)&address, sizeof address) ||
        (type == SOCK_STREAM && listen(fd, BACKLOG))) {
        perror("server");
        exit(1);
    }
    watch(fd, EPOLLIN, EPOLL_CTL_ADD);
    return fd;
}

static void shut(int fd)
{
    free(files[fd].held);
    files[fd] = (struct file){.kind = NOTHING};
    close(fd);
}

static void accept_all(int listener)
{
    const enum kind kind = files[listener].serves;
    const int on = 1;
    int fd;

    while ((fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK)) >= 0) {
        if (fd >= FILES_MAX) {
            close(fd);
            continue;
        }
        files[fd] = (struct file){.kind = kind};
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
        watch(fd, kind == CHARGEN ? EPOLLOUT : EPOLLIN, EPOLL_CTL_ADD);
    }
}

/* True when all that was held is gone. */
static bool echo_flush(int fd, struct file *f)
{
    while (f->held_from < f->held_to) {
        const ssize_t sent =
            send(fd, f->held + f->held_from, f->held_to - f->held_from, MSG_NOSIGNAL);

        if (sent < 0)
            return false;
        f->held_from += (size_t)sent;
    }
    return true;
}

static void echo(int fd, struct file *f)
{
    if (!f->held)
        f->held = malloc(BUFFER_BYTES);
    while (echo_flush(fd, f)) {
        const ssize_t got = recv(fd, f->held, BUFFER_BYTES, 0);

        if (got == 0 || (got < 0 && errno != EAGAIN)) {
            shut(fd);
            return;
        }
        if (got < 0) {
            watch(fd, EPOLLIN, EPOLL_CTL_MOD);
            return;
        }
        f->held_from = 0;
        f->held_to = (size_t)got;
    }
    if (errno == EAGAIN)
        watch(fd, EPOLLOUT, EPOLL_CTL_MOD);
    else
        shut(fd);
}

static void discard(int fd)
{
    ssize_t got;

    while ((got = recv(fd, buffer, sizeof buffer, 0)) > 0)
        ;
    if (got == 0 || errno != EAGAIN)
        shut(fd);
}

static void chargen(int fd)
{
    while (send(fd, buffer, sizeof buffer, MSG_NOSIGNAL) > 0)
        ;
    if (errno != EAGAIN)
        shut(fd);
}

static bool wants_close(const char *request, size_t len)
{
    return memmem(request, len, "HTTP/1.0", 8) || memmem(request, len, "onnection: close", 16);
}

static void http(int fd, struct file *f)
{
    static const char page[] =
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 13\r\n\r\nHello, world\n";
    static const char end[] = "\r\n\r\n";
    const ssize_t got = recv(fd, buffer, sizeof buffer, 0);

    if (got <= 0) {
        if (got == 0 || errno != EAGAIN)
            shut(fd);
        return;
    }
    const bool last = wants_close(buffer, (size_t)got);

    for (ssize_t i = 0; i < got; i++) {
        f->seen = buffer[i] == end[f->seen] ? f->seen + 1 : buffer[i] == '\r';
        if (f->seen < 4)
            continue;
        f->seen = 0;
        if (send(fd, page, sizeof page - 1, MSG_NOSIGNAL) < 0 || last) {
            shut(fd);
            return;
        }
    }
}

static void udp(int fd, enum kind kind)
{
    struct sockaddr_in6 from;
    socklen_t len = sizeof from;
    ssize_t got;

    while ((got = recvfrom(fd, buffer, sizeof buffer, 0, (void *)&from, &len)) >= 0) {
        if (kind == UDP_ECHO) {
            sendto(fd, buffer, (size_t)got, 0, (void *)&from, len);
        } else if (got == 1 && buffer[0] == '?') {
            char text[64];
            const int size = snprintf(text, sizeof text, "%llu %llu", datagrams, bytes);

            sendto(fd, text, (size_t)size, 0, (void *)&from, len);
            datagrams = bytes = 0;
        } else {
            datagrams++;
            bytes += (unsigned long long)got;
        }
        len = sizeof from;
    }
}

static void serve(int fd)
{
    struct file *f = &files[fd];

    switch (f->kind) {
    case LISTENER:
        accept_all(fd);
        break;
    case UDP_ECHO:
    case UDP_COUNTER:
        udp(fd, f->kind);
        break;
    case ECHO:
        echo(fd, f);
        break;
    case DISCARD:
        discard(fd);
        break;
    case CHARGEN:
        chargen(fd);
        break;
    case HTTP:
        http(fd, f);
        break;
    case NOTHING:
        break;
    }
}

static void listen_for(uint16_t port, enum kind serves)
{
    files[open_port(SOCK_STREAM, port)] = (struct file){.kind = LISTENER, .serves = serves};
}

int main(void)
{
    struct epoll_event events[EVENTS_MAX];

    signal(SIGPIPE, SIG_IGN);
    epoll_fd = epoll_create1(0);
    listen_for(7, ECHO);
    listen_for(9, DISCARD);
    listen_for(19, CHARGEN);
    listen_for(80, HTTP);
    files[open_port(SOCK_DGRAM, 7)].kind = UDP_ECHO;
    files[open_port(SOCK_DGRAM, 9)].kind = UDP_COUNTER;
    for (;;) {
        const int count = epoll_wait(epoll_fd, events, EVENTS_MAX, -1);

        for (int i = 0; i < count; i++)
            serve(events[i].data.fd);
    }
}
