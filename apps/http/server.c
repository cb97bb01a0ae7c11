#include "apps/http/server.h"

#include <stdlib.h>
#include <string.h>

#include "apps/http/connection.h"
#include "apps/http/message.h"
#include "apps/http/response.h"
#include "lib/counters.h"
#include "net/tcp_serve.h"
#include "net/tcp_window.h"

enum {
    HEAD_WAIT_S = 10,
    IDLE_WAIT_S = 30,
    SEND_WAIT_S = 60,
    DRAIN_WAIT_S = 5,
    WRITE_MAX = 65535,
    WRITE_LEAST = 16384,    /* of a long body: less room is left until more is acknowledged */
    UNREAD_MAX = 65536,     /* bytes of answers on their way when the next request is looked at */
    KEPT_FIRST_BYTES = 512, /* for a part of a head */
};

static uint64_t requests, errors, timeouts, bytes_sent;
static struct counter counters[] = {
    {.name = "http_requests_total", .help = "Requests answered.", .value = &requests},
    {.name = "http_errors_total", .help = "Of them, with 4xx or 5xx.", .value = &errors},
    {.name = "http_timeouts_total",
     .help = "Connections given up because the client was too slow.",
     .value = &timeouts},
    {.name = "http_body_bytes_total",
     .help = "Bytes of bodies handed to TCP.",
     .value = &bytes_sent},
};

/* ---- sending ---- */

/*
 * The answer is TCP's now. Who asks for more and more without reading gets no further answer before most of those he has been sent
 * have arrived.
 */
static void written(struct connection *c)
{
    connection_output_free(c);
    if (!c->close_after && c->pcb->snd_lbb - c->pcb->lastack > UNREAD_MAX)
        return;
    c->seconds = 0;
    c->state = c->close_after ? ENDING : WAITING;
    connection_is_youngest(c);
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

static err_t on_end(struct connection *c)
{
    c->client_done = true;
    if (c->state == DRAINING)
        return connection_close(c);
    pump(c);
    return connection_settle(c);
}

static err_t on_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    struct connection *c = arg ? arg : connection_adopt(pcb);

    (void)err;
    if (!c && p)
        return ERR_MEM; /* lwIP offers it again */
    if (!c)
        return net_tcp_close(pcb);
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
    return connection_settle(c);
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
    return connection_settle(c);
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
    struct connection *c = arg ? arg : connection_adopt(pcb);

    if (!c)
        return ERR_OK;
    c->seconds++;
    if (is_late(c)) {
        end_late(c);
    } else if (c->state == SENDING) {
        advance(c); /* it was memory that TCP lacked */
        pump(c);
    }
    return connection_settle(c);
}

static void on_err(void *arg, err_t err)
{
    (void)err;
    if (arg)
        connection_free(arg);
}

/* ---- accepting ---- */

static err_t on_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg;
    if (err != ERR_OK || !pcb)
        return ERR_VAL;
    connection_make_room();
    tcp_nagle_disable(pcb);
    tcp_recv(pcb, on_recv);
    tcp_sent(pcb, on_sent);
    tcp_err(pcb, on_err);
    tcp_poll(pcb, on_poll, TCP_POLL_EACH_SECOND);
    connection_adopt(pcb);
    return ERR_OK;
}

int server_start(uint16_t port)
{
    const int err = net_tcp_listen(port, on_accept);

    if (err)
        return err;
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
    connection_counters_init();
    return 0;
}
