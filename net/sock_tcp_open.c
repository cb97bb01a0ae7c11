/* TCP sockets: how connections begin. bind(), listen(), accept(), connect(). */
#include <errno.h>

#include "lib/check.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "net/sock.h"
#include "net/sock_addr.h"
#include "net/sock_tcp.h"

static void names_from_pcb(struct sock *s)
{
    ip_addr_copy(s->local.ip, s->pcb.tcp->local_ip);
    s->local.port = s->pcb.tcp->local_port;
    ip_addr_copy(s->peer.ip, s->pcb.tcp->remote_ip);
    s->peer.port = s->pcb.tcp->remote_port;
}

int sock_tcp_need_pcb(struct sock *s)
{
    if (s->pcb.tcp)
        return 0;
    struct tcp_pcb *pcb = tcp_new_ip_type(s->family == AF_INET ? IPADDR_TYPE_V4
                                          : s->opt.v6only      ? IPADDR_TYPE_V6
                                                               : IPADDR_TYPE_ANY);

    if (!pcb)
        return -ENOBUFS;
    sock_tcp_attach(s, pcb);
    sock_tcp_apply(s);
    return 0;
}

static bool overlap(const ip_addr_t *a, const ip_addr_t *b)
{
    if (IP_IS_ANY_TYPE_VAL(*a) || IP_IS_ANY_TYPE_VAL(*b))
        return true;
    return IP_IS_V6(a) == IP_IS_V6(b) && (ip_addr_isany(a) || ip_addr_isany(b) || ip_addr_eq(a, b));
}

/* SO_REUSEADDR never lets two sockets listen on one address; and lwIP's own check in tcp_bind() takes a dual-stack
 * listener for an IPv6 one. */
static bool listened_on(const struct sock_name *name)
{
    for (const struct tcp_pcb_listen *l = tcp_listen_pcbs.listen_pcbs; l; l = l->next) {
        if (name->port && l->local_port == name->port && overlap(&l->local_ip, &name->ip))
            return true;
    }
    return false;
}

int sock_tcp_bind(struct sock *s, const struct sock_name *name)
{
    if (!sock_addr_is_local(&name->ip) && !s->opt.free_bind)
        return -EADDRNOTAVAIL;
    if (listened_on(name))
        return -EADDRINUSE;
    int err = sock_tcp_need_pcb(s);

    if (!err)
        err = sock_errno(tcp_bind(s->pcb.tcp, &name->ip, name->port));
    if (err)
        return err;
    s->bound = true;
    ip_addr_copy(s->local.ip, name->ip);
    s->local.port = s->pcb.tcp->local_port;
    return 0;
}

static int bind_anywhere(struct sock *s)
{
    struct sock_name any = {.port = 0};

    if (s->bound)
        return 0;
    sock_addr_any(&any.ip, s->family, s->opt.v6only);
    return sock_tcp_bind(s, &any);
}

/* ---- listen, accept ---- */

/*
 * lwIP counts half-open connections against the backlog. That is what listen() says when nobody accepts; but while the
 * program keeps up, a burst of SYNs is no overflow: each of those that were ignored would come back a second later, then
 * three, then seven, and again no more than `backlog` of them would be let in. So the limit is open from the moment that
 * accept() finds the queue empty until it has filled up to the backlog.
 */
static void backlog_open(struct sock *listener)
{
    tcp_backlog_set(listener->pcb.tcp, SOCK_BACKLOG_MAX);
}

static void backlog_check(struct sock *listener)
{
    if (listener->accept_count >= listener->backlog)
        tcp_backlog_set(listener->pcb.tcp, listener->backlog);
}

void sock_tcp_unqueue(struct sock *listener, struct sock *conn)
{
    struct sock **at = &listener->accept_head, *prev = NULL;

    while (*at && *at != conn) {
        prev = *at;
        at = &prev->accept_next;
    }
    ASSERT(*at == conn);
    listener->accept_count--;
    *at = conn->accept_next;
    if (listener->accept_tail == conn)
        listener->accept_tail = prev;
    conn->accept_next = NULL;
    conn->listener = NULL;
}

void sock_tcp_limit_mss(const struct sock *s)
{
    if (s->opt.mss_max && s->pcb.tcp->mss > s->opt.mss_max)
        s->pcb.tcp->mss = s->opt.mss_max;
}

static void inherit(struct sock *conn, const struct sock *listener)
{
    conn->protocol = listener->protocol;
    conn->opt = listener->opt;
    conn->recv_limit = listener->recv_limit;
    conn->send_limit = listener->send_limit;
    conn->state = SOCK_CONNECTED;
    conn->connect_reported = true;
    conn->bound = true;
}

/*
 * The handshake is complete. The connection counts against the backlog until accept() takes it: lwIP
 * ignores further SYNs meanwhile, and their senders try again.
 */
static err_t on_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    struct sock *listener = arg;

    if (!pcb || err != ERR_OK)
        return ERR_VAL;
    struct sock *conn = sock_new(listener->family, listener->type, listener->ops);

    if (!conn)
        return ERR_MEM; /* lwIP resets it */
    inherit(conn, listener);
    sock_tcp_attach(conn, pcb);
    names_from_pcb(conn);
    sock_tcp_apply(conn);
    sock_tcp_limit_mss(conn);
    sock_tcp_window_start(conn);
    tcp_backlog_delayed(pcb);

    conn->listener = listener;
    if (listener->accept_tail)
        listener->accept_tail->accept_next = conn;
    else
        listener->accept_head = conn;
    listener->accept_tail = conn;
    listener->accept_count++;
    backlog_check(listener);
    file_changed(&listener->file);
    return ERR_OK;
}

int sock_tcp_listen(struct sock *s, int backlog)
{
    s->backlog = (uint8_t)backlog;
    if (s->state == SOCK_LISTENING) {
        tcp_backlog_set(s->pcb.tcp, (u8_t)backlog);
        return 0;
    }
    if (s->state != SOCK_IDLE)
        return -EINVAL;
    int err = bind_anywhere(s);

    if (err)
        return err;
    if (listened_on(&s->local))
        return -EADDRINUSE;

    err_t lwip_err;
    struct tcp_pcb *pcb = tcp_listen_with_backlog_and_err(s->pcb.tcp, (u8_t)backlog, &lwip_err);

    if (!pcb)
        return sock_errno(lwip_err); /* lwIP keeps the old block then */
    s->pcb.tcp = pcb;
    tcp_arg(pcb, s);
    tcp_accept(pcb, on_accept);
    s->state = SOCK_LISTENING;
    return 0;
}

int sock_tcp_accept(struct sock *s, struct sock **conn, bool nonblock)
{
    const uint64_t deadline_us = sock_deadline(s->opt.recv_timeout_us);

    if (s->state == SOCK_LISTENING && !s->accept_head && nonblock)
        thread_yield(); /* a program that asks again and again must not silence the network */
    while (s->state == SOCK_LISTENING && !s->accept_head) {
        backlog_open(s);
        const int err = nonblock ? -EAGAIN : sock_wait(s, deadline_us);

        if (err)
            return err;
    }
    if (s->state != SOCK_LISTENING)
        return -EINVAL;
    *conn = s->accept_head;
    sock_tcp_unqueue(s, *conn);
    tcp_backlog_accepted((*conn)->pcb.tcp);
    if (!s->accept_head)
        backlog_open(s);
    return 0;
}

/* ---- connect ---- */

static err_t on_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
    struct sock *s = arg;

    (void)pcb;
    (void)err; /* always ERR_OK: failures come through on_error */
    s->state = SOCK_CONNECTED;
    names_from_pcb(s);
    sock_tcp_limit_mss(s);
    sock_tcp_window_start(s);
    file_changed(&s->file);
    return ERR_OK;
}

static int connect_begin(struct sock *s, const struct sock_name *peer)
{
    struct sock_name to = *peer;
    int err = sock_tcp_need_pcb(s);

    if (err)
        return err;
    if (ip_addr_isany(&to.ip) || IP_IS_ANY_TYPE_VAL(to.ip)) { /* "this host", as BSD has it */
        if (s->family == AF_INET)
            ip_addr_set_loopback_val(false, to.ip);
        else
            ip_addr_set_loopback_val(true, to.ip);
    }
    if (to.port == 0)
        return -ECONNREFUSED;
    err = sock_errno(tcp_connect(s->pcb.tcp, &to.ip, to.port, on_connected));
    if (err)
        return err;
    s->state = SOCK_CONNECTING;
    s->connect_reported = false;
    names_from_pcb(s);
    s->bound = true;
    return 0;
}

static int connect_wait(struct sock *s)
{
    const uint64_t deadline_us = sock_deadline(s->opt.send_timeout_us);

    while (s->state == SOCK_CONNECTING) {
        const int err = sock_wait(s, deadline_us);

        if (err == -EAGAIN)
            return -EINPROGRESS; /* SO_SNDTIMEO is over; the handshake goes on */
        if (err)
            return err;
    }
    s->connect_reported = true;
    return s->error ? sock_take_error(s) : 0;
}

int sock_tcp_connect(struct sock *s, const struct sock_name *peer, bool nonblock)
{
    if (s->error)
        return sock_take_error(s);
    if (s->state == SOCK_CONNECTED && !s->connect_reported) {
        s->connect_reported = true; /* the first to ask after a non-blocking one hears of success */
        return 0;
    }
    if (s->state == SOCK_CONNECTED || s->state == SOCK_LISTENING || s->state == SOCK_DEAD)
        return -EISCONN;
    if (s->state == SOCK_CONNECTING)
        return nonblock ? -EALREADY : connect_wait(s);

    const int err = connect_begin(s, peer);

    if (err)
        return err;
    return nonblock ? -EINPROGRESS : connect_wait(s);
}
