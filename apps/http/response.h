/*
 * The answer to one request: a head, and a body that lies in the site's files or was made for the occasion.
 */
#ifndef APPS_HTTP_RESPONSE_H
#define APPS_HTTP_RESPONSE_H

#include "apps/http/message.h"
#include "apps/http/site.h"

enum { RESPONSE_HEAD_MAX = 1024 + MESSAGE_PATH_MAX };

struct response {
    int status;
    bool close;          /* after this one */
    const uint8_t *body; /* NULL for none */
    uint64_t body_len;
    struct site_file file; /* holds the body, or nothing */
    char *made;            /* a body of our own, from malloc; or NULL */
    size_t head_len;
    char head[RESPONSE_HEAD_MAX]; /* to be copied: it is needed only until it was handed to TCP */
};

/*
 * Answer a message that message_parse() understood, or one that it refused with `status`.
 * r is written whole; response_free() gives back what it holds.
 */
void response_make(struct response *r, const struct message *m, int status);
void response_free(struct response *r);

/* "Not Found" for 404. */
const char *response_reason(int status);

#endif
