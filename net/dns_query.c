#include <netinet/in.h>

#include "net/dns_query.h"

#include <errno.h>
#include <poll.h>
#include <string.h>

#include "lib/fd.h"
#include "lib/random.h"
#include "lwip/dns.h"
#include "net/net_config.h"
#include "net/patience.h"
#include "net/sock.h"
#include "net/sock_addr.h"
#include "port/clock.h"

enum {
    DNS_PORT = 53,
    ROUNDS = 3,
    FIRST_PATIENCE_US = 1000000,
    TCP_PATIENCE_US = 5000000,
    TCP_ANSWER_BYTES = 4096, /* what doesn't fit has more than DNS_ADDRS_MAX addresses anyway */
    PORT_FIRST =
        49152, /* RFC 6335 §6; a random one of these is as hard to guess as the id: RFC 5452 */
    PORT_COUNT = 16384,
    PORT_TRIES = 8,
};

/* One exchange: what is asked, and which of it is still open. */
struct ask {
    const char *name;
    struct dns_query *queries;
    size_t count;
};

static bool all_answered(const struct ask *a)
{
    for (size_t i = 0; i < a->count; i++) {
        if (!a->queries[i].answered)
            return false;
    }
    return true;
}

/* ---- a socket connected to one server ---- */

static socklen_t name_out(struct sockaddr_storage *out, const struct sock_name *name)
{
    socklen_t len = sizeof(*out);

    sock_addr_out(name, IP_IS_V4(&name->ip) ? AF_INET : AF_INET6, (struct sockaddr *)out, &len);
    return len;
}

static void bind_random(int fd, const struct sock_name *server)
{
    struct sock_name any = {.port = 0};
    struct sockaddr_storage addr;

    sock_addr_any(&any.ip, IP_IS_V4(&server->ip) ? AF_INET : AF_INET6, true);
    for (unsigned i = 0; i < PORT_TRIES; i++) {
        any.port = (u16_t)(PORT_FIRST + random_u32() % PORT_COUNT);
        const socklen_t len = name_out(&addr, &any);

        if (sock_bind(fd, (struct sockaddr *)&addr, len) == 0)
            return;
    }
    /* Then connect() chooses. */
}

static int open_to(const struct sock_name *server, int type)
{
    struct sockaddr_storage addr;
    const socklen_t len = name_out(&addr, server);
    const int family = IP_IS_V4(&server->ip) ? AF_INET : AF_INET6;
    const int fd = sock_socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

    if (fd < 0)
        return fd;
    if (type == SOCK_DGRAM)
        bind_random(fd, server);
    const int err = sock_connect(fd, (struct sockaddr *)&addr, len);

    if (err && err != -EINPROGRESS) {
        (void)fd_close(fd);
        return err == -ENOBUFS ? err : -EAGAIN; /* no way to it: the next server */
    }
    return fd;
}

static int wait_for(int fd, short events, uint64_t deadline_us)
{
    struct pollfd p = {fd, events, 0};
    const int ready = fd_poll(&p, 1, deadline_us);

    return ready > 0 ? 0 : ready == 0 ? -EAGAIN : ready;
}

/* ---- TCP: RFC 1035 §4.2.2, a length in front ---- */

static int receive_all(int fd, uint8_t *to, size_t len, uint64_t deadline_us)
{
    while (len > 0) {
        const int err = wait_for(fd, POLLIN, deadline_us);

        if (err)
            return err;
        const ssize_t got = sock_recvfrom(fd, to, len, 0, NULL, NULL);

        if (got <= 0)
            return -EAGAIN;
        to += got;
        len -= (size_t)got;
    }
    return 0;
}

static int exchange_tcp(int fd, const struct ask *a, struct dns_query *q, uint8_t *room)
{
    const uint64_t deadline_us = clock_now_us() + TCP_PATIENCE_US;
    uint8_t question[2 + DNS_QUERY_BYTES], head[2];
    const int len = dns_question(question + 2, q->id, a->name, q->type);
    int err = wait_for(fd, POLLOUT, deadline_us);

    question[0] = (uint8_t)((unsigned)len >> 8);
    question[1] = (uint8_t)len;
    if (!err && sock_sendto(fd, question, 2 + (size_t)len, 0, NULL, 0) != 2 + len)
        err = -EAGAIN;
    if (!err)
        err = receive_all(fd, head, sizeof(head), deadline_us);
    if (err)
        return err;
    const size_t size = size_min((size_t)head[0] << 8 | head[1], TCP_ANSWER_BYTES);

    err = receive_all(fd, room, size, deadline_us);
    return err ? err : dns_answer_parse(&q->answer, room, size, q->id, a->name, q->type);
}

static int ask_tcp(const struct sock_name *server, const struct ask *a, struct dns_query *q)
{
    struct frag *room = frag_take(TCP_ANSWER_BYTES, FRAG_SMALL);
    const int fd = room ? open_to(server, SOCK_STREAM) : -ENOBUFS;
    int err = fd;

    if (fd >= 0) {
        err = exchange_tcp(fd, a, q, frag_start(room));
        (void)fd_close(fd);
    }
    if (room)
        frag_give(room);
    return err;
}

/* ---- UDP ---- */

static int send_questions(int fd, const struct ask *a)
{
    uint8_t question[DNS_QUERY_BYTES];

    for (size_t i = 0; i < a->count; i++) {
        struct dns_query *q = &a->queries[i];

        if (q->answered)
            continue;
        q->id = (uint16_t)random_u32();
        const int len = dns_question(question, q->id, a->name, q->type);

        if (len < 0)
            return len;
        if (sock_sendto(fd, question, (size_t)len, 0, NULL, 0) < 0)
            return -EAGAIN;
    }
    return 0;
}

/* A server that can't help isn't believed: another one may. */
static bool is_final(const struct dns_answer *answer)
{
    return answer->rcode == DNS_OK || answer->rcode == DNS_NXDOMAIN;
}

/* What one datagram says. Returns 0; -EAGAIN: this server can't tell. */
static int take_answer(const struct sock_name *server, const struct ask *a, const uint8_t *message,
                       size_t len)
{
    for (size_t i = 0; i < a->count; i++) {
        struct dns_query *q = &a->queries[i];

        if (q->answered || dns_answer_parse(&q->answer, message, len, q->id, a->name, q->type) != 0)
            continue;
        if (q->answer.truncated && ask_tcp(server, a, q) != 0)
            return -EAGAIN;
        q->answered = is_final(&q->answer);
        return q->answered ? 0 : -EAGAIN;
    }
    return 0; /* nobody's: a late one, or a forgery */
}

static int ask_server(const struct sock_name *server, const struct ask *a, uint64_t patience_us)
{
    uint8_t message[DNS_UDP_BYTES];
    const uint64_t deadline_us = clock_now_us() + patience_us;
    const int fd = open_to(server, SOCK_DGRAM);

    if (fd < 0)
        return fd;
    int err = send_questions(fd, a);

    while (!err && !all_answered(a)) {
        err = wait_for(fd, POLLIN, deadline_us);
        if (err)
            break;
        const ssize_t got = sock_recvfrom(fd, message, sizeof(message), 0, NULL, NULL);

        err = got < 0 ? -EAGAIN : take_answer(server, a, message, (size_t)got);
    }
    (void)fd_close(fd);
    return err;
}

int dns_ask(const char *name, struct dns_query *queries, size_t count)
{
    const struct ask a = {name, queries, count};
    uint8_t question[DNS_QUERY_BYTES];
    uint64_t patience_us = FIRST_PATIENCE_US;
    int err = dns_question(question, 0, name, DNS_A) < 0 ? -EINVAL : -EAGAIN;

    if (err == -EAGAIN)
        net_wait_for_name_server();
    for (unsigned round = 0; round < ROUNDS && err == -EAGAIN; round++, patience_us *= 2) {
        for (u8_t i = 0; i < DNS_MAX_SERVERS && err == -EAGAIN; i++) {
            struct sock_name server = {.port = DNS_PORT};

            net_config_name_server(i, &server.ip);
            if (!ip_addr_isany_val(server.ip))
                err = ask_server(&server, &a, patience_us);
        }
    }
    return err;
}
