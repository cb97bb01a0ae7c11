/* Datagrams, and wrong use. Streams: test_sock_tcp.c. */
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
#include "lib/page_alloc.h"
#include "lib/page_frag.h"
#include "lwip/igmp.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/timeouts.h"
#include "net/sock.h"
#include "port/clock.h"
#include "port/cpu.h"
#include "tests/host/support/clock.h"

/* ---- datagrams ---- */

static int udp_on(uint16_t port)
{
    const struct sockaddr_in addr = at(port);
    const int fd = sock_socket(AF_INET, SOCK_DGRAM, 0);

    assert_int_equal(sock_bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
    return fd;
}

static void datagrams_keep_their_bounds_and_sender(void **state)
{
    (void)state;
    char buf[8];
    struct sockaddr_in from;
    socklen_t len = sizeof(from);
    const struct sockaddr_in to = at(PORT);
    const int a = udp_on(PORT), b = udp_on(PORT + 1);

    sock_sendto(b, "one", 3, 0, (const struct sockaddr *)&to, sizeof(to));
    sock_sendto(b, "", 0, 0, (const struct sockaddr *)&to, sizeof(to));
    sock_sendto(b, "three", 5, 0, (const struct sockaddr *)&to, sizeof(to));
    assert_int_equal(sock_recvfrom(a, buf, 8, 0, (struct sockaddr *)&from, &len), 3);
    assert_int_equal(ntohs(from.sin_port), PORT + 1);
    assert_int_equal(receive(a, buf, 8, 0), 0);
    assert_int_equal(receive(a, buf, 2, MSG_PEEK | MSG_TRUNC), 5);
    assert_int_equal(receive(a, buf, 2, 0), 2);
    assert_int_equal(receive(a, buf, 2, MSG_DONTWAIT), -EAGAIN);
    fd_close(a);
    fd_close(b);
}

static void a_datagram_without_a_destination_is_refused(void **state)
{
    (void)state;
    static char big[65508];
    const struct sockaddr_in to = at(PORT);
    const int fd = sock_socket(AF_INET, SOCK_DGRAM, 0);

    assert_int_equal(send_text(fd, "x"), -EDESTADDRREQ);
    assert_int_equal(sock_sendto(fd, big, sizeof(big), 0, (const struct sockaddr *)&to, sizeof(to)),
                     -EMSGSIZE);
    assert_int_equal(sock_listen(fd, 1), -EOPNOTSUPP);
    fd_close(fd);
}

static void a_full_datagram_queue_drops_and_recovers(void **state)
{
    (void)state;
    static char block[1000];
    int received = 0;
    const struct sockaddr_in to = at(PORT);
    const int a = udp_on(PORT), b = udp_on(PORT + 1);

    for (int i = 0; i < 500; i++) {
        sock_sendto(b, block, sizeof(block), 0, (const struct sockaddr *)&to, sizeof(to));
        thread_yield();
    }
    while (receive(a, block, sizeof(block), MSG_DONTWAIT) > 0)
        received++;
    assert_in_range(received, 100, 300);
    sock_sendto(b, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to));
    assert_int_equal(receive(a, block, sizeof(block), 0), 1);
    fd_close(a);
    fd_close(b);
}

/* ---- what is freed with a socket ---- */

static void groups_are_left_with_the_socket(void **state)
{
    (void)state;
    const int fd = sock_socket(AF_INET, SOCK_DGRAM, 0);
    struct ip_mreq req = {.imr_interface.s_addr = htonl(INADDR_LOOPBACK)};
    ip4_addr_t group;

    IP4_ADDR(&group, 239, 1, 2, 3);
    req.imr_multiaddr.s_addr = group.addr;
    assert_int_equal(sock_setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &req, sizeof(req)), 0);
    assert_non_null(igmp_lookfor_group(netif_get_by_index(1), &group));
    fd_close(fd);
    assert_null(igmp_lookfor_group(netif_get_by_index(1), &group));
}

static void a_closed_pair_leaves_no_page(void **state)
{
    (void)state;
    static char block[100000];
    const size_t free_pages = page_free_count();
    int fds[2];

    assert_int_equal(sock_socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
    assert_int_equal(sock_sendto(fds[0], block, sizeof(block), 0, NULL, 0), sizeof(block));
    assert_true(page_free_count() < free_pages - 20);
    fd_close(fds[0]);
    fd_close(fds[1]);
    assert_true(page_free_count() + 20 > free_pages);
}

static void without_memory_a_pair_is_refused(void **state)
{
    (void)state;
    int fds[2];

    net_fixture_exhaust(FRAG_SMALL);
    assert_int_equal(sock_socketpair(AF_UNIX, SOCK_STREAM, 0, fds), -ENOBUFS);
    net_fixture_release();
}

static void *send_record(void *arg)
{
    static char record[100000];

    return (void *)sock_sendto((int)(intptr_t)arg, record, sizeof(record), 0, NULL, 0);
}

/* Whoever waits for room at the other end hears when that end is closed. */
static void a_waiting_sender_hears_of_the_end(void **state)
{
    (void)state;
    void *value;
    int fds[2];

    sock_socketpair(AF_UNIX, SOCK_DGRAM, 0, fds);
    assert_int_equal((intptr_t)send_record((void *)(intptr_t)fds[0]), 100000);
    assert_int_equal((intptr_t)send_record((void *)(intptr_t)fds[0]), 100000);
    struct thread *t = thread_create(send_record, (void *)(intptr_t)fds[0], 0);

    thread_yield();
    fd_close(fds[1]);
    thread_join(t, &value);
    assert_int_equal((intptr_t)value, -ECONNREFUSED);
    fd_close(fds[0]);
}

static void broken_control_data_is_refused(void **state)
{
    (void)state;
    const int fd = sock_socket(AF_INET, SOCK_DGRAM, 0);
    const struct sockaddr_in to = at(PORT);
    struct cmsghdr head = {.cmsg_level = IPPROTO_IP, .cmsg_type = IP_TTL};
    struct iovec iov = {"x", 1};
    char control[64] = {0};
    const size_t lengths[] = {0, 1, sizeof(head) - 1, sizeof(head), CMSG_LEN(3), SIZE_MAX, 65};

    for (size_t i = 0; i < ARRAY_COUNT(lengths); i++) {
        const struct msghdr msg = {.msg_name = (void *)(uintptr_t)&to,
                                   .msg_namelen = sizeof(to),
                                   .msg_iov = &iov,
                                   .msg_iovlen = 1,
                                   .msg_control = control,
                                   .msg_controllen = sizeof(control)};

        head.cmsg_len = lengths[i];
        memcpy(control, &head, sizeof(head));
        assert_int_equal(sock_sendmsg(fd, &msg, 0), -EINVAL);
    }
    fd_close(fd);
}

/* ---- wrong use ---- */

static void wrong_use_has_its_errno(void **state)
{
    (void)state;
    const struct sockaddr_in addr = at(PORT);
    struct sockaddr_in foreign = at(PORT);
    const int fd = sock_socket(AF_INET, SOCK_STREAM, 0);
    char c;

    foreign.sin_addr.s_addr = htonl(0x08080808);
    assert_int_equal(sock_socket(99, SOCK_STREAM, 0), -EAFNOSUPPORT);
    assert_int_equal(sock_socket(AF_INET, SOCK_STREAM, IPPROTO_UDP), -EPROTONOSUPPORT);
    assert_int_equal(sock_bind(99, (const struct sockaddr *)&addr, sizeof(addr)), -EBADF);
    assert_int_equal(sock_bind(fd, (const struct sockaddr *)&addr, 3), -EINVAL);
    assert_int_equal(sock_bind(fd, (const struct sockaddr *)&foreign, sizeof(foreign)),
                     -EADDRNOTAVAIL);
    assert_int_equal(sock_accept(fd, NULL, NULL, 0), -EINVAL);
    assert_int_equal(sock_shutdown(fd, SHUT_WR), -ENOTCONN);
    assert_int_equal(receive(fd, &c, 1, 0), -ENOTCONN);
    assert_int_equal(send_text(fd, "x"), -EPIPE);
    assert_int_equal(fd_seek(fd, 0, SEEK_SET), -ESPIPE);
    fd_close(fd);
}

static void a_missing_address_or_length_is_refused(void **state)
{
    (void)state;
    const int types[] = {SOCK_DGRAM, SOCK_STREAM};

    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        const int fd = sock_socket(AF_INET, types[i], 0);
        int value = 7;
        socklen_t len = (socklen_t)-1;

        assert_int_equal(sock_connect(fd, NULL, 16), -EFAULT);
        assert_int_equal(sock_connect(fd, NULL, 0), -EINVAL);
        assert_int_equal(sock_bind(fd, NULL, 16), -EFAULT);
        assert_int_equal(sock_getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &len), -EINVAL);
        assert_int_equal(value, 7);
        assert_int_equal(sock_getsockopt(fd, IPPROTO_IP, IP_TTL, &value, &len), -EINVAL);
        assert_int_equal(sock_getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, NULL), -EFAULT);
        fd_close(fd);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOCK_TEST(datagrams_keep_their_bounds_and_sender),
        SOCK_TEST(a_datagram_without_a_destination_is_refused),
        SOCK_TEST(a_full_datagram_queue_drops_and_recovers),
        SOCK_TEST(groups_are_left_with_the_socket),
        SOCK_TEST(a_closed_pair_leaves_no_page),
        SOCK_TEST(without_memory_a_pair_is_refused),
        SOCK_TEST(a_waiting_sender_hears_of_the_end),
        SOCK_TEST(broken_control_data_is_refused),
        SOCK_TEST(wrong_use_has_its_errno),
        SOCK_TEST(a_missing_address_or_length_is_refused),
    };
    return cmocka_run_group_tests(tests, sock_test_start, NULL);
}
