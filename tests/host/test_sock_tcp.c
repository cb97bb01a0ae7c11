/* Streams. */
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

static void bytes_go_both_ways(void **state)
{
    (void)state;
    char buf[16];
    struct pair p = pair_open();

    assert_int_equal(send_text(p.client, "hello"), 5);
    assert_int_equal(receive(p.server, buf, sizeof(buf), 0), 5);
    assert_memory_equal(buf, "hello", 5);
    assert_int_equal(fd_write(p.server, "back", 4), 4);
    assert_int_equal(fd_read(p.client, buf, sizeof(buf)), 4);
    assert_memory_equal(buf, "back", 4);
    pair_close(&p);
}

static void names_tell_both_ends(void **state)
{
    (void)state;
    struct sockaddr_in mine, theirs;
    socklen_t len = sizeof(mine);
    struct pair p = pair_open();

    assert_int_equal(sock_getsockname(p.client, (struct sockaddr *)&mine, &len), 0);
    assert_int_equal(len, sizeof(mine));
    assert_int_equal(sock_getpeername(p.server, (struct sockaddr *)&theirs, &len), 0);
    assert_memory_equal(&mine, &theirs, sizeof(mine));
    assert_int_equal(sock_getpeername(p.listener, (struct sockaddr *)&mine, &len), -ENOTCONN);
    pair_close(&p);
}

static void peek_leaves_the_bytes(void **state)
{
    (void)state;
    char buf[16];
    int waiting;
    struct pair p = pair_open();

    send_text(p.client, "abc");
    assert_int_equal(receive(p.server, buf, 2, MSG_PEEK), 2);
    assert_int_equal(fd_ioctl(p.server, FIONREAD, &waiting), 0);
    assert_int_equal(waiting, 3);
    assert_int_equal(receive(p.server, buf, 16, 0), 3);
    assert_memory_equal(buf, "abc", 3);
    pair_close(&p);
}

static void *send_in_parts(void *arg)
{
    for (int i = 0; i < 4; i++) {
        thread_sleep_until(clock_now_us() + 1000);
        send_text((int)(intptr_t)arg, "12345");
    }
    return NULL;
}

static void waitall_waits_for_all(void **state)
{
    (void)state;
    char buf[20];
    struct pair p = pair_open();
    struct thread *t = thread_create(send_in_parts, (void *)(intptr_t)p.client, 0);

    assert_int_equal(receive(p.server, buf, 20, MSG_WAITALL), 20);
    assert_memory_equal(buf, "12345123451234512345", 20);
    thread_join(t, NULL);
    pair_close(&p);
}

static void *echo(void *arg)
{
    const int fd = (int)(intptr_t)arg;
    static char buf[5000];
    ssize_t got;

    while ((got = fd_read(fd, buf, sizeof(buf))) > 0) {
        for (ssize_t done = 0; done < got;)
            done += fd_write(fd, buf + done, (size_t)(got - done));
    }
    return NULL;
}

static void *read_and_compare(void *arg)
{
    const int fd = (int)(intptr_t)arg;
    static uint8_t buf[7001];
    uint32_t at_byte = 0;
    ssize_t got;

    while ((got = fd_read(fd, buf, sizeof(buf))) > 0) {
        for (ssize_t i = 0; i < got; i++)
            assert_int_equal(buf[i], (uint8_t)(at_byte++ * 7));
    }
    return (void *)(uintptr_t)at_byte;
}

static void a_megabyte_comes_back_as_it_went(void **state)
{
    (void)state;
    enum { BYTES = 1024 * 1024 };
    uint8_t *data = malloc(BYTES);
    void *back;
    struct pair p = pair_open();
    struct thread *server = thread_create(echo, (void *)(intptr_t)p.server, 0);
    struct thread *reader = thread_create(read_and_compare, (void *)(intptr_t)p.client, 0);

    for (uint32_t i = 0; i < BYTES; i++)
        data[i] = (uint8_t)(i * 7);
    assert_int_equal(fd_write(p.client, data, BYTES), BYTES);
    assert_int_equal(sock_shutdown(p.client, SHUT_WR), 0);
    thread_join(server, NULL);
    sock_shutdown(p.server, SHUT_WR);
    thread_join(reader, &back);
    assert_int_equal((uintptr_t)back, BYTES);
    free(data);
    pair_close(&p);
}

static void after_the_peers_fin_sending_goes_on(void **state)
{
    (void)state;
    char buf[8];
    struct pair p = pair_open();

    sock_shutdown(p.client, SHUT_WR);
    assert_int_equal(receive(p.server, buf, sizeof(buf), 0), 0);
    assert_true(mask_of(p.server) & POLLRDHUP);
    assert_false(mask_of(p.server) & POLLHUP);
    assert_int_equal(send_text(p.server, "late"), 4);
    assert_int_equal(receive(p.client, buf, sizeof(buf), 0), 4);
    assert_int_equal(send_text(p.client, "x"), -EPIPE);
    pair_close(&p);
}

static void close_delivers_what_was_written(void **state)
{
    (void)state;
    static char block[60000];
    size_t sum = 0;
    ssize_t got;
    struct pair p = pair_open();

    assert_int_equal(fd_write(p.client, block, sizeof(block)), sizeof(block));
    fd_close(p.client);
    while ((got = fd_read(p.server, block, 1000)) > 0)
        sum += (size_t)got;
    assert_int_equal(got, 0);
    assert_int_equal(sum, sizeof(block));
    fd_close(p.server);
    fd_close(p.listener);
}

static void closing_with_unread_bytes_resets(void **state)
{
    (void)state;
    char c;
    struct pair p = pair_open();

    send_text(p.client, "unread");
    thread_yield();
    fd_close(p.server);
    assert_int_equal(receive(p.client, &c, 1, 0), -ECONNRESET);
    assert_int_equal(receive(p.client, &c, 1, 0), 0);
    assert_int_equal(send_text(p.client, "x"), -EPIPE);
    fd_close(p.client);
    fd_close(p.listener);
}

static void linger_zero_resets(void **state)
{
    (void)state;
    const struct linger linger = {1, 0};
    struct pair p = pair_open();

    sock_setsockopt(p.client, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    fd_close(p.client);
    thread_yield();
    thread_yield();
    assert_true(mask_of(p.server) & POLLERR);
    assert_int_equal(error_of(p.server), ECONNRESET);
    assert_int_equal(error_of(p.server), 0);
    fd_close(p.server);
    fd_close(p.listener);
}

static void a_refused_connect_may_be_tried_again(void **state)
{
    (void)state;
    const struct sockaddr_in addr = at(PORT);
    const int fd = sock_socket(AF_INET, SOCK_STREAM, 0);

    assert_int_equal(sock_connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), -ECONNREFUSED);
    const int listener = listen_on(PORT, 1);

    assert_int_equal(sock_connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), 0);
    assert_int_equal(sock_connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), -EISCONN);
    fd_close(fd);
    fd_close(listener);
}

static void a_nonblocking_connect_tells_by_poll(void **state)
{
    (void)state;
    const struct sockaddr_in addr = at(PORT);
    const int listener = listen_on(PORT, 1);
    const int fd = sock_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    struct pollfd p = {fd, POLLOUT, 0};

    assert_int_equal(sock_connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), -EINPROGRESS);
    assert_int_equal(sock_connect(fd, (const struct sockaddr *)&addr, sizeof(addr)), -EALREADY);
    assert_int_equal(fd_poll(&p, 1, clock_now_us() + 1000000), 1);
    assert_int_equal(p.revents, POLLOUT);
    assert_int_equal(error_of(fd), 0);
    fd_close(fd);
    fd_close(listener);
}

static void nonblocking_calls_say_eagain(void **state)
{
    (void)state;
    static char block[65536];
    char c;
    ssize_t sent = 0, step;
    struct pair p = pair_open();

    assert_int_equal(receive(p.client, &c, 1, MSG_DONTWAIT), -EAGAIN);
    assert_int_equal(fd_set_flags(p.listener, O_NONBLOCK), 0);
    assert_int_equal(sock_accept(p.listener, NULL, NULL, 0), -EAGAIN);
    fd_set_flags(p.client, O_NONBLOCK);
    while ((step = fd_write(p.client, block, sizeof(block))) > 0)
        sent += step;
    assert_int_equal(step, -EAGAIN);
    assert_true(sent > 65536);
    assert_false(mask_of(p.client) & POLLOUT);
    while (sent > 0)
        sent -= fd_read(p.server, block, sizeof(block));
    assert_int_equal(sent, 0);
    assert_true(mask_of(p.client) & POLLOUT);
    pair_close(&p);
}

static void receive_time_out_is_eagain(void **state)
{
    (void)state;
    char c;
    const struct timeval tv = {.tv_usec = 3000};
    struct pair p = pair_open();

    sock_setsockopt(p.client, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
    assert_int_equal(receive(p.client, &c, 1, 0), -EAGAIN);
    pair_close(&p);
}

static void single_bytes_do_not_pin_a_buffer_each(void **state)
{
    (void)state;
    static char buf[4000];
    int on = 1;
    struct pair p = pair_open();

    sock_setsockopt(p.client, IPPROTO_TCP, 1 /* TCP_NODELAY */, &on, sizeof(on));
    const uint64_t before = net_fixture_outstanding();

    for (int i = 0; i < 3000; i++) {
        const char c = (char)i;

        assert_int_equal(fd_write(p.client, &c, 1), 1);
        thread_yield();
    }
    assert_true(net_fixture_outstanding() - before < 20);
    assert_int_equal(receive(p.server, buf, 3000, MSG_WAITALL), 3000);
    for (int i = 0; i < 3000; i++)
        assert_int_equal(buf[i], (char)i);
    pair_close(&p);
}

static void excess_connections_wait_and_are_not_reset(void **state)
{
    (void)state;
    enum { CLIENTS = 20 };
    int client[CLIENTS], accepted = 0;
    const struct sockaddr_in addr = at(PORT);
    const int listener = listen_on(PORT, 5);

    for (int i = 0; i < CLIENTS; i++) {
        client[i] = sock_socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
        (void)sock_connect(client[i], (const struct sockaddr *)&addr, sizeof(addr));
    }
    thread_sleep_until(clock_now_us() + 2000);
    while (accepted < CLIENTS) {
        struct pollfd p = {listener, POLLIN, 0};

        host_clock_advance(200000); /* until the unanswered ones send their SYN again */
        if (fd_poll(&p, 1, 0) == 1) {
            const int fd = sock_accept(listener, NULL, NULL, 0);

            assert_true(fd >= 0);
            accepted++;
            fd_close(fd);
        }
    }
    for (int i = 0; i < CLIENTS; i++) {
        assert_int_equal(error_of(client[i]), 0);
        fd_close(client[i]);
    }
    fd_close(listener);
}

static void closing_a_listener_drops_what_waits(void **state)
{
    (void)state;
    char c;
    const int listener = listen_on(PORT, 5);
    const int a = connect_to(PORT), b = connect_to(PORT);

    send_text(a, "x");
    thread_yield();
    fd_close(listener);
    assert_int_equal(receive(a, &c, 1, 0), -ECONNRESET);
    assert_int_equal(receive(b, &c, 1, 0), -ECONNRESET);
    fd_close(a);
    fd_close(b);
}

static void a_reset_connection_leaves_the_accept_queue(void **state)
{
    (void)state;
    const struct linger linger = {1, 0};
    const int listener = listen_on(PORT, 5);
    const int fd = connect_to(PORT);

    sock_setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger));
    fd_close(fd);
    thread_yield();
    thread_yield();
    assert_int_equal(mask_of(listener), 0);
    fd_close(listener);
}

static void two_listeners_on_one_port_are_refused(void **state)
{
    (void)state;
    int on = 1;
    const struct sockaddr_in addr = at(PORT);
    const struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
    const int listener = listen_on(PORT, 1);
    const int fd = sock_socket(AF_INET, SOCK_STREAM, 0);
    const int fd6 = sock_socket(AF_INET6, SOCK_STREAM, 0);

    sock_setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    assert_int_equal(sock_bind(fd, (const struct sockaddr *)&addr, sizeof(addr)), -EADDRINUSE);
    assert_int_equal(sock_bind(fd6, (const struct sockaddr *)&any6, sizeof(any6)), -EADDRINUSE);
    sock_setsockopt(fd6, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on));
    assert_int_equal(sock_bind(fd6, (const struct sockaddr *)&any6, sizeof(any6)), 0);
    fd_close(fd);
    fd_close(fd6);
    fd_close(listener);
}

static void a_dual_stack_listener_shows_mapped_addresses(void **state)
{
    (void)state;
    const struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};
    struct sockaddr_in6 from;
    socklen_t len = sizeof(from);
    const int listener = sock_socket(AF_INET6, SOCK_STREAM, 0);

    assert_int_equal(sock_bind(listener, (const struct sockaddr *)&any, sizeof(any)), 0);
    assert_int_equal(sock_listen(listener, 4), 0);
    const int client = connect_to(PORT);
    const int server = sock_accept(listener, (struct sockaddr *)&from, &len, 0);

    assert_true(server >= 0);
    assert_int_equal(from.sin6_family, AF_INET6);
    assert_true(IN6_IS_ADDR_V4MAPPED(&from.sin6_addr));
    fd_close(client);
    fd_close(server);
    fd_close(listener);
}

static void without_memory_for_a_socket_the_call_fails(void **state)
{
    (void)state;
    net_fixture_exhaust(2);
    assert_int_equal(sock_socket(AF_INET, SOCK_STREAM, 0), -ENOBUFS);
    net_fixture_release();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SOCK_TEST(bytes_go_both_ways),
        SOCK_TEST(names_tell_both_ends),
        SOCK_TEST(peek_leaves_the_bytes),
        SOCK_TEST(waitall_waits_for_all),
        SOCK_TEST(a_megabyte_comes_back_as_it_went),
        SOCK_TEST(after_the_peers_fin_sending_goes_on),
        SOCK_TEST(close_delivers_what_was_written),
        SOCK_TEST(closing_with_unread_bytes_resets),
        SOCK_TEST(linger_zero_resets),
        SOCK_TEST(a_refused_connect_may_be_tried_again),
        SOCK_TEST(a_nonblocking_connect_tells_by_poll),
        SOCK_TEST(nonblocking_calls_say_eagain),
        SOCK_TEST(receive_time_out_is_eagain),
        SOCK_TEST(single_bytes_do_not_pin_a_buffer_each),
        SOCK_TEST(excess_connections_wait_and_are_not_reset),
        SOCK_TEST(closing_a_listener_drops_what_waits),
        SOCK_TEST(a_reset_connection_leaves_the_accept_queue),
        SOCK_TEST(two_listeners_on_one_port_are_refused),
        SOCK_TEST(a_dual_stack_listener_shows_mapped_addresses),
        SOCK_TEST(without_memory_for_a_socket_the_call_fails),
    };
    return cmocka_run_group_tests(tests, sock_test_start, NULL);
}
