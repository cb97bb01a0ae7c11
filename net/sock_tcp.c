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
#include "net/icmp_errors.h"
#include "net/sock_addr.h"
#include "net/tcp_serve.h"
#include "port/clock.h"

enum { STARVED_POLL = TCP_POLL_EACH_SECOND / 2 };

/* ---- what lwIP tells us ---- */

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
    sock_tcp_rtt_acked(s);
    if (!waitq_empty(&s->file.waiters) && sock_tcp_writable(s))
        file_changed(&s->file);
    return ERR_OK;
}

/* TCP_USER_TIMEOUT (RFC 5482): what we sent has waited that long for any acknowledgement. */
static bool waited_too_long(struct sock *s, const struct tcp_pcb *pcb)
{
    const bool idle = !pcb->unacked && !pcb->unsent;

    if (!s->opt.user_timeout_ms || idle || pcb->lastack != s->stuck_ack) {
        s->stuck_ack = pcb->lastack;
        s->stuck_since_us = idle ? 0 : clock_now_us();
        return false;
    }
    if (!s->stuck_since_us)
        s->stuck_since_us = clock_now_us();
    return clock_now_us() - s->stuck_since_us >= (uint64_t)s->opt.user_timeout_ms * 1000;
}

static err_t on_poll(void *arg, struct tcp_pcb *pcb)
{
    struct sock *s = arg;

    if (waited_too_long(s, pcb)) {
        tcp_abort(pcb); /* on_error() tells */
        return ERR_ABRT;
    }
    if (s->send_starved) {
        s->send_starved = false;
        file_changed(&s->file);
    }
    if (s->opt.cork)
        (void)tcp_output(pcb); /* what a cork holds leaves after a while, as on Linux */
    return ERR_OK;
}

/* The control block is gone already (lwIP's rule for this callback). */
static void on_error(void *arg, err_t err)
{
    struct sock *s = arg;

    s->pcb.tcp = NULL;
    if (s->listener) { /* nobody has seen it yet, and nobody will */
        sock_tcp_unqueue(s->listener, s);
        pbufq_clear(&s->recv_queue);
        sock_free(s);
        return;
    }
    /* ERR_CLSD: our FIN was acknowledged after the peer's had come, an orderly end. */
    if (err != ERR_CLSD) {
        s->error = -sock_errno(err);
        if (s->state == SOCK_CONNECTING && err == ERR_RST)
            s->error = ECONNREFUSED;
        else if (err == ERR_RST && s->read_eof)
            s->error = EPIPE; /* it had ended already, and now hears what we still say */
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

/* A SYN that can't get there: no need to wait for the timer. The sequence number shows that it was ours. */
void sock_tcp_unreachable(const struct icmp_error *e)
{
    for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb; pcb = pcb->next) {
        if (pcb->state != SYN_SENT || pcb->errf != on_error || pcb->local_port != e->local_port ||
            pcb->remote_port != e->remote_port || !ip_addr_eq(&pcb->remote_ip, &e->remote) ||
            e->seq != pcb->lastack)
            continue;
        struct sock *s = pcb->callback_arg;

        tcp_abort(pcb); /* on_error() tells ETIMEDOUT; we know better */
        s->error = e->error;
        return;
    }
}

void sock_tcp_attach(struct sock *s, struct tcp_pcb *pcb)
{
    s->pcb.tcp = pcb;
    tcp_arg(pcb, s);
    tcp_recv(pcb, on_recv);
    tcp_sent(pcb, on_sent);
    tcp_poll(pcb, on_poll, STARVED_POLL);
    tcp_err(pcb, on_error);
}

/* lwIP keeps the block and calls nobody. */
struct tcp_pcb *sock_tcp_take_off(struct sock *s)
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
    struct tcp_pcb *pcb = sock_tcp_take_off(s);

    if (pcb)
        (void)tcp_close(pcb); /* in these states it only marks the block as nobody's */
    s->state = SOCK_DEAD;
}

/* ---- the end ---- */

static void close_listener(struct sock *s)
{
    struct tcp_pcb *pcb = sock_tcp_take_off(s);

    while (s->accept_head) {
        struct sock *conn = s->accept_head;

        sock_tcp_unqueue(s, conn);
        pbufq_clear(&conn->recv_queue);
        tcp_abort(sock_tcp_take_off(conn));
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

    struct tcp_pcb *pcb = sock_tcp_take_off(s);

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
    case SOCK_IDLE: /* as Linux tells of a socket that never connected, or in vain */
        return POLLOUT | POLLWRNORM | POLLHUP | (s->error ? POLLRDHUP : 0);
    case SOCK_LISTENING:
        return s->accept_head ? POLLIN | POLLRDNORM : 0;
    case SOCK_CONNECTING:
        return 0;
    case SOCK_CONNECTED:
        if (s->recv_queue.bytes >= sock_tcp_lowat(s))
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
    .bind = sock_tcp_bind,
    .connect = sock_tcp_connect,
    .listen = sock_tcp_listen,
    .accept = sock_tcp_accept,
    .shutdown = tcp_kind_shutdown,
    .send = sock_tcp_send,
    .recv = sock_tcp_recv,
    .close = tcp_kind_close,
    .apply = sock_tcp_apply,
    .setopt = sock_tcp_setopt,
    .getopt = sock_tcp_getopt,
};
