#include "tests/host/support/sock_fixture.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/time.h>

#include "lib/fd.h"
#include "lib/thread.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/timeouts.h"
#include "net/sock.h"
#include "port/clock.h"
#include "port/cpu.h"
#include "tests/host/support/clock.h"

enum { PATIENCE = 2000 };

static void turn_lwip(uint64_t deadline_us)
{
    netif_poll_all();
    sys_check_timeouts();
    if (deadline_us > 0 && thread_ready_count() == 0)
        cpu_idle(deadline_us, NULL, NULL);
}

int sock_test_start(void **state)
{
    const int err = net_fixture_start(state);

    thread_set_idle(turn_lwip);
    return err;
}

/* Let lwIP forget connections in TIME-WAIT: minutes, in no time. */
int sock_test_after(void **state)
{
    int rest = 4; /* turns in which lwIP's TCP timer stops, and gives its memory back */

    for (int i = 0; i < PATIENCE && rest > 0; i++) {
        host_clock_advance(1000000);
        thread_yield();
        rest -= !tcp_active_pcbs && !tcp_tw_pcbs;
    }
    assert_int_equal(rest, 0);
    assert_null(tcp_listen_pcbs.pcbs);
    assert_null(tcp_bound_pcbs);
    assert_int_equal(fd_open_count(), 0);
    return net_fixture_after(state);
}

struct sockaddr_in at(uint16_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

int listen_on(uint16_t port, int backlog)
{
    const struct sockaddr_in addr = at(port);
    const int fd = sock_socket(AF_INET, SOCK_STREAM, 0);

    assert_true(fd >= 0);
    assert_int_equal(sock_bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(sock_listen(fd, backlog), 0);
    return fd;
}

int connect_to(uint16_t port)
{
    const struct sockaddr_in addr = at(port);
    const int fd = sock_socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(sock_connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
    return fd;
}

struct pair pair_open(void)
{
    struct pair p = {.listener = listen_on(PORT, 8)};

    p.client = connect_to(PORT);
    p.server = sock_accept(p.listener, NULL, NULL, 0);
    assert_true(p.server >= 0);
    return p;
}

void pair_close(struct pair *p)
{
    assert_int_equal(fd_close(p->client), 0);
    assert_int_equal(fd_close(p->server), 0);
    assert_int_equal(fd_close(p->listener), 0);
}

ssize_t send_text(int fd, const char *text)
{
    return sock_sendto(fd, text, strlen(text), 0, NULL, 0);
}

ssize_t receive(int fd, void *buf, size_t len, int flags)
{
    return sock_recvfrom(fd, buf, len, flags, NULL, NULL);
}

int error_of(int fd)
{
    int error = -1;
    socklen_t len = sizeof(error);

    assert_int_equal(sock_getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len), 0);
    return error;
}

short mask_of(int fd)
{
    struct pollfd p = {fd, POLLIN | POLLOUT | POLLRDHUP, 0};

    (void)fd_poll(&p, 1, 0);
    return p.revents;
}
