#include "apps/http/server.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/http/message.h"
#include "apps/http/response.h"
#include "lib/check.h"
#include "lib/counters.h"
#include "lib/log.h"
#include "lib/page_alloc.h"
#include "lwip/tcp.h"
#include "net/tcp_window.h"

enum {
    HEAD_WAIT_S = 10,
    IDLE_WAIT_S = 30,
    SEND_WAIT_S = 60,
    DRAIN_WAIT_S = 5,
    POLL_INTERVAL = 2, /* of lwIP's 500 ms: once a second */
    ADMIT_SHARE = 16,  /* a connection is taken while more than 1/16 of memory is free */
    WRITE_MAX = 65535,
};

enum state {
    WAITING,  /* for a request: idle, or part of a head is there */
    SENDING,  /* an answer */
    DRAINING, /* all is sent and closed; what the client still sends is dropped */
};

struct connection {
    struct connection *next, *prev; /* of all, the one that waits longest first */
    struct tcp_pcb *pcb;
    enum state state;
    bool client_done, close_after;
    uint16_t seconds; /* in this state without progress; for a head: since its first byte */
    char *kept; /* bytes not yet understood; MESSAGE_HEAD_MAX of them, NULL while there are none */
    size_t kept_len;
    uint64_t skip;        /* bytes of a body that nobody reads */
    struct response *out; /* the answer, while SENDING */
    uint64_t head_written, written, unacked;
};

static struct {
    struct connection *first, *last;
} all;

static uint64_t open_connections, accepted, requests, errors, timeouts, evicted, bytes_sent;
static struct counter counters[] = {
    {.name = "http_connections",
     .help = "Connections open now.",
     .type = COUNTER_GAUGE,
     .value = &open_connections},
    {.name = "http_connections_total", .help = "Connections accepted.", .value = &accepted},
    {.name = "http_requests_total", .help = "Requests answered.", .value = &requests},
    {.name = "http_errors_total", .help = "Of them, with 4xx or 5xx.", .value = &errors},
    {.name = "http_timeouts_total",
     .help = "Connections given up because the client was too slow.",
     .value = &timeouts},
    {.name = "http_evicted_total",
     .help = "Idle connections closed to make room.",
     .value = &evicted},
    {.name = "http_body_bytes_total",
     .help = "Bytes of bodies handed to TCP.",
     .value = &bytes_sent},
};

/* ---- the list ---- */

static void list_remove(struct connection *c)
{
    if (c->prev)
        c->prev->next = c->next;
    else
        all.first = c->next;
    if (c->next)
        c->next->prev = c->prev;
    else
        all.last = c->prev;
}

static void list_append(struct connection *c)
{
    c->next = NULL;
    c->prev = all.last;
    if (all.last)
        all.last->next = c;
    else
        all.first = c;
    all.last = c;
}

/* ---- the end of a connection ---- */

static void out_free(struct connection *c)
{
    if (!c->out)
        return;
    response_free(c->out);
    free(c->out);
    c->out = NULL;
}

static void connection_free(struct connection *c)
{
    list_remove(c);
    open_connections--;
    out_free(c);
    free(c->kept);
    free(c);
}

static void forget_callbacks(struct tcp_pcb *pcb)
{
    tcp_arg(pcb, NULL);
    tcp_recv(pcb, NULL);
    tcp_sent(pcb, NULL);
    tcp_err(pcb, NULL);
    tcp_poll(pcb, NULL, 0);
}

/* Returns ERR_ABRT, for a callback of this very connection to return. */
static err_t abort_connection(struct connection *c)
{
    struct tcp_pcb *pcb = c->pcb;

    connection_free(c);
    forget_callbacks(pcb);
    tcp_abort(pcb);
    return ERR_ABRT;
}

static err_t close_connection(struct connection *c)
{
    struct tcp_pcb *pcb = c->pcb;

    connection_free(c);
    forget_callbacks(pcb);
    if (tcp_close(pcb) == ERR_OK)
        return ERR_OK;
    tcp_abort(pcb);
    return ERR_ABRT;
}

/* Our last byte is acknowledged. A client that may still be sending gets time to read the answer before a reset could overtake it. */
static err_t finish(struct connection *c)
{
    if (c->client_done)
        return close_connection(c);
    if (tcp_shutdown(c->pcb, 0, 1) != ERR_OK)
        return abort_connection(c);
    c->state = DRAINING;
    c->seconds = 0;
    free(c->kept);
    c->kept = NULL;
    c->kept_len = 0;
    return ERR_OK;
}

/* ---- sending ---- */

static err_t next_request(struct connection *c);

/* Hand TCP what fits. The head is copied, the body is not. */
static void write_more(struct connection *c)
{
    struct response *r = c->out;

    if (c->head_written == 0) {
        if (tcp_sndbuf(c->pcb) < r->head_len ||
            tcp_write(c->pcb, r->head, (u16_t)r->head_len,
                      TCP_WRITE_FLAG_COPY | (r->body_len > 0 ? TCP_WRITE_FLAG_MORE : 0)) != ERR_OK)
            return;
        c->head_written = r->head_len;
        c->unacked += r->head_len;
    }
    while (c->written < r->body_len) {
        const uint64_t left = r->body_len - c->written;
        const size_t part =
            size_min(left < WRITE_MAX ? (size_t)left : WRITE_MAX, tcp_sndbuf(c->pcb));

        if (part == 0 || tcp_write(c->pcb, r->body + c->written, (u16_t)part,
                                   part < left ? TCP_WRITE_FLAG_MORE : 0) != ERR_OK)
            return;
        c->written += part;
        c->unacked += part;
        bytes_sent += part;
    }
}

static bool all_written(const struct connection *c)
{
    return c->head_written > 0 && c->written == c->out->body_len;
}

static err_t advance(struct connection *c)
{
    if (c->state != SENDING)
        return ERR_OK;
    write_more(c);
    if (!all_written(c) || c->unacked > 0) {
        tcp_output(c->pcb);
        return ERR_OK;
    }
    out_free(c);
    if (c->close_after)
        return finish(c);
    c->state = WAITING;
    c->seconds = 0;
    list_remove(c);
    list_append(c);
    return next_request(c);
}

static err_t answer(struct connection *c, const struct message *m, int status)
{
    c->out = malloc(sizeof *c->out);
    if (!c->out)
        return abort_connection(c);
    response_make(c->out, m, status);
    requests++;
    errors += c->out->status >= 400;
    c->state = SENDING;
    c->seconds = 0;
    c->head_written = c->written = 0;
    c->close_after = c->out->close;
    return advance(c);
}

/* ---- requests ---- */

static void drop_kept(struct connection *c, size_t len)
{
    c->kept_len -= len;
    memmove(c->kept, c->kept + len, c->kept_len);
    if (c->kept_len > 0)
        return;
    free(c->kept);
    c->kept = NULL;
}

static void skip_body(struct connection *c)
{
    const size_t part = c->skip < c->kept_len ? (size_t)c->skip : c->kept_len;

    c->skip -= part;
    if (part > 0)
        drop_kept(c, part);
}

/* Answer what is whole among the bytes at hand. */
static err_t next_request(struct connection *c)
{
    struct message m;

    skip_body(c);
    if (c->kept_len == 0)
        return c->client_done ? close_connection(c) : ERR_OK;
    const int status = message_parse(c->kept, c->kept_len, &m);

    if (status == 0)
        return c->client_done ? answer(c, &m, 400) : ERR_OK;
    if (status == 200) {
        c->skip = m.body_len;
        drop_kept(c, m.head_len);
    }
    return answer(c, &m, status);
}

static bool keep(struct connection *c, const struct pbuf *p)
{
    if (!c->kept && !(c->kept = malloc(MESSAGE_HEAD_MAX)))
        return false;
    pbuf_copy_partial(p, c->kept + c->kept_len, p->tot_len, 0);
    c->kept_len += p->tot_len;
    return true;
}

/* The usual case: an idle connection, and a whole request in one piece. Nothing is copied. */
static bool answer_in_place(struct connection *c, struct pbuf *p, err_t *result)
{
    struct message m;

    if (c->state != WAITING || c->kept_len > 0 || c->skip > 0 || p->next)
        return false;
    const int status = message_parse(p->payload, p->len, &m);

    if (status != 200 || m.head_len != p->len || m.body_len > 0)
        return false;
    tcp_window_opened(c->pcb, p->tot_len);
    *result = answer(c, &m, 200);
    pbuf_free(p);
    return true;
}

/* As much as a head may have is kept. More stays with TCP, whose window closes, until there is room. */
static err_t take_bytes(struct connection *c, struct pbuf *p)
{
    const size_t room = MESSAGE_HEAD_MAX - c->kept_len;

    if (p->tot_len > room && c->state == SENDING)
        return ERR_MEM; /* lwIP offers it again */
    if (p->tot_len > room)
        pbuf_realloc(p, (u16_t)room); /* too long for a head: what is kept is refused, and closed */
    if (!keep(c, p)) {
        pbuf_free(p);
        return abort_connection(c);
    }
    pbuf_free(p);
    return ERR_OK;
}

static err_t on_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    struct connection *c = arg;
    err_t result;

    (void)err;
    if (!p) {
        c->client_done = true;
        return c->state == SENDING    ? ERR_OK
               : c->state == DRAINING ? close_connection(c)
                                      : next_request(c);
    }
    const uint16_t len = p->tot_len;

    if (c->state == DRAINING) {
        pbuf_free(p);
        tcp_window_opened(pcb, len);
        return ERR_OK;
    }
    if (answer_in_place(c, p, &result))
        return result;
    const bool first = c->kept_len == 0;

    result = take_bytes(c, p);
    if (result != ERR_OK)
        return result;
    tcp_window_opened(pcb, len);
    if (c->state != WAITING)
        return ERR_OK;
    if (first)
        c->seconds = 0;
    return next_request(c);
}

static err_t on_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    struct connection *c = arg;

    (void)pcb;
    c->seconds = 0;
    c->unacked -= c->unacked < len ? c->unacked : len; /* our FIN counts as one, too */
    return advance(c);
}

/* ---- time ---- */

static err_t on_poll(void *arg, struct tcp_pcb *pcb)
{
    struct connection *c = arg;
    const struct message none = {0};

    (void)pcb;
    c->seconds++;
    switch (c->state) {
    case WAITING:
        if (c->kept_len > 0 && c->seconds > HEAD_WAIT_S) {
            timeouts++;
            return answer(c, &none, 408);
        }
        return c->kept_len == 0 && c->seconds > IDLE_WAIT_S ? close_connection(c) : ERR_OK;
    case SENDING:
        if (c->seconds <= SEND_WAIT_S)
            return advance(c);
        break;
    case DRAINING:
        if (c->seconds <= DRAIN_WAIT_S)
            return ERR_OK;
        break;
    }
    timeouts++;
    return abort_connection(c);
}

static void on_err(void *arg, err_t err)
{
    (void)err;
    if (arg)
        connection_free(arg);
}

/* ---- accepting ---- */

static bool memory_is_short(void)
{
    return page_free_count() < page_total_count() / ADMIT_SHARE;
}

/* Somebody who only keeps a connection gives way to somebody who wants something. */
static void evict_idle(void)
{
    for (struct connection *c = all.first; c; c = c->next) {
        if (c->state == WAITING && c->kept_len == 0 && c->seconds > 0) {
            evicted++;
            close_connection(c);
            return;
        }
    }
}

static err_t on_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg;
    if (err != ERR_OK || !pcb)
        return ERR_VAL;
    if (memory_is_short())
        evict_idle();
    struct connection *c = calloc(1, sizeof *c);

    if (!c) {
        log_limited(LOG_WARN, "http", "no memory for a connection");
        tcp_abort(pcb);
        return ERR_ABRT;
    }
    c->pcb = pcb;
    list_append(c);
    open_connections++;
    accepted++;
    tcp_nagle_disable(pcb);
    tcp_arg(pcb, c);
    tcp_recv(pcb, on_recv);
    tcp_sent(pcb, on_sent);
    tcp_err(pcb, on_err);
    tcp_poll(pcb, on_poll, POLL_INTERVAL);
    return ERR_OK;
}

int server_start(uint16_t port)
{
    struct tcp_pcb *pcb = tcp_new_ip_type(IPADDR_TYPE_ANY);

    if (!pcb)
        return -ENOMEM;
    if (tcp_bind(pcb, IP_ANY_TYPE, port) != ERR_OK) {
        tcp_close(pcb);
        return -EADDRINUSE;
    }
    struct tcp_pcb *listener = tcp_listen(pcb);

    if (!listener) {
        tcp_close(pcb);
        return -ENOMEM;
    }
    tcp_accept(listener, on_accept);
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
    return 0;
}
