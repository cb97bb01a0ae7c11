#include "apps/http/connection.h"

#include <stdlib.h>

#include "lib/counters.h"
#include "lib/log.h"
#include "lib/page_alloc.h"
#include "net/tcp_serve.h"
#include "net/tcp_window.h"

enum {
    ADMIT_SHARE =
        16 /* while less of all memory than 1/16 is free, a new connection costs an idle one */
};

static struct {
    struct connection *first, *last; /* the one that waits longest first */
} all;

static uint64_t open_connections, accepted, evicted;
static struct counter counters[] = {
    {.name = "http_connections",
     .help = "Connections open now.",
     .type = COUNTER_GAUGE,
     .value = &open_connections},
    {.name = "http_connections_total", .help = "Connections accepted.", .value = &accepted},
    {.name = "http_evicted_total",
     .help = "Idle connections closed to make room.",
     .value = &evicted},
};

void connection_counters_init(void)
{
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
}

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

void connection_is_youngest(struct connection *c)
{
    list_remove(c);
    list_append(c);
}

/* ---- the end ---- */

static void input_free(struct connection *c)
{
    if (c->in)
        pbuf_free(c->in);
    free(c->kept);
    c->in = NULL;
    c->kept = NULL;
    c->kept_len = c->kept_room = 0;
}

void connection_output_free(struct connection *c)
{
    free(c->head);
    free(c->made);
    c->head = c->made = NULL;
    c->head_len = c->body_len = 0;
}

void connection_free(struct connection *c)
{
    list_remove(c);
    open_connections--;
    input_free(c);
    connection_output_free(c);
    free(c);
}

/* Returns ERR_ABRT, for a callback of this very connection to return. */
static err_t abort_connection(struct connection *c)
{
    struct tcp_pcb *pcb = c->pcb;

    connection_free(c);
    return net_tcp_abort(pcb);
}

err_t connection_close(struct connection *c)
{
    struct tcp_pcb *pcb = c->pcb;

    connection_free(c);
    return net_tcp_close(pcb);
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
        return connection_close(c);
    if (tcp_shutdown(c->pcb, 0, 1) != ERR_OK)
        return abort_connection(c);
    c->state = DRAINING;
    c->seconds = 0;
    return ERR_OK;
}

err_t connection_settle(struct connection *c)
{
    if (c->state == FAILING)
        return abort_connection(c);
    if (c->state == ENDING)
        return end_our_half(c);
    return ERR_OK;
}

/* ---- the beginning ---- */

/* Somebody who only keeps a connection gives way to somebody who wants something. False: nobody does. */
static bool evict_idle(void)
{
    for (struct connection *c = all.first; c; c = c->next) {
        if (c->state == WAITING && c->kept_len == 0 && c->seconds > 0) {
            evicted++;
            connection_close(c);
            return true;
        }
    }
    return false;
}

void connection_make_room(void)
{
    if (page_free_count() < page_total_count() / ADMIT_SHARE)
        evict_idle();
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

struct connection *connection_adopt(struct tcp_pcb *pcb)
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
