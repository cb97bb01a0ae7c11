#include "apps/http/prepared.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/http/http_date.h"
#include "lib/siphash.h"

enum {
    SLOTS = 256,             /* a power of two */
    TAG_WHOLE_MAX = 262144,  /* bytes: a file up to this goes into its tag whole, … */
    TAG_SAMPLES = 64,        /* … of a larger one as many pieces … */
    TAG_SAMPLE_BYTES = 4096, /* … of this size, and its end */
};

static struct prepared *slots[SLOTS];
static struct prepared *oldest, *youngest;
static size_t kept;

/* Not keyed: who makes paths collide only makes his own requests slow, and the table is small. */
static uint64_t hash_of(struct span_text path, bool gzip)
{
    uint64_t hash = gzip ? 0x9e3779b97f4a7c15 : 0;

    for (size_t i = 0; i < path.len; i++)
        hash = (hash ^ (unsigned char)path.at[i]) * 0x100000001b3;
    return hash ^ hash >> 32;
}

static char *path_of(const struct prepared *p)
{
    return (char *)p + sizeof *p + p->lines_len;
}

const struct prepared *prepared_find(struct span_text path, bool gzip)
{
    const uint64_t hash = hash_of(path, gzip);

    for (const struct prepared *p = slots[hash % SLOTS]; p; p = p->same_slot) {
        if (p->hash == hash && p->gzip == gzip && p->path_len == path.len &&
            memcmp(path_of(p), path.at, path.len) == 0)
            return p;
    }
    return NULL;
}

static void forget_oldest(void)
{
    struct prepared *p = oldest;
    struct prepared **at = &slots[p->hash % SLOTS];

    while (*at != p)
        at = &(*at)->same_slot;
    *at = p->same_slot;
    oldest = p->younger;
    if (!oldest)
        youngest = NULL;
    kept--;
    free(p);
}

static void keep(struct prepared *p)
{
    struct prepared **slot = &slots[p->hash % SLOTS];

    if (kept == PREPARED_MAX)
        forget_oldest();
    p->same_slot = *slot;
    *slot = p;
    p->younger = NULL;
    if (youngest)
        youngest->younger = p;
    else
        oldest = p;
    youngest = p;
    kept++;
}

/*
 * A strong tag: other bytes, another tag. Of the contents, because archives made to be reproducible give all their files one date.
 * A large file would keep the network waiting; of it a part, the length and the date must do, which is more than others look at.
 */
static void make_tag(const struct site_file *f, char out[ETAG_BYTES])
{
    static const uint8_t key[SIPHASH_KEY_BYTES] = "entity tag";
    uint64_t hash[2] = {f->len, 0};

    if (f->len <= TAG_WHOLE_MAX) {
        hash[1] = siphash(key, f->data, f->len);
    } else {
        const size_t step = (f->len - TAG_SAMPLE_BYTES) / TAG_SAMPLES;

        hash[1] = (uint64_t)f->mtime;
        for (size_t i = 0; i <= TAG_SAMPLES; i++) {
            const uint64_t part = siphash(key, f->data + i * step, TAG_SAMPLE_BYTES);

            hash[1] = (hash[1] ^ part) * 0x100000001b3;
        }
    }
    snprintf(out, ETAG_BYTES, "\"%016llx\"", (unsigned long long)siphash(key, hash, sizeof hash));
}

/* The lines into `out`, and how they are divided. */
static void write_lines(struct prepared *p, const struct prepared_facts *facts, char *out)
{
    char date[HTTP_DATE_BYTES];
    const size_t room = PREPARED_LINES;
    size_t len = (size_t)snprintf(out, room, "Content-Type: %s\r\n", site_type(facts->name));

    p->type_len = (uint16_t)len;
    len += (size_t)snprintf(out + len, room - len, "Content-Length: %zu\r\n", p->file.len);
    p->length_len = (uint16_t)(len - p->type_len);
    http_date_format(p->file.mtime, date);
    len += (size_t)snprintf(out + len, room - len,
                            "Last-Modified: %s\r\nETag: %s\r\nAccept-Ranges: bytes\r\n%s%s", date,
                            p->etag, facts->packed ? "Content-Encoding: gzip\r\n" : "",
                            facts->varies ? "Vary: Accept-Encoding\r\n" : "");
    p->lines_len = (uint16_t)len;
}

const struct prepared *prepared_make(const struct prepared_facts *facts)
{
    struct prepared p = {.gzip = facts->gzip,
                         .file = facts->file,
                         .hash = hash_of(facts->path, facts->gzip),
                         .path_len = (uint16_t)facts->path.len};
    char lines[PREPARED_LINES];

    make_tag(&p.file, p.etag);
    write_lines(&p, facts, lines);
    struct prepared *made = malloc(sizeof p + p.lines_len + p.path_len);

    if (!made)
        return NULL;
    *made = p;
    memcpy(made->lines, lines, p.lines_len);
    memcpy(path_of(made), facts->path.at, p.path_len);
    keep(made);
    return made;
}
