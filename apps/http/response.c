#include "apps/http/response.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/http/http_date.h"
#include "apps/http/listing.h"
#include "apps/http/prepared.h"
#include "apps/http/site.h"
#include "apps/iperf/http_reason.h"
#include "apps/iperf/status_page.h"
#include "lib/version.h"
#include "port/clock.h"

/* ---- the head, a piece at a time ---- */

static void put_bytes(struct response *r, const char *bytes, size_t len)
{
    const size_t room = sizeof r->head - r->head_len;
    const size_t part = size_min(len, room);

    if (part > 0)
        memcpy(r->head + r->head_len, bytes, part);
    r->head_len += part;
}

static void put(struct response *r, const char *text)
{
    put_bytes(r, text, strlen(text));
}

/* By hand: an answer has four numbers, and printf costs more than sending it. */
static void put_number(struct response *r, uint64_t value)
{
    char digits[20];
    size_t at = sizeof digits;

    do {
        digits[--at] = (char)('0' + value % 10);
        value /= 10;
    } while (value > 0);
    put_bytes(r, digits + at, sizeof digits - at);
}

/* Server and date: they change once a second, so they are written once a second. */
static void put_start(struct response *r, int status)
{
    static char common[96];
    static size_t common_len;
    static time_t written = -1;
    const time_t now = (time_t)(clock_wall_us() / 1000000);

    if (now != written) {
        char date[HTTP_DATE_BYTES];

        http_date_format(now, date);
        common_len = (size_t)snprintf(
            common, sizeof common, "\r\nServer: Ringlet/" RINGLET_VERSION "\r\nDate: %s\r\n", date);
        written = now;
    }
    put(r, "HTTP/1.1 ");
    put_number(r, (uint64_t)status);
    put(r, " ");
    put(r, http_reason(status));
    put_bytes(r, common, common_len);
}

static void begin(struct response *r, int status)
{
    r->status = status;
    r->head_len = 0;
    put_start(r, status);
}

/* A client of HTTP/1.0 takes a connection for closed unless told; one of HTTP/1.1 for kept (RFC 9112 §9.3). */
static void end(struct response *r, const struct message *m)
{
    if (r->close)
        put(r, "Connection: close\r\n\r\n");
    else if (m->old)
        put(r, "Connection: keep-alive\r\n\r\n");
    else
        put(r, "\r\n");
}

static void put_length(struct response *r, uint64_t len)
{
    put(r, "Content-Length: ");
    put_number(r, len);
    put(r, "\r\n");
}

static void body_made(struct response *r, const struct message *m, const char *type, char *text,
                      size_t len)
{
    put(r, "Content-Type: ");
    put(r, type);
    put(r, "\r\n");
    put_length(r, len);
    r->made = text;
    r->body = (const uint8_t *)text;
    r->body_len = len;
    end(r, m);
}

/* A short page that says what happened. `more` is whole header lines, or "". */
static void answer_status(struct response *r, const struct message *m, int status, const char *more)
{
    char *text = malloc(128);
    const int len = text ? snprintf(text, 128, "<!doctype html><title>%d</title><p>%d %s\n", status,
                                    status, http_reason(status))
                         : 0;

    begin(r, status);
    put(r, more);
    body_made(r, m, "text/html; charset=utf-8", text, (size_t)len);
}

static void answer_busy(struct response *r, const struct message *m)
{
    answer_status(r, m, 503, "Retry-After: 1\r\n");
}

/* ---- conditions (RFC 9110 §13) ---- */

/* 0: go on; 304 or 412. */
static int precondition(const struct message *m, const struct prepared *p)
{
    if (m->if_match.at) {
        if (!message_etag_listed(m->if_match, p->etag, false))
            return 412;
    } else if (m->if_unmodified_since >= 0 && p->file.mtime > m->if_unmodified_since) {
        return 412;
    }
    if (m->if_none_match.at)
        return message_etag_listed(m->if_none_match, p->etag, true) ? 304 : 0;
    return m->if_modified_since >= 0 && p->file.mtime <= m->if_modified_since ? 304 : 0;
}

/* A range is for the file that the client has part of: otherwise it gets the whole (§13.1.5). */
static bool range_applies(const struct message *m, const struct prepared *p)
{
    if (!m->range.at || m->head_only)
        return false;
    if (!m->if_range.at)
        return true;
    if (m->if_range.len > 0 && (m->if_range.at[0] == '"' || m->if_range.at[0] == 'W'))
        return message_etag_listed(m->if_range, p->etag, false);
    return http_date_parse(m->if_range.at, m->if_range.len) == p->file.mtime;
}

/* ---- files ---- */

static void put_rest(struct response *r, const struct prepared *p)
{
    const size_t before = p->type_len + p->length_len;

    put_bytes(r, p->lines + before, p->lines_len - before);
}

static void answer_whole(struct response *r, const struct message *m, const struct prepared *p)
{
    begin(r, 200);
    put_bytes(r, p->lines, p->lines_len);
    end(r, m);
    r->body = p->file.data;
    r->body_len = p->file.len;
}

static void answer_part(struct response *r, const struct message *m, const struct prepared *p,
                        uint64_t first, uint64_t last)
{
    begin(r, 206);
    put_bytes(r, p->lines, p->type_len);
    put(r, "Content-Range: bytes ");
    put_number(r, first);
    put(r, "-");
    put_number(r, last);
    put(r, "/");
    put_number(r, p->file.len);
    put(r, "\r\n");
    put_length(r, last - first + 1);
    put_rest(r, p);
    end(r, m);
    r->body = p->file.data + first;
    r->body_len = (size_t)(last - first + 1);
}

static void answer_outside(struct response *r, const struct message *m, const struct prepared *p)
{
    char more[64];

    snprintf(more, sizeof more, "Content-Range: bytes */%zu\r\n", p->file.len);
    answer_status(r, m, 416, more);
}

static void answer_range(struct response *r, const struct message *m, const struct prepared *p)
{
    uint64_t first, last;

    switch (message_range(m->range, p->file.len, &first, &last)) {
    case RANGE_ONE:
        answer_part(r, m, p, first, last);
        break;
    case RANGE_OUTSIDE:
        answer_outside(r, m, p);
        break;
    case RANGE_NONE:
        answer_whole(r, m, p);
        break;
    }
}

static void answer_file(struct response *r, const struct message *m, const struct prepared *p)
{
    const int status = precondition(m, p);

    if (status == 412) {
        answer_status(r, m, 412, "");
    } else if (status == 304) {
        begin(r, 304);
        put_rest(r, p);
        end(r, m);
    } else if (range_applies(m, p)) {
        answer_range(r, m, p);
    } else {
        answer_whole(r, m, p);
    }
}

/* The first request for this file in this way. The same file may lie there packed already: "x.css.gz" beside "x.css". */
static void serve_file(struct response *r, const struct message *m, const char *name,
                       const struct site_file *file)
{
    char packed_name[MESSAGE_PATH_MAX + 20];
    struct prepared_facts facts = {.path = m->path, .gzip = m->gzip, .name = name, .file = *file};
    struct site_file packed;

    snprintf(packed_name, sizeof packed_name, "%s.gz", name);
    facts.varies = site_open(packed_name, &packed) == SITE_FILE;
    if (facts.varies && m->gzip) {
        facts.file = packed;
        facts.packed = true;
    }
    const struct prepared *p = prepared_make(&facts);

    if (p)
        answer_file(r, m, p);
    else
        answer_busy(r, m);
}

/* ---- folders ---- */

static void serve_listing(struct response *r, const struct message *m, const char *path)
{
    size_t len;
    char *text = listing_make(path, &len);

    if (!text) {
        answer_busy(r, m);
        return;
    }
    begin(r, 200);
    body_made(r, m, "text/html; charset=utf-8", text, len);
}

/* RFC 9110 §15.4.2; the query stays. */
static void redirect_to_folder(struct response *r, const struct message *m, const char *path)
{
    static char more[RESPONSE_HEAD_MAX - 512], where[3 * MESSAGE_PATH_MAX];

    listing_escape_url(path, where, sizeof where);
    if (snprintf(more, sizeof more, "Location: %s/%.*s\r\n", where, (int)m->query.len,
                 m->query.at) >= (int)sizeof more)
        answer_status(r, m, 414, "");
    else
        answer_status(r, m, 301, more);
}

static void serve_folder(struct response *r, const struct message *m, const char *path)
{
    char index[MESSAGE_PATH_MAX + 16];
    struct site_file file;

    if (path[strlen(path) - 1] != '/') {
        redirect_to_folder(r, m, path);
        return;
    }
    snprintf(index, sizeof index, "%sindex.html", path);
    if (site_open(index, &file) == SITE_FILE)
        serve_file(r, m, index, &file);
    else
        serve_listing(r, m, path);
}

/* ---- the status page, and all together ---- */

static bool serve_own(struct response *r, const struct message *m, const char *path)
{
    const bool wants_page =
        strcmp(path, "/status") == 0 || (strcmp(path, "/") == 0 && site_is_empty());

    if (!wants_page && strcmp(path, "/metrics") != 0)
        return false;
    struct http_text text = {0};
    const char *type =
        wants_page ? status_page(&text, "Static files over HTTP") : status_metrics(&text);

    if (text.failed) {
        http_text_free(&text);
        answer_busy(r, m);
        return true;
    }
    begin(r, 200);
    put(r, "Cache-Control: no-store\r\n");
    body_made(r, m, type, text.bytes, text.len);
    return true;
}

/* A path that was not asked for yet, or one that isn't a file. */
static void serve_path(struct response *r, const struct message *m, const char *path)
{
    struct site_file file;

    if (serve_own(r, m, path))
        return;
    switch (site_open(path, &file)) {
    case SITE_FILE:
        if (path[strlen(path) - 1] != '/')
            serve_file(r, m, path, &file);
        else
            answer_status(r, m, 404, "");
        break;
    case SITE_DIR:
        serve_folder(r, m, path);
        break;
    case SITE_FORBIDDEN:
        answer_status(r, m, 403, "");
        break;
    case SITE_NOTHING:
        answer_status(r, m, 404, "");
        break;
    }
}

static void serve(struct response *r, const struct message *m)
{
    const struct prepared *p = prepared_find(m->path, m->gzip);
    char path[MESSAGE_PATH_MAX];

    if (p) {
        answer_file(r, m, p);
        return;
    }
    const int status = message_path(m->path, path);

    if (status == 0) {
        serve_path(r, m, path);
        return;
    }
    r->close = true;
    answer_status(r, m, status, "");
}

/* One small piece costs TCP and the device half of two. */
static void join(struct response *r)
{
    put_bytes(r, (const char *)r->body, r->body_len);
    r->body_len = 0;
    free(r->made);
    r->made = NULL;
}

void response_make(struct response *r, const struct message *m, int status)
{
    r->body = NULL;
    r->body_len = 0;
    r->made = NULL;
    r->close = status != 200 || !m->keep_alive;
    if (status == 200)
        serve(r, m);
    else
        answer_status(r, m, status, status == 405 ? "Allow: GET, HEAD\r\n" : "");
    if (m->head_only)
        r->body_len = 0;
    if (r->body_len <= RESPONSE_JOIN_MAX)
        join(r);
}
