/*
 * The answer to one request: a head, and a body that lies in the site's files or was made for the occasion.
 */
#ifndef APPS_HTTP_RESPONSE_H
#define APPS_HTTP_RESPONSE_H

#include "apps/http/message.h"

enum {
    RESPONSE_HEAD_MAX = 1024 + 3 * MESSAGE_PATH_MAX, /* a redirection's Location is the longest */
    RESPONSE_JOIN_MAX = 1024, /* a body up to this goes out in one piece with its head, copied */
};

/* Large, and used one at a time: kept in one place by the caller, not on a stack. */
struct response {
    int status;
    bool close;          /* after this one */
    const uint8_t *body; /* what is to follow the head; NULL for none */
    size_t body_len;
    char *
        made; /* the body when it is our own, from malloc: the caller's to free; else NULL, and the body stays */
    size_t head_len;
    char head[RESPONSE_HEAD_MAX + RESPONSE_JOIN_MAX]; /* and a short body behind it */
};

/*
 * Answer a message that message_parse() understood (status 200), or one that it refused with `status`.
 * r is written whole; what was in it is forgotten.
 */
void response_make(struct response *r, const struct message *m, int status);

#endif
