/*
 * A request's head, understood. RFC 9110, RFC 9112 (§ below).
 *
 * picohttpparser cuts lines and fields; what they mean, and whether they may stand together, is decided here. Pure: no
 * connection and no memory of its own, so the fuzzer and the host's tests run the same file.
 */
#ifndef APPS_HTTP_MESSAGE_H
#define APPS_HTTP_MESSAGE_H

#include <time.h>

#include "lib/types.h"

enum {
    MESSAGE_HEAD_MAX = 8192,  /* bytes of request line and fields; more is 431 */
    MESSAGE_FIELDS_MAX = 100, /* more is 431 */
    MESSAGE_PATH_MAX = 1024,  /* of the decoded path, NUL included; more is 414 */
    MESSAGE_BODY_MAX = 65536, /* of a body that a GET brings and nobody reads; more is 413 */
};

/* A piece of the head: borrowed, not terminated. */
struct span_text {
    const char *at;
    size_t len;
};

struct message {
    size_t head_len;        /* bytes of the head, the empty line included */
    uint64_t body_len;      /* bytes behind it that belong to this request */
    bool head_only;         /* HEAD */
    bool keep_alive;        /* the connection may serve another request */
    bool old;               /* HTTP/1.0: it has to be told that the connection is kept */
    bool gzip;              /* the client takes gzip */
    struct span_text path;  /* as it was sent, still encoded: message_path() makes a name of it */
    struct span_text query; /* with its question mark; or empty */
    struct span_text if_none_match, if_match, if_range, range;
    time_t if_modified_since, if_unmodified_since; /* -1: not given, or no date */
};

/*
 * Look at `len` bytes received so far.
 *
 * Returns 0 while the head is not complete; 200 with *out filled; otherwise the status to answer, after which the connection must
 * be closed: what follows may be part of what was not understood. 400 malformed, 405 a method we know and don't serve,
 * 413, 414, 431 too long, 501 an unknown method or a transfer coding, 505 not HTTP/1. *out then has head_only and nothing else.
 */
int message_parse(const char *bytes, size_t len, struct message *out);

/*
 * Decode a path: percent-encoding once, dot segments and empty parts away (RFC 3986 §5.2.4), so that what remains begins with a
 * slash and has no ".", no "..", no empty part and no NUL. 0; 400 for bad encoding, a NUL, or a path that climbs above the root;
 * 414 when it does not fit.
 */
int message_path(struct span_text path, char out[MESSAGE_PATH_MAX]);

/* The range of `size` bytes that a Range field asks for (RFC 9110 §14.1.2). */
enum range_kind {
    RANGE_NONE /* absent, malformed, or several: the whole is sent */,
    RANGE_ONE,
    RANGE_OUTSIDE /* 416 */
};
enum range_kind message_range(struct span_text field, uint64_t size, uint64_t *first,
                              uint64_t *last);

/* Whether a list of entity tags holds `etag` (with its quotes). Weak: W/ is left out of account (RFC 9110 §8.8.3.2). */
bool message_etag_listed(struct span_text list, const char *etag, bool weak);

#endif
