/*
 * Two sockets of one machine talk over lwIP's loopback interface; the idle hook turns lwIP. For the tests of net/sock*.c.
 */
#ifndef TESTS_SOCK_FIXTURE_H
#define TESTS_SOCK_FIXTURE_H

#include "tests/host/support/net_fixture.h"

#include <netinet/in.h>
#include <sys/types.h>

enum { PORT = 7000 };

struct pair {
    int listener, client, server;
};

int sock_test_start(void **state);
int sock_test_after(void **state);
struct sockaddr_in at(uint16_t port);
int listen_on(uint16_t port, int backlog);
int connect_to(uint16_t port);
struct pair pair_open(void);
void pair_close(struct pair *p);
ssize_t send_text(int fd, const char *text);
ssize_t receive(int fd, void *buf, size_t len, int flags);
int error_of(int fd);
short mask_of(int fd);

#define SOCK_TEST(name) cmocka_unit_test_setup_teardown(name, net_fixture_before, sock_test_after)

#endif
