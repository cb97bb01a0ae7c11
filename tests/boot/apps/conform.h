/*
 * For the programs conform_*: plain POSIX (and Linux's extensions), built for Linux as well, where they must print the same
 * lines (test_conform.py). What is compared begins with "= ".
 */
#ifndef TESTS_BOOT_CONFORM_H
#define TESTS_BOOT_CONFORM_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "error_name.h"

/* A result, or the errno of a negative one. */
static inline void show(const char *what, long value)
{
    if (value < 0)
        printf("= %s: %s\n", what, error_name(errno));
    else
        printf("= %s: %ld\n", what, value);
}

static inline struct sockaddr_in at(in_port_t port)
{
    return (struct sockaddr_in){
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
}

static inline int bind_to(int fd, in_port_t port)
{
    const struct sockaddr_in addr = at(port);

    return bind(fd, (const struct sockaddr *)&addr, sizeof(addr));
}

static inline int connect_to(int fd, in_port_t port)
{
    const struct sockaddr_in addr = at(port);

    return connect(fd, (const struct sockaddr *)&addr, sizeof(addr));
}

static inline int listen_on(in_port_t port)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0), on = 1;

    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    if (bind_to(fd, port) || listen(fd, 8))
        return -1;
    return fd;
}

/* Two ends of one TCP connection. */
static inline void pair_tcp(int pair[2], in_port_t port)
{
    const int listener = listen_on(port);

    pair[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (connect_to(pair[0], port))
        show("connect", -1);
    pair[1] = accept(listener, NULL, NULL);
    close(listener);
}

#endif
