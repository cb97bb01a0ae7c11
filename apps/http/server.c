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
    WRITE_LEAST = 16384,    /* of a long body: less room is left until more is acknowledged */
    UNREAD_MAX = 65536,     /* bytes of answers on their way when the next request is looked at */
    KEPT_FIRST_BYTES = 512, /* for a part of a head */
};

enum state {
    WAITING,  /* for a request: idle, or part of one is there */
    SENDING,  /* an answer that TCP did not take whole yet */
    ENDING,   /* all is written: end our half before the callback returns */
    DRAINING, /* our half has ended; what the client still sends is dropped */
    FAILING,  /* to be reset before the callback returns */
};

/* What a connection costs while it waits: this, and lwIP's control block. */
struct connection {
    struct connection *next, *prev; /* of all, the one that waits longest first */
    struct tcp_pcb *pcb;
    enum state state;
    bool client_done, close_after;
    uint16_t seconds; /* in this state without progress; for a head: since its first byte */
    uint32_t skip;    /* bytes to come of a body that nobody reads */
    struct pbuf *in;  /* received, not yet looked at: in_at bytes of it are done. NULL mostly */
    uint32_t in_at;
    uint32_t kept_len, kept_room;
    char *kept;          /* a part of a head: kept_len bytes; NULL while there are none */
    char *head;          /* of the answer, when TCP did not take it; from malloc */
    const uint8_t *body; /* what is still to be written */
    size_t head_len, body_len;
    char *made; /* holds the body; NULL: it stays by itself and is sent without a copy */
};
static_assert(sizeof(struct connection) <= 160, "thousands of them");

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

static void input_free(struct connection *c)
{
    if (c->in)
        pbuf_free(c->in);
    free(c->kept);
    c->in = NULL;
    c->kept = NULL;
    c->kept_len = c->kept_room = 0;
}

static void output_free(struct connection *c)
{
    free(c->head);
    free(c->made);
    c->head = c->made = NULL;
    c->head_len = c->body_len = 0;
}

static void connection_free(struct connection *c)
{
    list_remove(c);
    open_connections--;
    input_free(c);
    output_free(c);
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

static err_t close_pcb(struct tcp_pcb *pcb)
{
    forget_callbacks(pcb);
    if (tcp_close(pcb) == ERR_OK)
        return ERR_OK;
    tcp_abort(pcb);
    return ERR_ABRT;
}

static err_t close_connection(struct connection *c)
{
    struct tcp_pcb *pcb = c->pcb;

    connection_free(c);
    return close_pcb(pcb);
}

/*
 * All is written; the FIN goes with the last bytes. A client that may still be sending gets time to read the answer before a reset
 * could overtake it (RFC 9112 §9.6), so lwIP's tcp_close() has to wait for the client's own end.
 */
static err_t end_our_half(struct connection *c)
{
    const uint32_t held = c->in ? c->in->tot_len - c->in_at : 0;

    input_free(c);
    if (held > 0)
        tcp_window_opened(c->pcb, held); /* lwIP resets a connection closed with bytes unread */
    if (c->client_done)
        return close_connection(c);
    if (tcp_shutdown(c->pcb, 0, 1) != ERR_OK)
        return abort_connection(c);
    c->state = DRAINING;
    c->seconds = 0;
    return ERR_OK;
}

/* The last thing a callback does: nothing above this line ends a connection that somebody still looks at. */
static err_t settle(struct connection *c)
{
    if (c->state == FAILING)
        return abort_connection(c);
    if (c->state == ENDING)
        return end_our_half(c);
    return ERR_OK;
}

/* ---- sending ---- */

/*
 * The answer is TCP's now. Who asks for more and more without reading gets no further answer before most of those he has been sent
 * have arrived.
 */
static void written(struct connection *c)
{
    output_free(c);
    if (!c->close_after && c->pcb->snd_lbb - c->pcb->lastack > UNREAD_MAX)
        return;
    c->seconds = 0;
    c->state = c->close_after ? ENDING : WAITING;
    list_remove(c);
    list_append(c);
}

/* Hand TCP what fits. What lies in a module stays there for good, and is not copied. */
static void write_body(struct connection *c)
{
    const uint8_t copy = c->made ? TCP_WRITE_FLAG_COPY : 0;

    while (c->body_len > 0) {
        const size_t part = size_min(size_min(c->body_len, WRITE_MAX), tcp_sndbuf(c->pcb));
        const uint8_t more = part < c->body_len ? TCP_WRITE_FLAG_MORE : 0;

        if (part < size_min(c->body_len, WRITE_LEAST) ||
            tcp_write(c->pcb, c->body, (u16_t)part, copy | more) != ERR_OK)
            return;
        c->body += part;
        c->body_len -= part;
        bytes_sent += part;
    }
}

/* The head as it was, or what is kept of it. False: TCP has no room now. */
static bool write_head(struct connection *c, const char *head, size_t len)
{
    const uint8_t more = c->body_len > 0 ? TCP_WRITE_FLAG_MORE : 0;

    return tcp_sndbuf(c->pcb) >= len &&
           tcp_write(c->pcb, head, (u16_t)len, TCP_WRITE_FLAG_COPY | more) == ERR_OK;
}

/* Go on with an answer that was not taken whole. */
static void advance(struct connection *c)
{
    if (c->head) {
        if (!write_head(c, c->head, c->head_len))
            return;
        free(c->head);
        c->head = NULL;
    }
    write_body(c);
    if (c->body_len == 0)
        written(c);
}

static void keep_head(struct connection *c, const struct response *r)
{
    c->head = malloc(r->head_len);
    if (!c->head) {
        c->state = FAILING;
        return;
    }
    memcpy(c->head, r->head, r->head_len);
    c->head_len = r->head_len;
}

/* TCP sends it when the callback returns, so that the answers to several requests go together. */
static void answer(struct connection *c, const struct message *m, int status)
{
    static struct response r;

    response_make(&r, m, status);
    requests++;
    errors += r.status >= 400;
    c->state = SENDING;
    c->seconds = 0;
    c->close_after = r.close;
    c->body = r.body;
    c->body_len = r.body_len;
    c->made = r.made;
    if (write_head(c, r.head, r.head_len))
        advance(c);
    else
        keep_head(c, &r);
}

/* ---- requests ---- */

static size_t skip_body(struct connection *c, size_t len)
{
    const size_t part = size_min(c->skip, len);

    c->skip -= (uint32_t)part;
    return part;
}

/* Answer the requests that are whole, until an answer has to wait for TCP. Returns how many bytes are done with. */
static size_t serve(struct connection *c, const char *bytes, size_t len)
{
    size_t used = 0;

    while (c->state == WAITING) {
        struct message m;

        used += skip_body(c, len - used);
        const int status = used < len ? message_parse(bytes + used, len - used, &m) : 0;

        if (status == 0)
            break;
        if (status == 200) {
            used += m.head_len;
            c->skip = (uint32_t)m.body_len;
        } else {
            used = len;
        }
        answer(c, &m, status);
    }
    return used;
}

/* ---- bytes that can't be served from where they were received ---- */

/* Room for the part of a head that is there: it begins small, because most heads are. */
static bool kept_grow(struct connection *c, size_t wanted)
{
    if (wanted <= c->kept_room)
        return true;
    const size_t room = size_min(size_max(2 * wanted, KEPT_FIRST_BYTES), MESSAGE_HEAD_MAX);
    char *more = realloc(c->kept, room);

    if (!more)
        return false;
    c->kept = more;
    c->kept_room = (uint32_t)room;
    return true;
}

static void kept_drop(struct connection *c, size_t len)
{
    c->kept_len -= (uint32_t)len;
    if (c->kept_len > 0) {
        memmove(c->kept, c->kept + len, c->kept_len);
        return;
    }
    free(c->kept);
    c->kept = NULL;
    c->kept_room = 0;
}

/* Take over from the received buffers as much as a head may have. */
static void keep_some(struct connection *c)
{
    const size_t left = c->in->tot_len - c->in_at;
    const size_t part = size_min(left, MESSAGE_HEAD_MAX - c->kept_len);

    if (!kept_grow(c, c->kept_len + part)) {
        c->state = FAILING;
        return;
    }
    if (c->kept_len == 0)
        c->seconds = 0;
    pbuf_copy_partial(c->in, c->kept + c->kept_len, (u16_t)part, (u16_t)c->in_at);
    c->kept_len += (uint32_t)part;
    c->in_at += (uint32_t)part;
    if (part == left) {
        pbuf_free(c->in);
        c->in = NULL;
    }
    tcp_window_opened(c->pcb, part);
}

/* Go on with what is there while requests can be answered. */
static void pump(struct connection *c)
{
    while (c->state == WAITING && (c->in || c->kept_len > 0)) {
        if (c->in && c->kept_len < MESSAGE_HEAD_MAX)
            keep_some(c);
        if (c->state != WAITING)
            return;
        const size_t used = serve(c, c->kept, c->kept_len);

        if (used > 0)
            kept_drop(c, used);
        else if (!c->in)
            break; /* part of a head */
    }
    if (c->state != WAITING || !c->client_done)
        return;
    if (c->kept_len > 0) {
        const struct message none = {0};

        kept_drop(c, c->kept_len);
        answer(c, &none, 400); /* the client has ended in the middle of its head */
    } else {
        c->state = ENDING;
    }
}

/* The usual case: requests that lie whole in what was received. Nothing is copied. */
static void serve_in_place(struct connection *c, struct pbuf *p)
{
    const size_t used = serve(c, p->payload, p->len);

    if (used > 0)
        tcp_window_opened(c->pcb, used);
    if (used == p->tot_len) {
        pbuf_free(p);
        return;
    }
    c->in = p;
    c->in_at = (uint32_t)used;
    pump(c);
}

/* ---- callbacks of lwIP ---- */

static struct connection *adopt(struct tcp_pcb *pcb);

static err_t on_end(struct connection *c)
{
    c->client_done = true;
    if (c->state == DRAINING)
        return close_connection(c);
    pump(c);
    return settle(c);
}

static err_t on_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    struct connection *c = arg ? arg : adopt(pcb);

    (void)err;
    if (!c && p)
        return ERR_MEM; /* lwIP offers it again */
    if (!c)
        return close_pcb(pcb);
    if (!p)
        return on_end(c);
    if (c->state == DRAINING) {
        const uint16_t len = p->tot_len;

        pbuf_free(p);
        tcp_window_opened(pcb, len);
        return ERR_OK;
    }
    /* While an answer waits for the client, what it sends waits, too: the window closes. */
    if (c->in)
        return ERR_MEM;
    if (c->state == WAITING && c->kept_len == 0) {
        serve_in_place(c, p);
    } else {
        c->in = p;
        c->in_at = 0;
        pump(c);
    }
    return settle(c);
}

static err_t on_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    struct connection *c = arg;

    (void)pcb;
    (void)len;
    if (!c)
        return ERR_OK;
    if (c->state == DRAINING)
        c->seconds = 0;
    if (c->state != SENDING)
        return ERR_OK;
    c->seconds = 0;
    advance(c);
    pump(c);
    return settle(c);
}

/* ---- time ---- */

static bool is_late(const struct connection *c)
{
    switch (c->state) {
    case WAITING:
        return c->seconds > (c->kept_len > 0 || c->skip > 0 ? HEAD_WAIT_S : IDLE_WAIT_S);
    case DRAINING:
        return c->seconds > (tcp_sndqueuelen(c->pcb) > 0 ? SEND_WAIT_S : DRAIN_WAIT_S);
    default:
        return c->seconds > SEND_WAIT_S;
    }
}

static void end_late(struct connection *c)
{
    const struct message none = {0};

    if (c->state != WAITING) {
        timeouts++;
        c->state = FAILING;
    } else if (c->kept_len > 0) {
        timeouts++;
        kept_drop(c, c->kept_len);
        answer(c, &none, 408);
    } else {
        timeouts += c->skip > 0;
        c->state = ENDING;
    }
}

static err_t on_poll(void *arg, struct tcp_pcb *pcb)
{
    struct connection *c = arg ? arg : adopt(pcb);

    if (!c)
        return ERR_OK;
    c->seconds++;
    if (is_late(c)) {
        end_late(c);
    } else if (c->state == SENDING) {
        advance(c); /* it was memory that TCP lacked */
        pump(c);
    }
    return settle(c);
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

/* Somebody who only keeps a connection gives way to somebody who wants something. False: nobody does. */
static bool evict_idle(void)
{
    for (struct connection *c = all.first; c; c = c->next) {
        if (c->state == WAITING && c->kept_len == 0 && c->seconds > 0) {
            evicted++;
            close_connection(c);
            return true;
        }
    }
    return false;
}

static struct connection *connection_new(void)
{
    struct connection *c;

    do {
        c = calloc(1, sizeof *c);
    } while (!c && evict_idle());
    if (!c)
        log_limited(LOG_WARN, "http", "a connection waits: memory is short");
    return c;
}

/* Make it ours; NULL when there is no memory for that now. Then it waits, and each event on it tries again. */
static struct connection *adopt(struct tcp_pcb *pcb)
{
    struct connection *c = connection_new();

    if (!c)
        return NULL;
    c->pcb = pcb;
    list_append(c);
    open_connections++;
    accepted++;
    tcp_arg(pcb, c);
    return c;
}

static err_t on_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg;
    if (err != ERR_OK || !pcb)
        return ERR_VAL;
    if (memory_is_short())
        evict_idle();
    tcp_nagle_disable(pcb);
    tcp_recv(pcb, on_recv);
    tcp_sent(pcb, on_sent);
    tcp_err(pcb, on_err);
    tcp_poll(pcb, on_poll, POLL_INTERVAL);
    adopt(pcb);
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
