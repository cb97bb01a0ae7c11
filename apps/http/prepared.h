/*
 * What an answer needs to know of a file, found and written down once: the file, its entity tag, and the lines of the head that
 * are the same each time. Most requests are for what was asked for before, and cost a look into a table.
 *
 * The key is the path as the client wrote it, so a request whose answer is known isn't even decoded. The site can't change while the
 * image runs, so nothing here grows stale. What is kept is bounded; the oldest goes.
 */
#ifndef APPS_HTTP_PREPARED_H
#define APPS_HTTP_PREPARED_H

#include "apps/http/message.h"
#include "apps/http/site.h"

enum {
    PREPARED_MAX = 512,   /* kept at most: a few hundred KiB */
    ETAG_BYTES = 20,      /* sixteen digits in quotes, and a NUL */
    PREPARED_LINES = 384, /* bytes of `lines` at most */
};

struct prepared {
    struct prepared *same_slot; /* internal, as the next four */
    struct prepared *younger;
    uint64_t hash;
    uint16_t path_len;
    bool gzip; /* for a client that takes gzip */
    struct site_file file;
    char etag[ETAG_BYTES];
    uint16_t type_len, length_len, lines_len;
    char lines
        []; /* Content-Type; Content-Length, from type_len; the rest, from type_len + length_len */
};

/*
 * What is kept for this path, or NULL. Whether the client takes gzip is part of the key. Borrowed until the next call of
 * prepared_make().
 */
const struct prepared *prepared_find(struct span_text path, bool gzip);

/*
 * Write down and keep how `file` is served under that key. `name` is the decoded path, whose suffix names the type; `packed`: the
 * bytes are gzip's; `varies`: they would be others for a client that does not take, or does take, gzip. NULL: no memory.
 */
struct prepared_facts {
    struct span_text path;
    bool gzip, packed, varies;
    const char *name;
    struct site_file file;
};
const struct prepared *prepared_make(const struct prepared_facts *facts);

#endif
