/* Pipes, socket pairs, local sockets with names, eventfd. */
#include "tests/boot/apps/conform.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/un.h>

enum { BULK = 1000000 };

static short events_of(int fd)
{
    struct pollfd p = {fd, POLLIN | POLLOUT | POLLRDHUP, 0};

    poll(&p, 1, 0);
    return p.revents;
}

static void show_events(const char *what, int fd)
{
    const short events = events_of(fd);

    printf("= %s:%s%s%s%s%s\n", what, events & POLLIN ? " in" : "", events & POLLOUT ? " out" : "",
           events & POLLERR ? " err" : "", events & POLLHUP ? " hup" : "",
           events & POLLRDHUP ? " rdhup" : "");
}

static void pipes(void)
{
    static char block[70000];
    struct stat st;
    int fds[2], waiting = 0;
    char buf[16];

    show("pipe", pipe(fds));
    fstat(fds[0], &st);
    show("is a fifo", S_ISFIFO(st.st_mode) != 0);
    show_events("fresh reader", fds[0]);
    show_events("fresh writer", fds[1]);
    show("wrong end", read(fds[1], buf, 1));
    show("other wrong end", write(fds[0], buf, 1));
    show("write", write(fds[1], "hello", 5));
    ioctl(fds[0], FIONREAD, &waiting);
    show("FIONREAD", waiting);
    show("short read", read(fds[0], buf, 3));
    show("the rest", read(fds[0], buf, 16));
    show("lseek", lseek(fds[0], 0, SEEK_SET));
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
    fcntl(fds[1], F_SETFL, O_NONBLOCK);
    show("empty", read(fds[0], buf, 1));
    show("read of none", read(fds[0], buf, 0));
    show("more than fits", write(fds[1], block, sizeof(block)));
    show_events("full writer", fds[1]);
    show("nothing more", write(fds[1], "x", 1));
    show("a little room", read(fds[0], block, 100));
    show("a short one goes whole or not", write(fds[1], block, 200));
    show("a page of room", read(fds[0], block, PIPE_BUF));
    show("now", write(fds[1], block, 200));
    close(fds[1]);
    show_events("writer closed", fds[0]);
    while (read(fds[0], block, sizeof(block)) > 0)
        ;
    show("end", read(fds[0], block, 1));
    show_events("at the end", fds[0]);
    close(fds[0]);
    show("pipe2", pipe2(fds, O_NONBLOCK | O_CLOEXEC));
    show("its flags",
         (fcntl(fds[0], F_GETFL) & O_NONBLOCK) && fcntl(fds[1], F_GETFD) == FD_CLOEXEC);
    show("bad flags", pipe2(fds, O_APPEND));
    close(fds[0]);
    show_events("reader closed", fds[1]);
    show("write to nobody", write(fds[1], "x", 1));
    close(fds[1]);
}

static int ends[2];

static void *writer(void *arg)
{
    char *block = malloc(BULK);

    (void)arg;
    for (int i = 0; i < BULK; i++)
        block[i] = (char)(i * 7);
    show("all written", write(ends[1], block, BULK));
    close(ends[1]);
    free(block);
    return NULL;
}

static void bulk(const char *what)
{
    static char block[3333];
    pthread_t thread;
    long sum = 0, wrong = 0, got;

    pthread_create(&thread, NULL, writer, NULL);
    while ((got = read(ends[0], block, sizeof(block))) > 0) {
        for (long i = 0; i < got; i++)
            wrong += block[i] != (char)((sum + i) * 7);
        sum += got;
    }
    pthread_join(thread, NULL);
    show(what, sum);
    show("wrong bytes", wrong);
    close(ends[0]);
}

static void stream_pair(void)
{
    struct sockaddr_un name;
    socklen_t len = sizeof(name);
    char buf[16];
    int sv[2];

    show("socketpair", socketpair(AF_UNIX, SOCK_STREAM, 0, sv));
    show_events("fresh", sv[0]);
    show("send", send(sv[0], "abc", 3, 0));
    show("write", write(sv[0], "def", 3));
    show("joined", recv(sv[1], buf, sizeof(buf), 0));
    show("peek", send(sv[1], "xy", 2, 0) == 2 && recv(sv[0], buf, 9, MSG_PEEK) == 2);
    show("and read", recv(sv[0], buf, 9, 0));
    show("nothing", recv(sv[0], buf, 9, MSG_DONTWAIT));
    show("getsockname", getsockname(sv[0], (struct sockaddr *)&name, &len));
    show("unnamed", (long)len);
    show("family", name.sun_family == AF_UNIX);
    show("shutdown", shutdown(sv[0], SHUT_WR));
    show_events("its peer", sv[1]);
    show("end", read(sv[1], buf, 1));
    show("send after it", send(sv[0], "x", 1, MSG_NOSIGNAL));
    show("other way", send(sv[1], "x", 1, MSG_NOSIGNAL));
    close(sv[1]);
    show_events("peer gone", sv[0]);
    show("what was sent", read(sv[0], buf, 16));
    show("then the end", read(sv[0], buf, 16));
    show("send to nobody", send(sv[0], "x", 1, MSG_NOSIGNAL));
    close(sv[0]);
    socketpair(AF_UNIX, SOCK_STREAM, 0, sv);
    send(sv[0], "unread", 6, 0);
    close(sv[1]);
    show("reset", read(sv[0], buf, 1));
    show("once", read(sv[0], buf, 1));
    close(sv[0]);
    show("of another family", socketpair(AF_INET, SOCK_STREAM, 0, sv));
}

static void record_pair(int type)
{
    char buf[16];
    int sv[2];
    struct iovec iov = {buf, 2};
    struct msghdr msg = {.msg_iov = &iov, .msg_iovlen = 1};

    show("record pair", socketpair(AF_UNIX, type, 0, sv));
    send(sv[0], "one", 3, 0);
    send(sv[0], "", 0, 0);
    send(sv[0], "three", 5, 0);
    show("first", recv(sv[1], buf, sizeof(buf), 0));
    show("empty", recv(sv[1], buf, sizeof(buf), 0));
    show("cut", recvmsg(sv[1], &msg, 0));
    show("told so", (msg.msg_flags & MSG_TRUNC) != 0);
    show("gone", recv(sv[1], buf, sizeof(buf), MSG_DONTWAIT));
    send(sv[0], "12345", 5, 0);
    show("true length", recv(sv[1], buf, 1, MSG_TRUNC));
    close(sv[0]);
    show("after close", recv(sv[1], buf, 1, MSG_DONTWAIT));
    show("send after close", send(sv[1], "x", 1, MSG_NOSIGNAL));
    close(sv[1]);
}

static struct sockaddr_un named(const char *path)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX};

    strcpy(name.sun_path, path);
    return name;
}

static void names(void)
{
    struct sockaddr_un name = named("sock"), other = named("dgram"), who = {.sun_path = ""};
    socklen_t len = sizeof(who);
    char buf[16];
    int listener = socket(AF_UNIX, SOCK_STREAM, 0), client = socket(AF_UNIX, SOCK_STREAM, 0);

    unlink("sock");
    unlink("dgram");
    show("connect to none", connect(client, (struct sockaddr *)&name, sizeof(name)));
    show("bind", bind(listener, (struct sockaddr *)&name, sizeof(name)));
    show("connect to no listener", connect(client, (struct sockaddr *)&name, sizeof(name)));
    show("listen", listen(listener, 3));
    show("bind again", bind(client, (struct sockaddr *)&name, sizeof(name)));
    show("connect", connect(client, (struct sockaddr *)&name, sizeof(name)));
    show("early", send(client, "early", 5, 0));
    show_events("listener", listener);
    const int server = accept(listener, (struct sockaddr *)&who, &len);

    show("accepted from unnamed", (long)len);
    show("read", recv(server, buf, sizeof(buf), 0));
    len = sizeof(who);
    getpeername(client, (struct sockaddr *)&who, &len);
    printf("= peer: %s %u\n", who.sun_path, (unsigned)len);
    show("twice", connect(client, (struct sockaddr *)&name, sizeof(name)));
    close(listener);
    show("still connected", send(server, "x", 1, 0));
    close(server);
    close(client);

    const int a = socket(AF_UNIX, SOCK_DGRAM, 0), b = socket(AF_UNIX, SOCK_DGRAM, 0);

    show("bind datagrams", bind(a, (struct sockaddr *)&other, sizeof(other)));
    show("sendto", sendto(b, "hi", 2, 0, (struct sockaddr *)&other, sizeof(other)));
    show("wrong type",
         connect(socket(AF_UNIX, SOCK_STREAM, 0), (struct sockaddr *)&other, sizeof(other)));
    len = sizeof(who);
    show("recvfrom", recvfrom(a, buf, sizeof(buf), 0, (struct sockaddr *)&who, &len));
    show("from nobody", (long)len);
    show("connect datagrams", connect(b, (struct sockaddr *)&other, sizeof(other)));
    show("send", send(b, "abc", 3, 0));
    close(a);
    show("send to a closed one", send(b, "abc", 3, 0));
    close(b);
    unlink("sock");
    unlink("dgram");
}

static void *later(void *arg)
{
    (void)arg;
    usleep(30000);
    eventfd_write(ends[0], 3);
    return NULL;
}

static void counters(void)
{
    const int fd = eventfd(2, EFD_NONBLOCK), sem = eventfd(2, EFD_SEMAPHORE | EFD_NONBLOCK);
    eventfd_t value = 0;
    uint64_t most = UINT64_MAX;
    pthread_t thread;
    char c;

    show_events("counter", fd);
    show("eventfd_read", eventfd_read(fd, &value) == 0 ? (long)value : -1);
    show("zero", eventfd_read(fd, &value));
    show_events("at zero", fd);
    show("add", eventfd_write(fd, 5));
    show("add", eventfd_write(fd, 6));
    show("sum", eventfd_read(fd, &value) == 0 ? (long)value : -1);
    show("too large", write(fd, &most, 8));
    most--;
    show("largest", write(fd, &most, 8));
    show_events("full", fd);
    show("no room", eventfd_write(fd, 1));
    show("too short", read(fd, &c, 1));
    show("semaphore", eventfd_read(sem, &value) == 0 ? (long)value : -1);
    show("semaphore", eventfd_read(sem, &value) == 0 ? (long)value : -1);
    show("semaphore", eventfd_read(sem, &value) == 0 ? (long)value : -1);
    close(sem);
    close(fd);
    ends[0] = eventfd(0, 0);
    pthread_create(&thread, NULL, later, NULL);
    show("waited for", eventfd_read(ends[0], &value) == 0 ? (long)value : -1);
    pthread_join(thread, NULL);
    close(ends[0]);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    pipes();
    show("pipe", pipe(ends));
    bulk("through a pipe");
    show("pair", socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    bulk("through a pair");
    stream_pair();
    record_pair(SOCK_DGRAM);
    record_pair(SOCK_SEQPACKET);
    names();
    counters();
    return 0;
}
