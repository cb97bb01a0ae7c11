/*
 * iperf3 closes its listening socket after each test and opens another. A client that connects in between is refused, and one that
 * connected a moment before is reset: on a slow processor that is milliseconds, and whoever runs one test right behind another meets it.
 * So the socket is kept instead, with whoever waits in it, and handed out again when iperf3 asks for the same one.
 *
 * Done at link time (--wrap), because iperf3's source stays as it is. Only the thread that runs the server comes here.
 */
#include "apps/iperf3/listener.h"

#include <errno.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "apps/iperf3/watch.h"
#include "lib/log.h"

enum { REFUSED_WAIT_US = 200 * 1000, COOKIE_BYTES = 37 };

int __real_netannounce(int domain, int proto, const char *local, const char *bind_dev, int port);
int __real_close(int fd);
int __real_bind(int fd, const struct sockaddr *addr, socklen_t len);
int __wrap_netannounce(int domain, int proto, const char *local, const char *bind_dev, int port);
int __wrap_close(int fd);
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len);

static struct {
    int fd; /* the listener, open or kept; -1: none */
    bool kept;
    int domain, port;
} listener = {.fd = -1};

static bool has_listened; /* once: then it was no fault of the arguments */

static void let_go(void)
{
    if (listener.fd >= 0 && listener.kept)
        __real_close(listener.fd);
    listener.fd = -1;
    listener.kept = false;
}

int __wrap_netannounce(int domain, int proto, const char *local, const char *bind_dev, int port)
{
    if (proto != SOCK_STREAM)
        return __real_netannounce(domain, proto, local, bind_dev, port);
    if (listener.kept && listener.domain == domain && listener.port == port) {
        listener.kept = false;
        return listener.fd;
    }
    let_go();
    for (;;) {
        listener.fd = __real_netannounce(domain, proto, local, bind_dev, port);
        if (listener.fd >= 0 || !has_listened)
            break; /* iperf3 would end for good, and this server ends never: a lack of memory passes */
        log_limited(LOG_WARN, "iperf3", "cannot listen on %d: error %d; trying again", port, errno);
        sleep(1);
    }
    has_listened = has_listened || listener.fd >= 0;
    listener.domain = domain;
    listener.port = port;
    return listener.fd;
}

/* Say goodbye to a client that was refused: read what it says, for a moment at most. */
static void hear_out(int fd)
{
    const struct timeval moment = {.tv_usec = REFUSED_WAIT_US};
    char cookie[COOKIE_BYTES];

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &moment, sizeof moment);
    recv(fd, cookie, sizeof cookie, MSG_WAITALL);
}

int __wrap_close(int fd)
{
    const struct linger at_once = {.l_onoff = 1};

    if (fd >= 0 && fd == listener.fd) {
        listener.kept = true;
        return 0;
    }
    if (watch_refuses(fd))
        hear_out(fd);
    if (watch_aborts(fd))
        setsockopt(fd, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once);
    return __real_close(fd);
}

int listener_open(int port)
{
    const int fd = __wrap_netannounce(AF_UNSPEC, SOCK_STREAM, NULL, NULL, port);

    return fd < 0 ? -errno : __wrap_close(fd);
}

/* iperf3 opens a listener of its own for tests with a window or a segment size: then ours must go after all. */
int __wrap_bind(int fd, const struct sockaddr *addr, socklen_t len)
{
    const int result = __real_bind(fd, addr, len);

    if (result == 0 || errno != EADDRINUSE || !listener.kept)
        return result;
    let_go();
    return __real_bind(fd, addr, len);
}
