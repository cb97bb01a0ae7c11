/*
 * Sockets, descriptors and threads as a program sees them. Plain POSIX: built for Linux as well, it must print the same
 * lines there (test_posix.py).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

#include "../error_name.h"

enum { PORT = 7100, BULK = 3 * 1024 * 1024 };

static void show(const char *what, long value)
{
    if (value < 0)
        printf("posix: %s: %s\n", what, error_name(errno));
    else
        printf("posix: %s: %ld\n", what, value);
}

static struct sockaddr_in at(in_port_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static int tcp(void)
{
    return socket(AF_INET, SOCK_STREAM, 0);
}

static int bind_to(int fd, in_port_t port)
{
    const struct sockaddr_in addr = at(port);

    return bind(fd, (const struct sockaddr *)&addr, sizeof(addr));
}

static int connect_to(int fd, in_port_t port)
{
    const struct sockaddr_in addr = at(port);

    return connect(fd, (const struct sockaddr *)&addr, sizeof(addr));
}

static int listen_on(in_port_t port)
{
    const int fd = tcp(), on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind_to(fd, port) || listen(fd, 8))
        return -1;
    return fd;
}

static void wrong_use(void)
{
    const int fd = tcp();
    char c = 0;

    show("close of nothing", close(77));
    show("bind of no socket", bind_to(1, PORT));
    show("recv unconnected", recv(fd, &c, 1, 0));
    show("send unconnected", send(fd, &c, 1, MSG_NOSIGNAL));
    show("shutdown unconnected", shutdown(fd, SHUT_WR));
    show("accept without listen", accept(fd, NULL, NULL));
    show("connect to nobody", connect_to(fd, PORT + 9));
    show("unknown option", setsockopt(fd, SOL_SOCKET, 9999, &c, sizeof(int)));
    show("unknown family", socket(99, SOCK_STREAM, 0));
    close(fd);
}

static void descriptors(void)
{
    const int a = tcp(), b = dup(a), c = fcntl(a, F_DUPFD, 40);

    show("lowest number", b - a);
    show("F_DUPFD from 40", c);
    close(a);
    close(b);
    show("dup2", dup2(c, 50));
    close(c);
    show("still open", fcntl(50, F_GETFL) >= 0);
    fcntl(50, F_SETFL, O_NONBLOCK);
    show("nonblock kept", (fcntl(50, F_GETFL) & O_NONBLOCK) != 0);
    show("close", close(50));
    show("closed again", close(50));
}

static int pair[2];

static void open_pair(void)
{
    const int listener = listen_on(PORT);

    pair[0] = tcp();
    show("connect", connect_to(pair[0], PORT));
    pair[1] = accept(listener, NULL, NULL);
    close(listener);
}

static void close_pair(void)
{
    close(pair[0]);
    close(pair[1]);
}

static short events_of(int fd)
{
    struct pollfd p = {fd, POLLIN | POLLOUT, 0};

    usleep(20000);
    poll(&p, 1, 0);
    return p.revents;
}

static void streams(void)
{
    char buf[32] = "";
    int waiting = 0;
    struct iovec iov[2] = {{buf, 3}, {buf + 8, 10}};

    open_pair();
    show("connect again", connect_to(pair[0], PORT));
    show("events of a fresh one", events_of(pair[1]));
    show("send", send(pair[0], "abcdef", 6, 0));
    show("events with data", events_of(pair[1]));
    ioctl(pair[1], FIONREAD, &waiting);
    show("FIONREAD", waiting);
    show("peek", recv(pair[1], buf, 4, MSG_PEEK));
    show("readv", readv(pair[1], iov, 2));
    printf("posix: read %.3s %.3s\n", buf, buf + 8);
    show("nothing there", recv(pair[1], buf, 1, MSG_DONTWAIT));
    show("shutdown", shutdown(pair[0], SHUT_WR));
    show("events at its end", events_of(pair[1]));
    show("end of file", read(pair[1], buf, 1));
    show("send after shutdown", send(pair[0], "x", 1, MSG_NOSIGNAL));
    show("answer", write(pair[1], "late", 4));
    show("answer read", read(pair[0], buf, sizeof(buf)));
    close_pair();
}

static void resets(void)
{
    char c;

    open_pair();
    send(pair[0], "unread", 6, 0);
    usleep(20000);
    close(pair[1]);
    usleep(20000);
    show("recv of a reset one", recv(pair[0], &c, 1, 0));
    show("and then", recv(pair[0], &c, 1, 0));
    show("send on it", send(pair[0], "x", 1, MSG_NOSIGNAL));
    close(pair[0]);
}

static void time_outs(void)
{
    const struct timeval tv = {.tv_usec = 50000};
    struct timeval none = {0};
    fd_set set;
    char c;

    open_pair();
    setsockopt(pair[0], SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
    show("SO_RCVTIMEO", recv(pair[0], &c, 1, 0));
    FD_ZERO(&set);
    FD_SET(pair[0], &set);
    show("select of nothing", select(pair[0] + 1, &set, NULL, NULL, &none));
    send(pair[1], "x", 1, 0);
    FD_SET(pair[0], &set);
    show("select", select(pair[0] + 1, &set, NULL, NULL, NULL));
    show("is set", FD_ISSET(pair[0], &set) != 0);
    FD_SET(60, &set);
    show("select of a closed one", select(61, &set, NULL, NULL, &none));
    close_pair();
}

static void *send_bulk(void *arg)
{
    static char block[BULK];

    (void)arg;
    show("bulk sent", write(pair[0], block, BULK) == BULK);
    shutdown(pair[0], SHUT_WR);
    return NULL;
}

static void bulk(void)
{
    static char block[10000];
    pthread_t sender;
    long sum = 0, got;

    open_pair();
    pthread_create(&sender, NULL, send_bulk, NULL);
    usleep(50000); /* it fills the buffers, and waits */
    while ((got = read(pair[1], block, sizeof(block))) > 0)
        sum += got;
    pthread_join(sender, NULL);
    show("bulk received", sum);
    close_pair();
}

static void datagrams(void)
{
    static char big[70000];
    char buf[8];
    const int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
    const struct sockaddr_in to = at(PORT);

    bind_to(a, PORT);
    show("no destination", send(b, "x", 1, 0));
    show("too long", sendto(b, big, sizeof(big), 0, (const struct sockaddr *)&to, sizeof(to)));
    show("sendto", sendto(b, "12345", 5, 0, (const struct sockaddr *)&to, sizeof(to)));
    show("largest", sendto(b, big, 65507, 0, (const struct sockaddr *)&to, sizeof(to)));
    show("cut, true length", recv(a, buf, 3, MSG_TRUNC));
    show("largest came", recv(a, big, sizeof(big), 0));
    show("listen", listen(a, 1));
    close(a);
    close(b);
}

/* ---- threads ---- */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static sem_t sem;
static int turn, once_count, destroyed;

static void count_once(void)
{
    once_count++;
}

static void destroy(void *value)
{
    destroyed += *(int *)value;
}

static void *take_turns(void *arg)
{
    const int mine = *(int *)arg;

    pthread_setspecific(key, arg);
    pthread_once(&once, count_once);
    errno = mine;
    pthread_mutex_lock(&mutex);
    while (turn != mine)
        pthread_cond_wait(&cond, &mutex);
    printf("posix: turn %d, errno its own: %d\n", mine, errno == mine);
    turn++;
    pthread_cond_broadcast(&cond);
    pthread_mutex_unlock(&mutex);
    sem_post(&sem);
    return arg;
}

static void threads(void)
{
    enum { THREADS = 5 };
    pthread_t thread[THREADS];
    int number[THREADS];
    void *value;

    pthread_key_create(&key, destroy);
    sem_init(&sem, 0, 0);
    for (int i = THREADS - 1; i >= 0; i--) {
        number[i] = i;
        pthread_create(&thread[i], NULL, take_turns, &number[i]);
    }
    for (int i = 0; i < THREADS; i++)
        sem_wait(&sem);
    for (int i = 0; i < THREADS; i++) {
        pthread_join(thread[i], &value);
        show("joined", *(int *)value);
    }
    show("once", once_count);
    show("destructors", destroyed);
}

static void locks(void)
{
    pthread_mutexattr_t attr;
    pthread_mutex_t checked;
    struct timespec until;

    pthread_mutexattr_init(&attr);
    pthread_mutexattr_settype(&attr, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&checked, &attr);
    printf("posix: unlock of a free one: %s\n", error_name(pthread_mutex_unlock(&checked)));
    pthread_mutex_lock(&checked);
    printf("posix: lock twice: %s\n", error_name(pthread_mutex_lock(&checked)));
    printf("posix: trylock: %s\n", error_name(pthread_mutex_trylock(&checked)));
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += until.tv_nsec < 900000000 ? 50000000 : 0;
    printf("posix: timed wait: %s\n", error_name(pthread_cond_timedwait(&cond, &checked, &until)));
    printf("posix: still ours: %s\n", error_name(pthread_mutex_unlock(&checked)));
}

static void addresses(void)
{
    static const char *const texts[] = {"127.0.0.1", "1.2.3",     "0x7f.1", "256.1.1.1",
                                        "1.2.3.4.5", "010.0.0.1", "",       "1.2.3.4 x"};
    static const char *const six[] = {"::1", "fe80::1:2", "::ffff:1.2.3.4", "1::2::3",
                                      "2001:db8:0:0:1::"};
    char text[INET6_ADDRSTRLEN];
    struct in6_addr addr;
    struct in_addr old;

    for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++)
        printf("posix: %s: %08x %d\n", texts[i], (unsigned)ntohl(inet_addr(texts[i])),
               inet_pton(AF_INET, texts[i], &old));
    for (size_t i = 0; i < sizeof(six) / sizeof(six[0]); i++) {
        const int ok = inet_pton(AF_INET6, six[i], &addr);

        printf("posix: %s: %d %s\n", six[i], ok,
               ok ? inet_ntop(AF_INET6, &addr, text, sizeof(text)) : "");
    }
    show("no room for the text", inet_ntop(AF_INET6, &in6addr_loopback, text, 2) != NULL);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    addresses();
    wrong_use();
    descriptors();
    streams();
    resets();
    time_outs();
    bulk();
    datagrams();
    threads();
    locks();
    return 0;
}
