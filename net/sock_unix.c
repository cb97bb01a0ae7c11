#include "net/sock_unix.h"

#include <errno.h>
#include <string.h>

#include "lib/check.h"

static struct unix_end *named;

int sock_unix_need(struct sock *s)
{
    if (s->pcb.local)
        return 0;
    struct frag *f = frag_take(sizeof(struct unix_end), FRAG_SMALL);

    if (!f)
        return -ENOBUFS;
    struct unix_end *e = (struct unix_end *)(void *)frag_start(f);

    memset(e, 0, sizeof(*e));
    e->owner = s;
    ring_init(&e->ring, UNIX_RING_BYTES);
    s->pcb.local = e;
    return 0;
}

/* ---- names ---- */

static struct unix_end *find(const struct unix_name *name)
{
    for (struct unix_end *e = named; e; e = e->next) {
        if (e->name.len == name->len && memcmp(&e->name.addr, &name->addr, name->len) == 0)
            return e;
    }
    return NULL;
}

/* A path ends at its NUL, wherever the caller says it ends; an abstract name (NUL first) is all its bytes. */
static int name_copy(struct unix_name *out, const struct sock_name *in)
{
    const size_t head = offsetof(struct sockaddr_un, sun_path);

    if (in->raw_len <= head || in->raw_len > sizeof(out->addr))
        return -EINVAL;
    memset(out, 0, sizeof(*out));
    memcpy(&out->addr, in->raw, in->raw_len);
    out->len = in->raw_len;
    if (out->addr.sun_path[0])
        out->len = (socklen_t)size_min(head + strnlen(out->addr.sun_path, in->raw_len - head) + 1,
                                       sizeof(out->addr));
    return 0;
}

static int unix_bind(struct sock *s, const struct sock_name *name)
{
    struct unix_name copy;
    int err = name_copy(&copy, name);

    if (!err)
        err = sock_unix_need(s);
    if (err)
        return err;
    if (find(&copy))
        return -EADDRINUSE;
    struct unix_end *e = s->pcb.local;

    e->name = copy;
    e->next = named;
    named = e;
    s->bound = true;
    s->local = sock_unix_name(&e->name);
    return 0;
}

static void forget_name(struct unix_end *e)
{
    struct unix_end **at = &named;

    if (!e->name.len)
        return;
    while (*at && *at != e)
        at = &(*at)->next;
    if (*at)
        *at = e->next;
}

int sock_unix_look_up(const struct sock *s, const struct sock_name *name, struct sock **found)
{
    struct unix_name copy;
    const int err = name_copy(&copy, name);

    if (err)
        return err;
    const struct unix_end *e = find(&copy);

    if (!e)
        return copy.addr.sun_path[0] ? -ENOENT : -ECONNREFUSED;
    if (e->owner->type != s->type)
        return -EPROTOTYPE;
    *found = e->owner;
    return 0;
}

/* ---- connections ---- */

static void join(struct sock *a, struct sock *b)
{
    a->pcb.local->peer = b;
    a->pcb.local->peer_name = b->pcb.local->name;
    a->peer = sock_unix_name(&a->pcb.local->peer_name);
    a->state = SOCK_CONNECTED;
}

int sock_unix_pair(struct sock *a, struct sock *b)
{
    if (sock_unix_need(a) || sock_unix_need(b))
        return -ENOBUFS;
    join(a, b);
    join(b, a);
    return 0;
}

static int unix_listen(struct sock *s, int backlog)
{
    if (s->type == SOCK_DGRAM)
        return -EOPNOTSUPP;
    if (!s->bound || s->state == SOCK_CONNECTED)
        return -EINVAL;
    s->pcb.local->backlog = (unsigned)backlog;
    s->state = SOCK_LISTENING;
    return 0;
}

static void accept_put(struct sock *listener, struct sock *conn)
{
    conn->listener = listener;
    conn->accept_next = NULL;
    if (listener->accept_tail)
        listener->accept_tail->accept_next = conn;
    else
        listener->accept_head = conn;
    listener->accept_tail = conn;
    listener->pcb.local->pending++;
    file_changed(&listener->file);
}

static struct sock *accept_take(struct sock *listener)
{
    struct sock *conn = listener->accept_head;

    listener->accept_head = conn->accept_next;
    if (!listener->accept_head)
        listener->accept_tail = NULL;
    conn->listener = NULL;
    listener->pcb.local->pending--;
    file_changed(&listener->file); /* who waits to connect */
    return conn;
}

/* The other end is made here, and connected before anybody accepts it. */
static int connect_stream(struct sock *s, struct sock *listener)
{
    struct sock *conn = sock_new(AF_UNIX, s->type, s->ops);

    if (!conn)
        return -ENOBUFS;
    if (sock_unix_need(s) || sock_unix_need(conn)) {
        sock_free(conn);
        return -ENOBUFS;
    }
    conn->pcb.local->name = listener->pcb.local->name;
    conn->local = sock_unix_name(&conn->pcb.local->name);
    join(s, conn);
    join(conn, s);
    conn->pcb.local->name.len = 0; /* the listener's alone in the list */
    accept_put(listener, conn);
    return 0;
}

static void leave_fans(struct unix_end *e)
{
    struct unix_end **at = e->peer && e->peer->pcb.local ? &e->peer->pcb.local->fans : NULL;

    while (at && *at && *at != e)
        at = &(*at)->next_fan;
    if (at && *at)
        *at = e->next_fan;
    e->peer = NULL;
}

static int connect_dgram(struct sock *s, struct sock *target)
{
    const int err = sock_unix_need(s);

    if (err)
        return err;
    leave_fans(s->pcb.local);
    join(s, target);
    s->pcb.local->next_fan = target->pcb.local->fans;
    target->pcb.local->fans = s->pcb.local;
    return 0;
}

/* The listener's queue is full. It may be closed meanwhile, so it is looked up anew after each wait. */
static int wait_for_room(struct sock *s, const struct sock_name *name, struct sock **listener,
                         bool nonblock)
{
    const uint64_t deadline_us = sock_deadline(s->opt.send_timeout_us);

    for (;;) {
        int err = sock_unix_look_up(s, name, listener);

        if (!err && (*listener)->state != SOCK_LISTENING)
            err = -ECONNREFUSED;
        if (err || (*listener)->pcb.local->pending <= (*listener)->pcb.local->backlog)
            return err;
        err = nonblock ? -EAGAIN : waitq_wait(&(*listener)->file.waiters, deadline_us);
        if (err)
            return err == -ETIMEDOUT ? -EAGAIN : err;
    }
}

static int unix_connect(struct sock *s, const struct sock_name *name, bool nonblock)
{
    struct sock *target;

    if (s->type == SOCK_DGRAM) {
        if (!name->raw) { /* AF_UNSPEC */
            if (s->pcb.local)
                leave_fans(s->pcb.local);
            s->state = SOCK_IDLE;
            return 0;
        }
        const int err = sock_unix_look_up(s, name, &target);

        return err ? err : connect_dgram(s, target);
    }
    if (s->state == SOCK_LISTENING)
        return -EINVAL;
    if (s->state != SOCK_IDLE)
        return -EISCONN;
    const int err = wait_for_room(s, name, &target, nonblock);

    return err ? err : connect_stream(s, target);
}

static int unix_accept(struct sock *s, struct sock **conn, bool nonblock)
{
    const uint64_t deadline_us = sock_deadline(s->opt.recv_timeout_us);

    if (s->type == SOCK_DGRAM)
        return -EOPNOTSUPP;
    if (s->state == SOCK_LISTENING && !s->accept_head && nonblock)
        thread_yield();
    while (s->state == SOCK_LISTENING && !s->accept_head) {
        const int err = nonblock ? -EAGAIN : sock_wait(s, deadline_us);

        if (err)
            return err;
    }
    if (s->state != SOCK_LISTENING)
        return -EINVAL;
    *conn = accept_take(s);
    return 0;
}

/* ---- the end ---- */

static int unix_shutdown(struct sock *s, int how)
{
    struct sock *peer = sock_unix_peer(s);

    if (s->state != SOCK_CONNECTED)
        return -ENOTCONN;
    if (how != SHUT_WR)
        s->read_shut = true;
    if (how != SHUT_RD)
        s->write_shut = true;
    if (peer && s->type != SOCK_DGRAM && how != SHUT_RD)
        peer->read_eof = true;
    file_changed(&s->file);
    if (peer)
        file_changed(&peer->file);
    return 0;
}

/* The other end of a connection hears of it: end of file, or a reset when it left something unread. */
static void leave_peer(struct sock *s, bool unread)
{
    struct sock *peer = sock_unix_peer(s);

    if (!peer || s->type == SOCK_DGRAM) {
        leave_fans(s->pcb.local);
        return;
    }
    peer->pcb.local->peer = NULL;
    peer->read_eof = true;
    if (unread)
        peer->error = ECONNRESET;
    file_changed(&peer->file);
}

static void drop_fans(struct unix_end *e)
{
    while (e->fans) {
        struct unix_end *fan = e->fans;

        e->fans = fan->next_fan;
        fan->peer = NULL;
        file_changed(&fan->owner->file);
    }
}

static void pair_closed(struct sock *s)
{
    struct sock *peer = sock_unix_peer(s);

    /* A datagram pair knows each other without being fans. */
    if (s->type == SOCK_DGRAM && peer && peer->pcb.local && peer->pcb.local->peer == s) {
        peer->pcb.local->peer = NULL;
        file_changed(&peer->file);
    }
}

static int unix_close(struct sock *s)
{
    struct unix_end *e = s->pcb.local;

    if (!e)
        return 0;
    while (s->accept_head) {
        struct sock *conn = accept_take(s);

        (void)file_put(&conn->file);
    }
    pair_closed(s);
    leave_peer(s, ring_bytes(&e->ring) > 0);
    drop_fans(e);
    forget_name(e);
    ring_clear(&e->ring);
    s->pcb.local = NULL;
    s->state = SOCK_DEAD;
    waitq_wake_all(&s->file.waiters); /* who waited to send or connect here */
    frag_give(frag_of_start(e));
    return 0;
}

/* ---- readiness ---- */

static bool can_send(const struct sock *s)
{
    const struct sock *peer = sock_unix_peer(s);

    if (!peer) /* then nothing would wait */
        return s->state != SOCK_LISTENING;
    return ring_room(&peer->pcb.local->ring) >= peer->pcb.local->ring.limit / 4;
}

static unsigned unix_poll(struct sock *s)
{
    const bool over = s->read_eof || s->read_shut;
    unsigned mask = can_send(s) ? POLLOUT | POLLWRNORM : 0;

    if (s->state == SOCK_LISTENING)
        return s->accept_head ? POLLIN | POLLRDNORM : 0;
    if ((sock_unix_ring(s) && ring_bytes(sock_unix_ring(s)) > 0) || over)
        mask |= POLLIN | POLLRDNORM;
    if (over)
        mask |= POLLRDHUP;
    if (s->type != SOCK_DGRAM &&
        (s->state == SOCK_IDLE || (over && (s->write_shut || !sock_unix_peer(s)))))
        mask |= POLLHUP;
    return mask;
}

static void unix_apply(struct sock *s)
{
    (void)s; /* no option has anything to act upon */
}

static const struct sock_ops unix_ops = {
    .poll = unix_poll,
    .readable = sock_unix_readable,
    .bind = unix_bind,
    .connect = unix_connect,
    .listen = unix_listen,
    .accept = unix_accept,
    .shutdown = unix_shutdown,
    .send = sock_unix_send,
    .recv = sock_unix_recv,
    .close = unix_close,
    .apply = unix_apply,
};

int sock_unix_kind(int type, int protocol, const struct sock_ops **ops)
{
    if (type != SOCK_STREAM && type != SOCK_DGRAM && type != SOCK_SEQPACKET)
        return -ESOCKTNOSUPPORT;
    if (protocol != 0 && protocol != AF_UNIX)
        return -EPROTONOSUPPORT;
    *ops = &unix_ops;
    return 0;
}
