/*
 * TCP sockets: their life with lwIP's control blocks.
 *
 * RFC 9293 for the protocol; POSIX.1-2017 for what a program sees of it.
 */
#include "net/sock_tcp.h"

#include <errno.h>
#include <string.h>

#include "lib/check.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "net/sock_addr.h"
#include "port/clock.h"

enum { STARVED_POLL = 1 }; /* lwIP's poll timer: every half second */

/* ---- what lwIP tells us ---- */

static void names_from_pcb(struct sock *s)
{
    ip_addr_copy(s->local.ip, s->pcb.tcp->local_ip);
    s->local.port = s->pcb.tcp->local_port;
    ip_addr_copy(s->peer.ip, s->pcb.tcp->remote_ip);
    s->peer.port = s->pcb.tcp->remote_port;
}

static err_t on_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    struct sock *s = arg;

    (void)pcb;
    (void)err;
    if (!p) {
        s->read_eof = true;
        if (s->write_shut)
            sock_tcp_detach(s);
    } else if (s->read_shut) {
        const size_t len = p->tot_len;

        pbuf_free(p);
        sock_tcp_window_update(s, len);
        return ERR_OK;
    } else {
        pbufq_put(&s->recv_queue, p);
    }
    file_changed(&s->file);
    return ERR_OK;
}

static err_t on_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    struct sock *s = arg;

    (void)pcb;
    (void)len;
    if (sock_tcp_writable(s))
        file_changed(&s->file);
    return ERR_OK;
}

static err_t on_poll(void *arg, struct tcp_pcb *pcb)
{
    struct sock *s = arg;

    (void)pcb;
    if (s->send_starved) {
        s->send_starved = false;
        file_changed(&s->file);
    }
    return ERR_OK;
}

static void accept_queue_remove(struct sock *listener, struct sock *conn)
{
    struct sock **at = &listener->accept_head, *prev = NULL;

    while (*at && *at != conn) {
        prev = *at;
        at = &prev->accept_next;
    }
    ASSERT(*at == conn);
    *at = conn->accept_next;
    if (listener->accept_tail == conn)
        listener->accept_tail = prev;
    conn->accept_next = NULL;
    conn->listener = NULL;
}

/* The control block is gone already (lwIP's rule for this callback). */
static void on_error(void *arg, err_t err)
{
    struct sock *s = arg;

    s->pcb.tcp = NULL;
    if (s->listener) { /* nobody has seen it yet, and nobody will */
        accept_queue_remove(s->listener, s);
        pbufq_clear(&s->recv_queue);
        sock_free(s);
        return;
    }
    /* ERR_CLSD: our FIN was acknowledged after the peer's had come, an orderly end. */
    if (err != ERR_CLSD) {
        s->error = -sock_errno(err);
        if (s->state == SOCK_CONNECTING && err == ERR_RST)
            s->error = ECONNREFUSED;
    }
    if (s->state == SOCK_CONNECTING) { /* may try again, from another port */
        s->state = SOCK_IDLE;
        s->bound = false;
        s->local.port = 0;
    } else {
        s->state = SOCK_DEAD;
    }
    file_changed(&s->file);
}

static err_t on_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
    struct sock *s = arg;

    (void)pcb;
    (void)err; /* always ERR_OK: failures come through on_error */
    s->state = SOCK_CONNECTED;
    names_from_pcb(s);
    sock_tcp_window_start(s);
    file_changed(&s->file);
    return ERR_OK;
}

static void attach(struct sock *s, struct tcp_pcb *pcb)
{
    s->pcb.tcp = pcb;
    tcp_arg(pcb, s);
    tcp_recv(pcb, on_recv);
    tcp_sent(pcb, on_sent);
    tcp_poll(pcb, on_poll, STARVED_POLL);
    tcp_err(pcb, on_error);
}

/* lwIP keeps the block and calls nobody. */
static struct tcp_pcb *take_off(struct sock *s)
{
    struct tcp_pcb *pcb = s->pcb.tcp;

    s->pcb.tcp = NULL;
    if (pcb) {
        tcp_arg(pcb, NULL);
        if (pcb->state != LISTEN) { /* a listening block is smaller, and has none of these */
            tcp_recv(pcb, NULL);
            tcp_sent(pcb, NULL);
            tcp_poll(pcb, NULL, 0);
            tcp_err(pcb, NULL);
        }
    }
    return pcb;
}

void sock_tcp_detach(struct sock *s)
{
    struct tcp_pcb *pcb = take_off(s);

    if (pcb)
        (void)tcp_close(pcb); /* in these states it only marks the block as nobody's */
    s->state = SOCK_DEAD;
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
    attach(conn, pcb);
    names_from_pcb(conn);
    sock_tcp_apply(conn);
    sock_tcp_window_start(conn);
    tcp_backlog_delayed(pcb);

    conn->listener = listener;
    if (listener->accept_tail)
        listener->accept_tail->accept_next = conn;
    else
        listener->accept_head = conn;
    listener->accept_tail = conn;
    file_changed(&listener->file);
    return ERR_OK;
}

/* ---- bind, listen, accept ---- */

int sock_tcp_need_pcb(struct sock *s)
{
    if (s->pcb.tcp)
        return 0;
    struct tcp_pcb *pcb = tcp_new_ip_type(s->family == AF_INET ? IPADDR_TYPE_V4
                                          : s->opt.v6only      ? IPADDR_TYPE_V6
                                                               : IPADDR_TYPE_ANY);

    if (!pcb)
        return -ENOBUFS;
    attach(s, pcb);
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

static bool is_local(const ip_addr_t *ip)
{
    struct netif *netif;

    if (ip_addr_isany(ip) || IP_IS_ANY_TYPE_VAL(*ip) || ip_addr_isloopback(ip))
        return true;
    NETIF_FOREACH(netif)
    {
        if (IP_IS_V4(ip) && ip4_addr_eq(ip_2_ip4(ip), netif_ip4_addr(netif)))
            return true;
        if (IP_IS_V6_VAL(*ip) && netif_get_ip6_addr_match(netif, ip_2_ip6(ip)) >= 0)
            return true;
    }
    return false;
}

static int tcp_kind_bind(struct sock *s, const struct sock_name *name)
{
    if (!is_local(&name->ip))
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
    return tcp_kind_bind(s, &any);
}

static int tcp_kind_listen(struct sock *s, int backlog)
{
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

static int tcp_kind_accept(struct sock *s, struct sock **conn, bool nonblock)
{
    const uint64_t deadline_us = sock_deadline(s->opt.recv_timeout_us);

    if (s->state == SOCK_LISTENING && !s->accept_head && nonblock)
        thread_yield(); /* a program that asks again and again must not silence the network */
    while (s->state == SOCK_LISTENING && !s->accept_head) {
        const int err = nonblock ? -EAGAIN : sock_wait(s, deadline_us);

        if (err)
            return err;
    }
    if (s->state != SOCK_LISTENING)
        return -EINVAL;
    *conn = s->accept_head;
    accept_queue_remove(s, *conn);
    tcp_backlog_accepted((*conn)->pcb.tcp);
    return 0;
}

/* ---- connect ---- */

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

static int tcp_kind_connect(struct sock *s, const struct sock_name *peer, bool nonblock)
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

/* ---- the end ---- */

static void close_listener(struct sock *s)
{
    struct tcp_pcb *pcb = take_off(s);

    while (s->accept_head) {
        struct sock *conn = s->accept_head;

        accept_queue_remove(s, conn);
        pbufq_clear(&conn->recv_queue);
        tcp_abort(take_off(conn));
        sock_free(conn);
    }
    (void)tcp_close(pcb);
    s->state = SOCK_IDLE;
    s->bound = false;
}

static int tcp_kind_shutdown(struct sock *s, int how)
{
    if (s->state == SOCK_LISTENING && how != SHUT_WR) {
        close_listener(s); /* as Linux does: a thread in accept() gets EINVAL */
        file_changed(&s->file);
        return 0;
    }
    if (s->state != SOCK_CONNECTED)
        return -ENOTCONN;
    if (how != SHUT_WR && !s->read_shut) {
        const size_t unread = s->recv_queue.bytes;

        s->read_shut = true;
        pbufq_clear(&s->recv_queue);
        sock_tcp_window_update(s, unread);
    }
    if (how != SHUT_RD && !s->write_shut) {
        s->write_shut = true;
        if (s->pcb.tcp)
            (void)tcp_shutdown(s->pcb.tcp, 0, 1);
        /* In LAST-ACK the block stays ours until on_error(ERR_CLSD): a reset may still be told. */
    }
    file_changed(&s->file);
    return 0;
}

static bool unsent(const struct tcp_pcb *pcb)
{
    return pcb->unsent || pcb->unacked || (pcb->flags & TF_CLOSEPEND);
}

/* SO_LINGER: wait until the peer has everything, our FIN included, or until the time is over. */
static void linger(struct sock *s)
{
    const uint64_t end_us = clock_now_us() + (uint64_t)s->opt.linger_s * 1000000;

    (void)tcp_kind_shutdown(s, SHUT_WR);
    while (s->pcb.tcp && unsent(s->pcb.tcp)) {
        /* lwIP calls nobody for the FIN's acknowledgement, so look again every now and then. */
        const uint64_t look_us = clock_now_us() + 10000;

        if (look_us - 10000 >= end_us ||
            sock_wait(s, look_us < end_us ? look_us : end_us) == -EINTR)
            return;
    }
}

static void close_connection(struct sock *s)
{
    const bool reset = s->recv_queue.bytes > 0 || (s->opt.linger && s->opt.linger_s == 0);

    if (s->opt.linger && !reset && s->state == SOCK_CONNECTED)
        linger(s);
    pbufq_clear(&s->recv_queue);
    if (!reset)
        sock_tcp_window_restore(s);

    struct tcp_pcb *pcb = take_off(s);

    if (!pcb)
        return;
    /* Data that nobody will read was acknowledged: the peer must hear that it got lost (RFC 1122 §4.2.2.13). */
    if (reset)
        tcp_abort(pcb);
    else if (tcp_close(pcb) != ERR_OK)
        tcp_abort(pcb);
}

static int tcp_kind_close(struct sock *s)
{
    if (s->state == SOCK_LISTENING)
        close_listener(s);
    else
        close_connection(s);
    return 0;
}

/* ---- readiness ---- */

static unsigned tcp_kind_poll(struct sock *s)
{
    unsigned mask = 0;

    switch (s->state) {
    case SOCK_IDLE:
        return POLLOUT | POLLWRNORM | POLLHUP; /* as Linux tells of a socket that never connected */
    case SOCK_LISTENING:
        return s->accept_head ? POLLIN | POLLRDNORM : 0;
    case SOCK_CONNECTING:
        return 0;
    case SOCK_CONNECTED:
        if (s->recv_queue.bytes > 0)
            mask |= POLLIN | POLLRDNORM;
        if (s->read_eof || s->read_shut)
            mask |= POLLIN | POLLRDNORM | POLLRDHUP;
        if (s->write_shut || sock_tcp_writable(s))
            mask |= POLLOUT | POLLWRNORM;
        if ((s->read_eof || s->read_shut) && s->write_shut)
            mask |= POLLHUP;
        return mask;
    case SOCK_DEAD:
        break;
    }
    return POLLIN | POLLRDNORM | POLLOUT | POLLWRNORM | POLLHUP | POLLRDHUP;
}

static size_t tcp_kind_readable(struct sock *s)
{
    return s->recv_queue.bytes;
}

const struct sock_ops sock_tcp_ops = {
    .poll = tcp_kind_poll,
    .readable = tcp_kind_readable,
    .bind = tcp_kind_bind,
    .connect = tcp_kind_connect,
    .listen = tcp_kind_listen,
    .accept = tcp_kind_accept,
    .shutdown = tcp_kind_shutdown,
    .send = sock_tcp_send,
    .recv = sock_tcp_recv,
    .close = tcp_kind_close,
    .apply = sock_tcp_apply,
    .setopt = sock_tcp_setopt,
    .getopt = sock_tcp_getopt,
};
