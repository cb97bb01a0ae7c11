/* Streams: beginnings, ends, and the flags of send() and recv(). */
#include "tests/boot/apps/conform.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/sendfile.h>
#include <sys/time.h>

enum { PORT = 7600, BULK = 2000000 };

static int pair[2];

static void close_pair(void)
{
    close(pair[0]);
    close(pair[1]);
}

static int error_of(int fd)
{
    int error = -1;
    socklen_t len = sizeof(error);

    getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len);
    return error;
}

static void show_events(const char *what, int fd, int timeout_ms)
{
    struct pollfd p = {fd, POLLIN | POLLOUT | POLLRDHUP, 0};

    poll(&p, 1, timeout_ms);
    printf("= %s:%s%s%s%s%s\n", what, p.revents & POLLIN ? " in" : "",
           p.revents & POLLOUT ? " out" : "", p.revents & POLLERR ? " err" : "",
           p.revents & POLLHUP ? " hup" : "", p.revents & POLLRDHUP ? " rdhup" : "");
}

static void later_connected(void)
{
    const int listener = listen_on(PORT);
    const int good = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const int bad = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    show("connect", connect_to(good, PORT));
    show_events("connected", good, 1000);
    show("SO_ERROR", error_of(good));
    show("connect again", connect_to(good, PORT));
    connect_to(bad, PORT + 9);
    show_events("refused", bad, 1000);
    printf("= SO_ERROR %s\n", error_name(error_of(bad)));
    show("once", error_of(bad));
    const int server = accept(listener, NULL, NULL);

    show("accepted ones wait", fcntl(server, F_GETFL) & O_NONBLOCK);
    close(good);
    close(bad);
    close(server);
    const int second = socket(AF_INET, SOCK_STREAM, 0);

    fcntl(listener, F_SETFL, O_NONBLOCK);
    show("nobody there", accept(listener, NULL, NULL));
    show("bad flags", accept4(listener, NULL, NULL, 0x1000000));
    show("listen again", listen(listener, 3));
    show("connect a listener", connect_to(listener, PORT));
    show("its events", (show_events("listener", listener, 0), 0));
    close(second);
    close(listener);
}

static void flags(void)
{
    char buf[16] = "";

    pair_tcp(pair, PORT);
    send(pair[0], "abc", 3, MSG_MORE);
    send(pair[0], "def", 3, 0);
    show("MSG_WAITALL", recv(pair[1], buf, 6, MSG_WAITALL));
    printf("= got %s\n", buf);
    send(pair[0], "12345", 5, 0);
    usleep(20000);
    show("peek", recv(pair[1], buf, 3, MSG_PEEK));
    show("peek again", recv(pair[1], buf, 16, MSG_PEEK));
    show("dropped", recv(pair[1], NULL, 2, MSG_TRUNC));
    show("the rest", recv(pair[1], buf, 16, 0));
    printf("= got %.3s\n", buf);
    show("MSG_DONTWAIT", recv(pair[1], buf, 16, MSG_DONTWAIT));
    show("MSG_OOB", recv(pair[1], buf, 1, MSG_OOB));
    show("of none", recv(pair[1], buf, 0, MSG_DONTWAIT));
    show("sendto ignores the address", sendto(pair[0], "x", 1, 0, (struct sockaddr *)buf, 0));
    close_pair();
}

static void low_water(void)
{
    const int few = 4, on = 1;
    char buf[16];

    pair_tcp(pair, PORT);
    setsockopt(pair[1], SOL_SOCKET, SO_RCVLOWAT, &few, sizeof(few));
    setsockopt(pair[0], IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    send(pair[0], "abc", 3, 0);
    usleep(20000);
    show_events("three of four", pair[1], 0);
    send(pair[0], "d", 1, 0);
    usleep(20000);
    show_events("four", pair[1], 0);
    show("recv", recv(pair[1], buf, 16, 0));
    close_pair();
}

static void ends(void)
{
    const struct linger now = {1, 0}, wait = {1, 5};
    char c;

    pair_tcp(pair, PORT);
    setsockopt(pair[0], SOL_SOCKET, SO_LINGER, &now, sizeof(now));
    close(pair[0]);
    usleep(20000);
    show_events("reset", pair[1], 0);
    show("recv", recv(pair[1], &c, 1, 0));
    show("send", send(pair[1], "x", 1, MSG_NOSIGNAL));
    close(pair[1]);

    pair_tcp(pair, PORT);
    setsockopt(pair[0], SOL_SOCKET, SO_LINGER, &wait, sizeof(wait));
    send(pair[0], "last words", 10, 0);
    show("close waits", close(pair[0]));
    show("and all is there", recv(pair[1], &(char[16]){0}, 16, 0));
    show("then the end", recv(pair[1], &c, 1, 0));
    show_events("ended", pair[1], 0);
    show("half open: send", send(pair[1], "x", 1, MSG_NOSIGNAL));
    usleep(20000);
    show_events("answered with a reset", pair[1], 0);
    show("send again", send(pair[1], "x", 1, MSG_NOSIGNAL));
    close(pair[1]);

    pair_tcp(pair, PORT);
    show("shutdown to read", shutdown(pair[0], SHUT_RD));
    show("reads nothing", recv(pair[0], &c, 1, 0));
    show("still sends", send(pair[0], "x", 1, 0));
    show("both", shutdown(pair[0], SHUT_RDWR));
    show("recv", recv(pair[1], &c, 1, 0));
    show("recv", recv(pair[1], &c, 1, 0));
    show("bad how", shutdown(pair[1], 7));
    close_pair();
}

static void full(void)
{
    static char block[100000];
    const struct timeval tv = {0, 100000};
    long sum = 0, got;

    pair_tcp(pair, PORT);
    fcntl(pair[0], F_SETFL, O_NONBLOCK);
    while ((got = send(pair[0], block, sizeof(block), 0)) > 0)
        sum += got;
    show("full", got);
    show_events("full", pair[0], 0);
    fcntl(pair[0], F_SETFL, 0);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv));
    show("SO_SNDTIMEO", send(pair[0], "x", 1, 0));
    while (sum > 0 && (got = recv(pair[1], block, sizeof(block), 0)) > 0)
        sum -= got;
    show("all came", sum);
    show_events("room again", pair[0], 1000);
    close_pair();
}

static void addresses(void)
{
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(PORT + 1)}, peer;
    socklen_t len = sizeof(peer);
    const int six = socket(AF_INET6, SOCK_STREAM, 0), four = socket(AF_INET, SOCK_STREAM, 0),
              on = 1;
    char text[INET6_ADDRSTRLEN];
    struct sockaddr_in name = at(0);

    setsockopt(six, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    show("bind", bind(six, (struct sockaddr *)&any, sizeof(any)));
    show("listen", listen(six, 4));
    show("IPv4 to it", connect_to(four, PORT + 1));
    const int server = accept(six, (struct sockaddr *)&peer, &len);

    printf("= from %s, %u bytes\n", inet_ntop(AF_INET6, &peer.sin6_addr, text, sizeof(text)),
           (unsigned)len);
    len = 4;
    show("cut", getpeername(server, (struct sockaddr *)&peer, &len));
    show("true length", (long)len);
    show("taken", bind_to(socket(AF_INET, SOCK_STREAM, 0), PORT + 1));
    name.sin_addr.s_addr = htonl(0xc0000201);
    show("foreign", bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *)&name, sizeof(name)));
    close(server); /* first: TIME-WAIT is on this side */
    close(four);
    close(six);
    usleep(20000);
    const int again = socket(AF_INET6, SOCK_STREAM, 0);

    show("TIME-WAIT is in the way", bind(again, (struct sockaddr *)&any, sizeof(any)));
    setsockopt(again, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    show("not with SO_REUSEADDR", bind(again, (struct sockaddr *)&any, sizeof(any)));
    close(again);
}

static void from_a_file(void)
{
    char name[] = "/tmp/sendfile-XXXXXX", buf[16] = "";
    const int file = mkstemp(name);
    off_t at = 3;

    unlink(name);
    write(file, "0123456789", 10);
    pair_tcp(pair, PORT);
    show("sendfile", sendfile(pair[0], file, &at, 4));
    show("moved on", (long)at);
    show("position untouched", (long)lseek(file, 0, SEEK_CUR));
    lseek(file, 8, SEEK_SET);
    show("from the position", sendfile(pair[0], file, NULL, 100));
    show("moved", (long)lseek(file, 0, SEEK_CUR));
    show("at the end", sendfile(pair[0], file, NULL, 100));
    show("received", recv(pair[1], buf, 6, MSG_WAITALL));
    printf("= got %s\n", buf);
    show("from a socket", sendfile(pair[0], pair[1], NULL, 1));
    at = -1;
    show("negative", sendfile(pair[0], file, &at, 1));
    show("to a closed one", sendfile(99, file, NULL, 1));
    close(file);
    close_pair();
}

static void *send_all(void *arg)
{
    char *block = malloc(BULK);

    (void)arg;
    for (int i = 0; i < BULK; i++)
        block[i] = (char)(i * 13);
    show("all sent", send(pair[0], block, BULK, 0));
    shutdown(pair[0], SHUT_WR);
    free(block);
    return NULL;
}

static void small_buffers(void)
{
    static char block[7777];
    const int small = 8192;
    const int listener = listen_on(PORT);
    pthread_t thread;
    long sum = 0, wrong = 0, got;

    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small));
    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, &small, sizeof(small));
    connect_to(pair[0], PORT);
    pair[1] = accept(listener, NULL, NULL);
    close(listener);
    pthread_create(&thread, NULL, send_all, NULL);
    while ((got = recv(pair[1], block, sizeof(block), 0)) > 0) {
        for (long i = 0; i < got; i++)
            wrong += block[i] != (char)((sum + i) * 13);
        sum += got;
    }
    pthread_join(thread, NULL);
    show("through small buffers", sum);
    show("wrong bytes", wrong);
    close_pair();
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    later_connected();
    flags();
    low_water();
    ends();
    full();
    addresses();
    from_a_file();
    small_buffers();
    return 0;
}
