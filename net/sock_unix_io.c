/* AF_UNIX: the bytes and records. */
#include <errno.h>

#include "net/sock_unix.h"

/* In front of each record of a datagram or SOCK_SEQPACKET socket; the sender's name follows, then the data. */
struct record {
    uint32_t len;
    uint32_t name_len;
};

static bool has_records(const struct sock *s)
{
    return s->type != SOCK_STREAM;
}

/* ---- sending ---- */

/* A stream: as much as there is room for. */
static size_t put_bytes(struct sock *to, struct sock_msg *msg, size_t rest)
{
    return ring_put(&to->pcb.local->ring, &msg->pos, rest);
}

/* A record: whole, or 0 with errors or when there is no room yet. */
static ssize_t put_record(const struct sock *s, struct sock *to, struct sock_msg *msg)
{
    struct byte_ring *ring = &to->pcb.local->ring;
    const struct unix_name *name = &s->pcb.local->name;
    struct record head = {(uint32_t)msg->len, name->len};
    struct iovec iov[2] = {{&head, sizeof(head)}, {(void *)(uintptr_t)&name->addr, name->len}};
    struct iov_pos pos = {iov, 2, 0};
    const size_t whole = sizeof(head) + name->len + msg->len;

    if (whole > ring->limit)
        return -EMSGSIZE;
    if (whole > ring_room(ring))
        return -EAGAIN;
    if (!ring_reserve(ring, whole))
        return -ENOBUFS;
    (void)ring_put(ring, &pos, sizeof(head) + name->len);
    (void)ring_put(ring, &msg->pos, msg->len);
    return (ssize_t)msg->len;
}

/* A datagram socket that is connected hears nobody but its peer. */
static int hears(const struct sock *to, const struct sock *from)
{
    return sock_unix_peer(to) && sock_unix_peer(to) != from ? -EPERM : 0;
}

/* Where does this go? -EAGAIN never. */
static int destination(struct sock *s, const struct sock_msg *msg, struct sock **to)
{
    if (s->write_shut)
        return -EPIPE;
    if (msg->to && s->type == SOCK_DGRAM) {
        const int err = sock_unix_look_up(s, msg->to, to);

        return err ? err : hears(*to, s);
    }
    if (s->error)
        return sock_take_error(s);
    if (s->state != SOCK_CONNECTED)
        return s->state == SOCK_DEAD ? -EPIPE : -ENOTCONN;
    *to = sock_unix_peer(s);
    if (!*to)
        return s->type == SOCK_DGRAM ? -ECONNREFUSED : -EPIPE;
    return (*to)->read_shut ? -EPIPE : 0;
}

/* One try. Returns bytes, 0 for "not yet" of a stream, or a negative errno. */
static ssize_t send_some(struct sock *s, struct sock_msg *msg, size_t done, struct sock **to)
{
    int err = destination(s, msg, to);

    if (!err)
        err = sock_unix_need(s);
    if (err)
        return err;
    ssize_t put =
        has_records(s) ? put_record(s, *to, msg) : (ssize_t)put_bytes(*to, msg, msg->len - done);

    if (put == 0 && msg->len > done)
        put = ring_bytes(&(*to)->pcb.local->ring) == 0 ? -ENOBUFS : -EAGAIN;
    if (put >= 0)
        file_changed(&(*to)->file);
    return put;
}

ssize_t sock_unix_send(struct sock *s, struct sock_msg *msg)
{
    size_t done = 0;

    for (;;) {
        struct sock *to = NULL;
        const ssize_t put = send_some(s, msg, done, &to);

        if (put >= 0) {
            done += (size_t)put;
            if (done == msg->len)
                return (ssize_t)done;
            continue;
        }
        if (put != -EAGAIN || msg->nonblock)
            return done > 0 ? (ssize_t)done : put;
        /* Whoever reads there wakes us; if it is closed instead, so does that. */
        const int err = waitq_wait(&to->file.waiters, msg->deadline_us);

        if (err)
            return done > 0 ? (ssize_t)done : err == -ETIMEDOUT ? -EAGAIN : err;
    }
}

/* ---- receiving ---- */

/* Room has come: those who wait to send here stand in our own queue, poll()ers in their socket's. */
static void tell_senders(struct sock *s)
{
    struct sock *peer = sock_unix_peer(s);

    file_changed(&s->file);
    if (peer)
        file_changed(&peer->file);
    for (struct unix_end *fan = s->pcb.local->fans; fan; fan = fan->next_fan)
        file_changed(&fan->owner->file);
}

static ssize_t take_record(struct unix_end *e, struct sock_msg *msg)
{
    struct byte_ring *ring = &e->ring;
    struct unix_name *from = &e->from;
    struct record head;
    struct iovec iov[2] = {{&head, sizeof(head)}, {&from->addr, sizeof(from->addr)}};
    struct iov_pos pos = {iov, 2, 0};

    (void)ring_peek(ring, 0, &pos, sizeof(head));
    from->len = head.name_len;
    (void)ring_peek(ring, sizeof(head), &pos, head.name_len);
    const size_t before = sizeof(head) + head.name_len;
    const size_t copied = ring_peek(ring, before, &msg->pos, size_min(head.len, msg->len));

    msg->from = sock_unix_name(from);
    if (copied < head.len)
        msg->flags_out |= MSG_TRUNC;
    if (!(msg->flags & MSG_PEEK))
        ring_drop(ring, before + head.len);
    return (ssize_t)(msg->flags & MSG_TRUNC ? head.len : copied);
}

static ssize_t take_bytes(struct sock *s, struct sock_msg *msg, size_t done)
{
    struct byte_ring *ring = sock_unix_ring(s);

    if (msg->flags & MSG_PEEK)
        return (ssize_t)ring_peek(ring, done, &msg->pos, msg->len - done);
    return (ssize_t)ring_take(ring, &msg->pos, msg->len - done);
}

static ssize_t recv_state(struct sock *s)
{
    if (s->error)
        return sock_take_error(s);
    if (s->read_shut || s->read_eof)
        return 0;
    if (s->state != SOCK_CONNECTED && s->type != SOCK_DGRAM)
        return s->state == SOCK_DEAD ? 0 : s->type == SOCK_STREAM ? -EINVAL : -ENOTCONN;
    return 1;
}

ssize_t sock_unix_recv(struct sock *s, struct sock_msg *msg)
{
    const bool all = (msg->flags & MSG_WAITALL) && !has_records(s);
    bool asked = !msg->nonblock;
    size_t done = 0;

    for (;;) {
        if (sock_unix_ring(s) && ring_bytes(sock_unix_ring(s)) > done * !!(msg->flags & MSG_PEEK)) {
            const ssize_t got =
                has_records(s) ? take_record(s->pcb.local, msg) : take_bytes(s, msg, done);

            if (!(msg->flags & MSG_PEEK))
                tell_senders(s);
            if (has_records(s))
                return got;
            done += (size_t)got;
        }
        if (done == msg->len || (done > 0 && !all))
            return (ssize_t)done;
        const ssize_t state = recv_state(s);

        if (state <= 0 || (msg->nonblock && asked))
            return done > 0 ? (ssize_t)done : state <= 0 ? state : -EAGAIN;
        if (msg->nonblock) {
            asked = true;
            thread_yield();
            continue;
        }
        const int err = sock_wait(s, msg->deadline_us);

        if (err)
            return done > 0 ? (ssize_t)done : err;
    }
}

size_t sock_unix_readable(struct sock *s)
{
    struct record head = {0};
    struct iovec iov = {&head, sizeof(head)};
    struct iov_pos pos = {&iov, 1, 0};

    if (!sock_unix_ring(s))
        return 0;
    if (!has_records(s))
        return ring_bytes(sock_unix_ring(s));
    (void)ring_peek(sock_unix_ring(s), 0, &pos, sizeof(head));
    return head.len;
}
