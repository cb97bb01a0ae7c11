/* epoll: level, edge, one-shot; what leaves a set by itself; sets within sets; many. */
#include "tests/boot/apps/conform.h"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>

enum { PORT = 7200, MANY = 400 };

static int add(int set, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};

    return epoll_ctl(set, EPOLL_CTL_ADD, fd, &event);
}

static int modify(int set, int fd, uint32_t events)
{
    struct epoll_event event = {.events = events, .data.fd = fd};

    return epoll_ctl(set, EPOLL_CTL_MOD, fd, &event);
}

/* What one wait of up to 100 ms tells: how many, and the events of the first. */
static void show_wait(const char *what, int set)
{
    struct epoll_event events[8];
    const int count = epoll_wait(set, events, 8, 100);

    if (count <= 0) {
        show(what, count);
        return;
    }
    printf("= %s: %d%s%s%s%s%s\n", what, count, events[0].events & EPOLLIN ? " in" : "",
           events[0].events & EPOLLOUT ? " out" : "", events[0].events & EPOLLERR ? " err" : "",
           events[0].events & EPOLLHUP ? " hup" : "",
           events[0].events & EPOLLRDHUP ? " rdhup" : "");
}

static void mistakes(void)
{
    struct epoll_event event = {.events = EPOLLIN};
    int fds[2];
    const int set = epoll_create1(EPOLL_CLOEXEC);

    pipe(fds);
    show("close on exec", fcntl(set, F_GETFD) == FD_CLOEXEC);
    show("bad flags", epoll_create1(77));
    show("bad size", epoll_create(0));
    show("no set", epoll_ctl(fds[0], EPOLL_CTL_ADD, fds[1], &event));
    show("no file", epoll_ctl(set, EPOLL_CTL_ADD, 99, &event));
    show("itself", epoll_ctl(set, EPOLL_CTL_ADD, set, &event));
    show("change of none", epoll_ctl(set, EPOLL_CTL_MOD, fds[0], &event));
    show("removal of none", epoll_ctl(set, EPOLL_CTL_DEL, fds[0], &event));
    show("add", epoll_ctl(set, EPOLL_CTL_ADD, fds[0], &event));
    show("add twice", epoll_ctl(set, EPOLL_CTL_ADD, fds[0], &event));
    show("bad op", epoll_ctl(set, 9, fds[0], &event));
    show("no room", epoll_wait(set, &event, 0, 0));
    show("wait on no set", epoll_wait(fds[0], &event, 1, 0));
    show("wait on no file", epoll_wait(99, &event, 1, 0));
    close(set);
    close(fds[0]);
    close(fds[1]);
}

static void ways(void)
{
    const int set = epoll_create1(0);
    char buf[8];
    int fds[2];

    pipe(fds);
    add(set, fds[0], EPOLLIN);
    show_wait("nothing", set);
    write(fds[1], "ab", 2);
    show_wait("level", set);
    show_wait("level again", set);
    read(fds[0], buf, 1);
    show_wait("some left", set);
    read(fds[0], buf, 1);
    show_wait("all read", set);
    show("to edge", modify(set, fds[0], EPOLLIN | EPOLLET));
    write(fds[1], "c", 1);
    show_wait("edge", set);
    show_wait("edge again", set);
    write(fds[1], "d", 1);
    show_wait("new edge", set);
    show("touched", modify(set, fds[0], EPOLLIN | EPOLLET));
    show_wait("told anew", set);
    show("to one-shot", modify(set, fds[0], EPOLLIN | EPOLLONESHOT));
    show_wait("one shot", set);
    show_wait("no second", set);
    write(fds[1], "e", 1);
    show_wait("whatever comes", set);
    show("armed again", modify(set, fds[0], EPOLLIN | EPOLLONESHOT));
    show_wait("second shot", set);
    show("level", modify(set, fds[0], EPOLLIN));
    close(fds[1]);
    show_wait("hung up", set);
    while (read(fds[0], buf, sizeof(buf)) > 0)
        ;
    show_wait("without data", set);
    show("nothing asked", modify(set, fds[0], 0));
    show_wait("told all the same", set);
    show("removed", epoll_ctl(set, EPOLL_CTL_DEL, fds[0], NULL));
    show_wait("gone", set);
    close(fds[0]);
    close(set);
}

static void leaving(void)
{
    const int set = epoll_create1(0);
    int fds[2];

    pipe(fds);
    write(fds[1], "x", 1);
    add(set, fds[0], EPOLLIN);
    const int copy = dup(fds[0]);

    close(fds[0]);
    show_wait("open by its copy", set);
    close(copy);
    show_wait("closed", set);
    close(fds[1]);
    pipe(fds);
    show("same number, added anew", add(set, fds[0], EPOLLIN));
    const int other = dup(fds[0]);

    show("the copy too", add(set, other, EPOLLIN));
    write(fds[1], "x", 1);
    show_wait("both", set);
    close(set);
    show("readable without the set", read(fds[0], &(char){0}, 1));
    close(fds[0]);
    close(fds[1]);
    close(other);
}

static void nested(void)
{
    int sets[3], fds[2];
    struct pollfd p;

    for (int i = 0; i < 3; i++)
        sets[i] = epoll_create1(0);
    pipe(fds);
    show("set in a set", add(sets[0], sets[1], EPOLLIN));
    show("and on", add(sets[1], sets[2], EPOLLIN));
    show("round", add(sets[2], sets[0], EPOLLIN));
    add(sets[2], fds[0], EPOLLIN);
    show_wait("outer, nothing", sets[0]);
    write(fds[1], "x", 1);
    show_wait("outer", sets[0]);
    p = (struct pollfd){sets[1], POLLIN, 0};
    show("poll of a set", poll(&p, 1, 0));
    read(fds[0], &(char){0}, 1);
    show("no more", poll(&p, 1, 0));
    show_wait("outer, no more", sets[0]);
    for (int i = 0; i < 3; i++)
        close(sets[i]);
    close(fds[0]);
    close(fds[1]);
}

static void sockets(void)
{
    const int set = epoll_create1(0), listener = listen_on(PORT);
    const int client = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);

    add(set, listener, EPOLLIN);
    show("connect", connect_to(client, PORT));
    show_wait("listener", set);
    const int server = accept4(listener, NULL, NULL, SOCK_NONBLOCK);

    epoll_ctl(set, EPOLL_CTL_DEL, listener, NULL);
    add(set, client, EPOLLIN | EPOLLOUT | EPOLLRDHUP | EPOLLET);
    show_wait("connected", set);
    show_wait("no second edge", set);
    send(server, "hello", 5, 0);
    show_wait("data", set);
    shutdown(server, SHUT_WR);
    show_wait("end", set);
    close(server);
    close(client);
    show_wait("closed", set);
    close(listener);
    close(set);
}

/* ---- many, and threads ---- */

static int many[MANY];

static void crowd(void)
{
    struct epoll_event events[MANY];
    const int set = epoll_create1(0);
    int sum = 0, rounds = 0;

    for (int i = 0; i < MANY; i++) {
        many[i] = eventfd(0, EFD_NONBLOCK);
        add(set, many[i], EPOLLIN);
    }
    for (int i = 0; i < MANY; i += 3)
        eventfd_write(many[i], 1);
    show("ready", epoll_wait(set, events, MANY, 100));
    while (sum < 2 * MANY && rounds < 10 * MANY) { /* a few at a time: all get their turn */
        const int count = epoll_wait(set, events, 5, 0);

        for (int i = 0; i < count; i++)
            sum += events[i].data.fd != many[0];
        rounds++;
    }
    show("in turn", sum >= 2 * MANY);
    for (int i = 0; i < MANY; i++)
        close(many[i]);
    show("all closed", epoll_wait(set, events, MANY, 0));
    close(set);
}

static int shared, signalled[2], woken;

static void *waiter(void *arg)
{
    struct epoll_event event;

    (void)arg;
    if (epoll_wait(shared, &event, 1, 2000) == 1)
        __atomic_fetch_add(&woken, 1, __ATOMIC_RELAXED);
    return NULL;
}

static void threads(void)
{
    pthread_t thread[2];

    shared = epoll_create1(0);
    for (int i = 0; i < 2; i++) {
        signalled[i] = eventfd(0, EFD_NONBLOCK);
        add(shared, signalled[i], EPOLLIN | EPOLLONESHOT);
        pthread_create(&thread[i], NULL, waiter, NULL);
    }
    usleep(50000);
    for (int i = 0; i < 2; i++)
        eventfd_write(signalled[i], 1);
    for (int i = 0; i < 2; i++)
        pthread_join(thread[i], NULL);
    show("each thread got one", woken);
    for (int i = 0; i < 2; i++)
        close(signalled[i]);
    close(shared);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    mistakes();
    ways();
    leaving();
    nested();
    sockets();
    crowd();
    threads();
    return 0;
}
