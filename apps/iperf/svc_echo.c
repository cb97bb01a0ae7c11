/*
 * Echo by reference. A received pbuf stays ours until the client has acknowledged the last byte of it:
 *
 *   head … cursor … tail, linked by pbuf->next (tcp_recv() gave us whole chains, all of them ours alone)
 *   └ sent, not acked ┘└ not yet taken by tcp_write() ┘
 *
 * Short pieces that find nothing else in flight are copied and their pbufs freed at once: request/response traffic then
 * costs one segment, and lwIP joins them. Held bytes always follow copied ones in the stream, so
 * acknowledgements are booked in that order.
 */
#include <errno.h>
#include <stdlib.h>

#include "apps/iperf/service.h"
#include "apps/iperf/services.h"
#include "lib/counters.h"
#include "lib/log.h"
#include "net/tcp_serve.h"
#include "net/tcp_window.h"

enum {
    HELD_MAX = 4 << 20,  /* bytes one connection may hold */
    HELD_MIN = 64 << 10, /* bytes it may always hold: one window without scaling */
    HELD_SHARE = 4,      /* all together: a quarter of what is free or held */
    COPY_MAX = 512, /* bytes of a pbuf worth copying: cheaper than a reference and its segment */
};

struct echo {
    struct tcp_pcb *pcb;
    struct pbuf *head, *cursor, *tail;
    size_t head_acked;     /* bytes of head that are acknowledged */
    size_t cursor_written; /* bytes of cursor that tcp_write() took */
    size_t copied_unacked; /* bytes in flight that lwIP copied */
    size_t held;           /* bytes received and not acknowledged yet */
    size_t unopened;       /* bytes received whose window isn't open again */
    bool eof, fin_sent;
    uint16_t stalled_s;
};

static uint64_t held_total; /* bytes of all connections */
static uint64_t tcp_bytes, udp_datagrams, udp_bytes, udp_dropped;
static struct counter counters[] = {
    {.name = "echo_tcp_bytes_total",
     .help = "Bytes received for echo over TCP.",
     .value = &tcp_bytes},
    {.name = "echo_held_bytes",
     .help = "Bytes that wait for echo clients to acknowledge them.",
     .type = COUNTER_GAUGE,
     .value = &held_total},
    {.name = "echo_udp_datagrams_total", .help = "Datagrams echoed.", .value = &udp_datagrams},
    {.name = "echo_udp_bytes_total", .help = "Payload bytes of them.", .value = &udp_bytes},
    {.name = "echo_udp_dropped_total",
     .help = "Datagrams for echo dropped: from another echo's port, or no memory to send.",
     .value = &udp_dropped},
};

static size_t held_limit(const struct echo *e)
{
    const size_t share = (service_memory_free() + (size_t)held_total) / HELD_SHARE;
    const size_t others = (size_t)held_total - e->held;
    const size_t limit = share > others ? share - others : 0;
    return size_max(size_min(limit, HELD_MAX), HELD_MIN);
}

/* Open the window so far that what is held and what may still come stay within the limit. */
static void open_window(struct echo *e)
{
    const size_t limit = held_limit(e);
    const size_t announced = TCP_WND > e->unopened ? TCP_WND - e->unopened : 0;
    if (!e->unopened || limit <= e->held + announced)
        return;
    const size_t len = size_min(limit - e->held - announced, e->unopened);
    e->unopened -= len;
    tcp_window_opened(e->pcb, len);
}

static void held_append(struct echo *e, struct pbuf *p)
{
    if (e->tail)
        e->tail->next = p;
    else
        e->head = p;
    if (!e->cursor) {
        e->cursor = p;
        e->cursor_written = 0;
    }
    while (p->next)
        p = p->next;
    e->tail = p;
}

static struct pbuf *pop_head(struct echo *e)
{
    struct pbuf *p = e->head;
    e->head = p->next;
    if (!e->head)
        e->tail = NULL;
    p->next = NULL;
    p->tot_len = p->len;
    return p;
}

/* Copy short pieces while nothing is in flight by reference. */
static void write_copies(struct echo *e)
{
    while (e->head && e->head == e->cursor && e->cursor_written == 0 && e->head->len <= COPY_MAX) {
        struct pbuf *p = e->head;
        if (p->len > 0) {
            if (tcp_sndbuf(e->pcb) < p->len ||
                tcp_write(e->pcb, p->payload, p->len, TCP_WRITE_FLAG_COPY) != ERR_OK)
                return;
            e->copied_unacked += p->len;
        }
        p = pop_head(e);
        e->cursor = e->head;
        pbuf_free(p);
    }
}

static void write_references(struct echo *e)
{
    while (e->cursor) {
        struct pbuf *p = e->cursor;
        const size_t len = size_min(p->len - e->cursor_written, tcp_sndbuf(e->pcb));
        if (len == 0 && e->cursor_written < p->len)
            return;
        if (len > 0 && tcp_write(e->pcb, (uint8_t *)p->payload + e->cursor_written, (u16_t)len,
                                 p->next ? TCP_WRITE_FLAG_MORE : 0) != ERR_OK)
            return;
        e->cursor_written += len;
        if (e->cursor_written < p->len)
            return;
        e->cursor = p->next;
        e->cursor_written = 0;
    }
}

static void book_acknowledged(struct echo *e, size_t len)
{
    e->held -= len;
    held_total -= len;
    const size_t copied = size_min(len, e->copied_unacked);
    e->copied_unacked -= copied;
    len -= copied;
    while (e->head && e->head != e->cursor && e->head_acked + len >= e->head->len) {
        len -= e->head->len - e->head_acked;
        e->head_acked = 0;
        pbuf_free(pop_head(e));
    }
    e->head_acked += len;
}

static void echo_free(struct echo *e)
{
    held_total -= e->held;
    while (e->head)
        pbuf_free(pop_head(e));
    free(e);
}

/* Write what can be written; after the client's FIN, and when all of it is written, send ours; close when it is delivered. */
static err_t echo_advance(struct echo *e)
{
    write_copies(e);
    write_references(e);
    if (e->eof && !e->cursor && !e->fin_sent)
        e->fin_sent = tcp_shutdown(e->pcb, 0, 1) == ERR_OK;
    if (e->fin_sent && e->held == 0) {
        struct tcp_pcb *pcb = e->pcb;
        echo_free(e);
        return net_tcp_close(pcb);
    }
    open_window(e);
    tcp_output(e->pcb);
    return ERR_OK;
}

static err_t echo_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    struct echo *e = arg;
    (void)pcb;
    (void)err;
    e->stalled_s = 0;
    if (p) {
        const size_t len = p->tot_len;
        tcp_bytes += len;
        e->held += len;
        held_total += len;
        e->unopened += len;
        held_append(e, p);
    } else {
        e->eof = true;
    }
    return echo_advance(e);
}

static err_t echo_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    struct echo *e = arg;
    (void)pcb;
    e->stalled_s = 0;
    book_acknowledged(e, len);
    return echo_advance(e);
}

static err_t echo_poll(void *arg, struct tcp_pcb *pcb)
{
    struct echo *e = arg;
    if ((e->held > 0 || e->eof) && ++e->stalled_s > SERVICE_STALL_S) {
        echo_free(e);
        return net_tcp_abort(pcb);
    }
    return echo_advance(e); /* tries again what memory was short for */
}

static void echo_err(void *arg, err_t err)
{
    (void)err;
    if (arg)
        echo_free(arg);
}

static err_t echo_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg;
    struct echo *e = service_admit(pcb, err) ? calloc(1, sizeof(*e)) : NULL;
    if (!e)
        return service_refuse(pcb);
    e->pcb = pcb;
    tcp_arg(pcb, e);
    tcp_recv(pcb, echo_recv);
    tcp_sent(pcb, echo_sent);
    tcp_err(pcb, echo_err);
    tcp_poll(pcb, echo_poll, TCP_POLL_EACH_SECOND);
    return ERR_OK;
}

static void echo_datagram(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *addr,
                          u16_t port)
{
    (void)arg;
    struct pbuf *reply = p;
    const size_t len = p->tot_len;

    if (port == PORT_ECHO || port == PORT_CHARGEN) {
        udp_dropped++;
        pbuf_free(p);
        return;
    }
    /* Sending writes headers in front of the data: not into a buffer that somebody else reads. */
    if (p->ref != 1)
        reply = pbuf_clone(PBUF_TRANSPORT, PBUF_RAM, p);
    if (reply && service_reply_udp(pcb, reply, addr, port) == ERR_OK) {
        udp_datagrams++;
        udp_bytes += len;
    } else {
        udp_dropped++;
    }
    if (reply && reply != p)
        pbuf_free(reply);
    pbuf_free(p);
}

int svc_echo_start(void)
{
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
    const int err = service_listen_tcp(PORT_ECHO, echo_accept);
    return err ? err : service_listen_udp(PORT_ECHO, echo_datagram, NULL);
}
