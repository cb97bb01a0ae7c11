/*
 * A client's connection: what it holds, the list of all, and how one begins and ends. What it is used for is server.c's.
 *
 * When memory runs short the one that has been idle longest gives way. A connection for which there is none at all waits
 * with lwIP: connection_adopt() is tried again at each event on it.
 */
#ifndef APPS_HTTP_CONNECTION_H
#define APPS_HTTP_CONNECTION_H

#include <assert.h>

#include "lib/types.h"
#include "lwip/tcp.h"

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

/* Make it ours; NULL when there is no memory for that now. Then it waits, and each event on it is to try again. */
struct connection *connection_adopt(struct tcp_pcb *pcb);

/* Somebody is at the door: let the longest idle one go if memory is short. */
void connection_make_room(void);

/* It has just been used: of all, it will have waited longest last. */
void connection_is_youngest(struct connection *c);

/* Drop what is left of an answer. */
void connection_output_free(struct connection *c);

/* lwIP's block is gone already. */
void connection_free(struct connection *c);

/* FIN after what is queued; c is gone. For a callback of this connection to return. */
err_t connection_close(struct connection *c);

/*
 * The last thing a callback does: end the connection, or our half of it, if its state says so. Nothing else ends one that
 * somebody still looks at. For the callback to return.
 */
err_t connection_settle(struct connection *c);

void connection_counters_init(void);

#endif
