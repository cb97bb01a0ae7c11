/* TCP sockets: the bytes, between lwIP's buffers and the program's. */
#include <errno.h>
#include <string.h>

#include "lib/page_alloc.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "net/sock_tcp.h"
#include "net/tcp_window.h"
#include "port/clock.h"

enum {
    WRITE_MAX = 0xffff,       /* tcp_write()'s length is 16 bits */
    STARVED_RETRY_US = 10000, /* no memory: nobody tells when there is some again */
    RTT_EVERY = 8,            /* sends: reading the clock for each would cost more than it tells */
};

/*
 * What one connection may hold in one direction now: an eighth of the memory that is free beyond the reserve. As many
 * fill up, the share of each shrinks before the memory is gone (dynamic thresholds, Choudhury and Hahne 1998), and all
 * go on with at least a little.
 */
static size_t memory_share(void)
{
    const size_t reserve = page_total_count() / 4; /* receive buffers stop being taken there */
    const size_t free_pages = page_free_count();

    if (free_pages <= reserve / 2)
        return SOCK_BUF_SCANT;
    if (free_pages <= reserve)
        return SOCK_BUF_MIN;
    return size_max((free_pages - reserve) / 8 * PAGE_BYTES, SOCK_BUF_MIN);
}

/* SO_SNDBUF, as far as memory allows. */
static size_t send_limit(const struct sock *s)
{
    return size_min(sock_buffer_bytes(s->send_limit), memory_share());
}

/* Bytes that may be added to what is unacknowledged. */
static size_t send_room(const struct sock *s)
{
    const size_t used = TCP_SND_BUF - s->pcb.tcp->snd_buf; /* tcp_sndbuf() cuts it to 16 bits */
    const size_t limit = send_limit(s);

    return limit > used ? limit - used : 0;
}

bool sock_tcp_writable(const struct sock *s)
{
    return s->pcb.tcp && !s->send_starved && send_room(s) >= send_limit(s) / 4 &&
           tcp_sndqueuelen(s->pcb.tcp) < TCP_SND_QUEUELEN / 2;
}

/* ---- round-trip time, for TCP_INFO: RFC 6298 §2, on the clock instead of half seconds ---- */

static void rtt_start(struct sock *s)
{
    if (s->rtt_sent_us || s->rtt_rest-- > 0)
        return;
    s->rtt_rest = RTT_EVERY;
    s->rtt_seq = s->pcb.tcp->snd_nxt;
    s->rtt_sent_us = clock_now_us();
}

void sock_tcp_rtt_acked(struct sock *s)
{
    if (!s->rtt_sent_us || TCP_SEQ_LT(s->pcb.tcp->lastack, s->rtt_seq))
        return;
    /* 0 means "not measured". */
    const uint32_t took_us = (uint32_t)(clock_now_us() - s->rtt_sent_us) | 1;
    const uint32_t off_us = took_us > s->rtt_us ? took_us - s->rtt_us : s->rtt_us - took_us;

    s->rtt_sent_us = 0;
    if (s->pcb.tcp->nrtx > 0)
        return; /* Karn's rule: which one was acknowledged? */
    s->rtt_var_us = s->rtt_us ? (3 * s->rtt_var_us + off_us) / 4 : took_us / 2;
    s->rtt_us = s->rtt_us ? (7 * s->rtt_us + took_us) / 8 : took_us;
    if (!s->rtt_min_us || took_us < s->rtt_min_us)
        s->rtt_min_us = took_us;
}

/* ---- sending ---- */

/* A cork holds back what doesn't fill a segment. */
static bool may_leave(const struct sock *s, const struct sock_msg *msg)
{
    const struct tcp_seg *unsent = s->pcb.tcp->unsent;

    if (!s->opt.cork && !(msg->flags & MSG_MORE))
        return true;
    return unsent && (unsent->next || unsent->len >= s->pcb.tcp->mss);
}

/* Hand over as much as fits now. Returns bytes; adds to *done. */
static void write_some(struct sock *s, struct sock_msg *msg, size_t *done)
{
    struct tcp_pcb *pcb = s->pcb.tcp;
    const struct iov_pos start = msg->pos;
    void *piece;

    for (;;) {
        const struct iov_pos before = msg->pos;
        const size_t room = size_min(send_room(s), WRITE_MAX);
        const size_t len = room ? iov_piece(&msg->pos, &piece, room) : 0;

        if (len == 0)
            break;
        const bool more = *done + len < msg->len || (msg->flags & MSG_MORE);
        const err_t err = tcp_write(pcb, piece, (u16_t)len,
                                    TCP_WRITE_FLAG_COPY | (more ? TCP_WRITE_FLAG_MORE : 0));

        if (err != ERR_OK) {
            msg->pos = before;
            s->send_starved = true;
            break;
        }
        *done += len;
    }
    if (msg->pos.iov != start.iov || msg->pos.offset != start.offset) {
        if (may_leave(s, msg))
            (void)tcp_output(pcb);
        rtt_start(s);
    }
}

/* Why nothing can be sent, ever or yet. 0: it can. An error is for the call that has sent nothing. */
static int send_state(struct sock *s, size_t done)
{
    if (s->error)
        return done > 0 ? -EPIPE : sock_take_error(s);
    if (s->state == SOCK_CONNECTING)
        return -EAGAIN;
    if (s->state != SOCK_CONNECTED || s->write_shut || !s->pcb.tcp)
        return -EPIPE;
    return 0;
}

static int send_wait(struct sock *s, uint64_t deadline_us)
{
    if (!s->send_starved)
        return sock_wait(s, deadline_us);
    const uint64_t retry_us = clock_now_us() + STARVED_RETRY_US;
    const int err = sock_wait(s, retry_us < deadline_us ? retry_us : deadline_us);

    s->send_starved = false;
    return err == -EAGAIN && clock_now_us() < deadline_us ? 0 : err;
}

ssize_t sock_tcp_send(struct sock *s, struct sock_msg *msg)
{
    size_t done = 0;
    bool asked_network = !msg->nonblock;

    for (;;) {
        int err = send_state(s, done);

        if (!err) {
            write_some(s, msg, &done);
            if (done == msg->len)
                return (ssize_t)done;
        }
        if (err && err != -EAGAIN)
            return done > 0 ? (ssize_t)done : err;
        if (msg->nonblock) {
            if (asked_network || done > 0)
                return done > 0 ? (ssize_t)done : -EAGAIN;
            asked_network = true; /* a loop of send() and nothing else would never see an ACK */
            thread_yield();
            continue;
        }
        err = send_wait(s, msg->deadline_us);
        if (err)
            return done > 0 ? (ssize_t)done : err;
    }
}

/* ---- the receive window ---- */

size_t sock_tcp_lowat(const struct sock *s)
{
    return size_max(size_min((size_t)s->opt.recv_lowat, s->window_target / 2), 1);
}

void sock_tcp_window_start(struct sock *s)
{
    struct tcp_pcb *pcb = s->pcb.tcp;

    s->window_target = size_min(sock_buffer_bytes(s->recv_limit), SOCK_BUF_MIN);
    if (pcb->rcv_wnd <= s->window_target)
        return;
    /* Not a shrinking one: a SYN announces at most these 64 KiB, and nothing else was sent. */
    s->window_held = pcb->rcv_wnd - s->window_target;
    pcb->rcv_wnd = pcb->rcv_ann_wnd = (tcpwnd_size_t)s->window_target;
    pcb->rcv_ann_right_edge = pcb->rcv_nxt + pcb->rcv_ann_wnd;
}

/* tcp_window.c thinks of whole windows and segments. With a small SO_RCVBUF neither ever opens, so half of it is news enough
 * (RFC 1122 §4.2.3.3). */
static void announce_small(struct tcp_pcb *pcb, size_t target)
{
    const u32_t announced = pcb->rcv_ann_right_edge - pcb->rcv_nxt;
    const u32_t seen = TCP_SEQ_GT(pcb->rcv_ann_right_edge, pcb->rcv_nxt) ? announced : 0;

    if (target < 2 * (size_t)pcb->mss && pcb->rcv_wnd > seen &&
        pcb->rcv_wnd - seen >= LWIP_MIN(target / 2, pcb->mss)) {
        pcb->rcv_ann_wnd = pcb->rcv_wnd; /* lwIP leaves it until a whole segment fits */
        tcp_ack_now(pcb);
        (void)tcp_output(pcb);
    }
}

void sock_tcp_window_update(struct sock *s, size_t consumed)
{
    struct tcp_pcb *pcb = s->pcb.tcp;

    if (!pcb)
        return;
    s->window_target = size_min(sock_buffer_bytes(s->recv_limit), s->window_target + consumed);
    s->window_held += consumed;

    const size_t target = size_min(s->window_target, memory_share());
    const size_t promised = pcb->rcv_wnd + s->recv_queue.bytes;
    const size_t give = target > promised ? size_min(target - promised, s->window_held) : 0;

    if (give > 0) {
        s->window_held -= give;
        tcp_window_opened(pcb, give);
        announce_small(pcb, target);
    }
}

void sock_tcp_window_restore(struct sock *s)
{
    /* For lwIP's books only, which want a whole window when a connection is closed. The peer isn't told: a close would cost a
     * dozen ACKs, and invite data that nobody will read. */
    if (s->pcb.tcp)
        s->pcb.tcp->rcv_wnd = (tcpwnd_size_t)(s->pcb.tcp->rcv_wnd + s->window_held);
    s->window_held = 0;
}

/* ---- receiving ---- */

/* Copy from the front of the queue, or past *done bytes of it when peeking. */
static void read_some(struct sock *s, struct sock_msg *msg, size_t *done)
{
    struct pbuf_queue *q = &s->recv_queue;
    const bool peek = msg->flags & MSG_PEEK;
    const bool discard = msg->flags & MSG_TRUNC; /* Linux: TCP drops instead of copying */
    const size_t before = *done;
    const void *data;
    size_t len;

    while (*done < msg->len &&
           (len = pbufq_peek(q, peek ? *done : 0, &data, msg->len - *done)) > 0) {
        if (!discard)
            (void)iov_put(&msg->pos, data, len);
        if (!peek)
            pbufq_drop(q, len);
        *done += len;
    }
    if (!peek && *done > before)
        sock_tcp_window_update(s, *done - before);
}

/* Why nothing more will come. 1: it may. 0: end of file. An error is for the call that has read nothing. */
static int recv_state(struct sock *s, size_t done)
{
    if (s->error)
        return done > 0 ? 0 : sock_take_error(s);
    if (s->read_eof || s->read_shut || s->state == SOCK_DEAD)
        return 0;
    if (s->state == SOCK_IDLE || s->state == SOCK_LISTENING)
        return -ENOTCONN;
    return 1;
}

/* Peeking copies the same bytes again, so a longer wait starts over. */
static void restart_peek(struct sock_msg *msg, const struct iov_pos *start, size_t *done)
{
    if (msg->flags & MSG_PEEK) {
        msg->pos = *start;
        *done = 0;
    }
}

ssize_t sock_tcp_recv(struct sock *s, struct sock_msg *msg)
{
    const struct iov_pos start = msg->pos;
    const size_t wanted =
        (msg->flags & MSG_WAITALL) ? msg->len : size_min(msg->len, sock_tcp_lowat(s));
    bool asked_network = !msg->nonblock;
    size_t done = 0;

    for (;;) {
        restart_peek(msg, &start, &done);
        read_some(s, msg, &done);
        if (done >= wanted && (done > 0 || s->recv_queue.bytes > 0))
            return (ssize_t)done;
        const int state = recv_state(s, done);

        if (state <= 0)
            return done > 0 ? (ssize_t)done : state;
        if (msg->nonblock) {
            if (asked_network || done > 0)
                return done > 0 ? (ssize_t)done : -EAGAIN;
            asked_network = true;
            thread_yield();
            continue;
        }
        const int err = sock_wait(s, msg->deadline_us);

        if (err)
            return done > 0 ? (ssize_t)done : err;
    }
}
