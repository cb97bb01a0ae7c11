#include "apps/http/response.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/http/http_date.h"
#include "apps/iperf/status_page.h"
#include "lib/version.h"
#include "port/clock.h"

/* ---- text that grows at its end ---- */

static void put_bytes(struct response *r, const char *bytes, size_t len)
{
    const size_t room = sizeof r->head - r->head_len;
    const size_t part = size_min(len, room);

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

static void put_date(struct response *r, const char *name, time_t when)
{
    char text[HTTP_DATE_BYTES];

    http_date_format(when, text);
    put(r, name);
    put_bytes(r, text, HTTP_DATE_BYTES - 1);
    put(r, "\r\n");
}

/* The date changes once a second: it is written once a second. */
static void put_now(struct response *r)
{
    static char text[HTTP_DATE_BYTES];
    static time_t written = -1;
    const time_t now = (time_t)(clock_wall_us() / 1000000);

    if (now != written)
        http_date_format(now, text);
    written = now;
    put(r, "Date: ");
    put_bytes(r, text, HTTP_DATE_BYTES - 1);
    put(r, "\r\n");
}

const char *response_reason(int status)
{
    static const struct {
        int status;
        const char *reason;
    } reasons[] = {
        {200, "OK"},
        {206, "Partial Content"},
        {301, "Moved Permanently"},
        {304, "Not Modified"},
        {400, "Bad Request"},
        {403, "Forbidden"},
        {404, "Not Found"},
        {405, "Method Not Allowed"},
        {408, "Request Timeout"},
        {412, "Precondition Failed"},
        {413, "Content Too Large"},
        {414, "URI Too Long"},
        {416, "Range Not Satisfiable"},
        {431, "Request Header Fields Too Large"},
        {501, "Not Implemented"},
        {503, "Service Unavailable"},
        {505, "HTTP Version Not Supported"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(reasons); i++) {
        if (reasons[i].status == status)
            return reasons[i].reason;
    }
    return "Unknown";
}

/* ---- heads ---- */

static void begin(struct response *r, int status)
{
    r->status = status;
    r->head_len = 0;
    put(r, "HTTP/1.1 ");
    put_number(r, (uint64_t)status);
    put(r, " ");
    put(r, response_reason(status));
    put(r, "\r\nServer: Ringlet/" RINGLET_VERSION "\r\n");
    put_now(r);
}

static void end(struct response *r)
{
    put(r, r->close ? "Connection: close\r\n\r\n" : "Connection: keep-alive\r\n\r\n");
}

static void put_length(struct response *r, uint64_t len)
{
    put(r, "Content-Length: ");
    put_number(r, len);
    put(r, "\r\n");
}

static void body_made(struct response *r, const char *type, char *text, size_t len)
{
    put(r, "Content-Type: ");
    put(r, type);
    put(r, "\r\n");
    put_length(r, len);
    r->made = text;
    r->body = (const uint8_t *)text;
    r->body_len = len;
}

/* A short page that says what happened. `more` is whole header lines, or "". */
static void answer_status(struct response *r, int status, const char *more)
{
    char *text = malloc(128);
    const int len = text ? snprintf(text, 128, "<!doctype html><title>%d</title><p>%d %s\n", status,
                                    status, response_reason(status))
                         : 0;

    begin(r, status);
    put(r, more);
    body_made(r, "text/html; charset=utf-8", text, (size_t)len);
    end(r);
}

/* ---- conditions (RFC 9110 §13) ---- */

static void make_etag(const struct site_file *f, char out[64])
{
    snprintf(out, 64, "\"%llx-%llx-%llx\"", (unsigned long long)f->number,
             (unsigned long long)f->len, (unsigned long long)f->mtime);
}

/* 0: go on; 304 or 412. */
static int precondition(const struct message *m, const struct site_file *f, const char *etag)
{
    if (m->if_match.at) {
        if (!message_etag_listed(m->if_match, etag, false))
            return 412;
    } else if (m->if_unmodified_since >= 0 && f->mtime > m->if_unmodified_since) {
        return 412;
    }
    if (m->if_none_match.at)
        return message_etag_listed(m->if_none_match, etag, true) ? 304 : 0;
    return m->if_modified_since >= 0 && f->mtime <= m->if_modified_since ? 304 : 0;
}

/* A range is for the file that the client has part of: otherwise it gets the whole (§13.1.5). */
static bool range_applies(const struct message *m, const struct site_file *f, const char *etag)
{
    if (!m->range.at || m->head_only)
        return false;
    if (!m->if_range.at)
        return true;
    if (m->if_range.len > 0 && (m->if_range.at[0] == '"' || m->if_range.at[0] == 'W'))
        return message_etag_listed(m->if_range, etag, false);
    return http_date_parse(m->if_range.at, m->if_range.len) == f->mtime;
}

/* ---- files ---- */

struct answer {
    const struct message *m;
    const char *path; /* names the type */
    bool gzip;
    char etag[64];
};

static void put_file_fields(struct response *r, const struct answer *a)
{
    put_date(r, "Last-Modified: ", r->file.mtime);
    put(r, "ETag: ");
    put(r, a->etag);
    put(r, "\r\nAccept-Ranges: bytes\r\n");
    if (a->gzip)
        put(r, "Content-Encoding: gzip\r\nVary: Accept-Encoding\r\n");
}

static void answer_whole(struct response *r, const struct answer *a)
{
    begin(r, 200);
    put(r, "Content-Type: ");
    put(r, site_type(a->path));
    put(r, "\r\n");
    put_length(r, r->file.len);
    put_file_fields(r, a);
    end(r);
    r->body = r->file.data;
    r->body_len = r->file.len;
}

static void answer_part(struct response *r, const struct answer *a, uint64_t first, uint64_t last)
{
    begin(r, 206);
    put(r, "Content-Type: ");
    put(r, site_type(a->path));
    put(r, "\r\nContent-Range: bytes ");
    put_number(r, first);
    put(r, "-");
    put_number(r, last);
    put(r, "/");
    put_number(r, r->file.len);
    put(r, "\r\n");
    put_length(r, last - first + 1);
    put_file_fields(r, a);
    end(r);
    r->body = r->file.data + first;
    r->body_len = last - first + 1;
}

static void answer_outside(struct response *r)
{
    char more[64];

    snprintf(more, sizeof more, "Content-Range: bytes */%llu\r\n", (unsigned long long)r->file.len);
    answer_status(r, 416, more);
}

static void answer_file(struct response *r, struct answer *a)
{
    uint64_t first, last;

    make_etag(&r->file, a->etag);
    const int status = precondition(a->m, &r->file, a->etag);

    if (status == 412) {
        answer_status(r, 412, "");
    } else if (status == 304) {
        begin(r, 304);
        put_file_fields(r, a);
        end(r);
    } else {
        switch (range_applies(a->m, &r->file, a->etag)
                    ? message_range(a->m->range, r->file.len, &first, &last)
                    : RANGE_NONE) {
        case RANGE_ONE:
            answer_part(r, a, first, last);
            break;
        case RANGE_OUTSIDE:
            answer_outside(r);
            break;
        case RANGE_NONE:
            answer_whole(r, a);
            break;
        }
    }
}

/* The same file, packed already: "x.css.gz" beside "x.css". */
static bool open_packed(const char *path, struct site_file *out)
{
    char packed[MESSAGE_PATH_MAX + 4];

    snprintf(packed, sizeof packed, "%s.gz", path);
    if (site_open(packed, out) == SITE_FILE)
        return true;
    return false;
}

static void serve_file(struct response *r, const struct message *m, const char *path)
{
    struct answer a = {.m = m, .path = path};
    struct site_file packed;

    if (m->gzip && open_packed(path, &packed)) {
        site_close(&r->file);
        r->file = packed;
        a.gzip = true;
    }
    answer_file(r, &a);
}

/* ---- folders ---- */

struct listing {
    char *text;
    size_t len, room;
    bool failed;
};

__attribute__((format(printf, 2, 3))) static void list_put(struct listing *l, const char *format,
                                                           ...)
{
    char line[2048];
    va_list args;

    va_start(args, format);
    const int len = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof line)
        return;
    if (l->len + (size_t)len > l->room) {
        char *more = realloc(l->text, l->room = 2 * l->room + sizeof line);

        l->failed |= !more;
        l->text = more ? more : l->text;
    }
    if (l->failed)
        return;
    memcpy(l->text + l->len, line, (size_t)len);
    l->len += (size_t)len;
}

/* For HTML text and for quoted attributes. */
static void escape_html(const char *in, char *out, size_t len)
{
    size_t at = 0;

    for (; *in && at + 7 < len; in++) {
        if (strchr("<>&\"'", *in))
            at += (size_t)snprintf(out + at, len - at, "&#%d;", *in);
        else
            out[at++] = *in;
    }
    out[at] = '\0';
}

static void escape_url(const char *in, char *out, size_t len)
{
    static const char plain[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/";
    size_t at = 0;

    for (; *in && at + 4 < len; in++) {
        if (strchr(plain, *in))
            out[at++] = *in;
        else
            at += (size_t)snprintf(out + at, len - at, "%%%02X", (unsigned char)*in);
    }
    out[at] = '\0';
}

static void list_entry(void *arg, const char *name, bool is_dir)
{
    char href[800], text[1600];

    escape_url(name, href, sizeof href);
    escape_html(name, text, sizeof text);
    list_put(arg, "<li><a href=\"./%s%s\">%s%s</a>\n", href, is_dir ? "/" : "", text,
             is_dir ? "/" : "");
}

static void serve_listing(struct response *r, const char *path)
{
    struct listing l = {0};
    char title[1600];

    escape_html(path, title, sizeof title);
    list_put(&l, "<!doctype html>\n<html lang=en><meta charset=utf-8><meta name=viewport "
                 "content='width=device-width'>\n"
                 "<style>:root{color-scheme:light dark}body{font:16px/1.6 "
                 "system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}"
                 "</style>\n");
    list_put(&l, "<title>%s</title>\n<h1>%s</h1>\n<ul>\n", title, title);
    if (strcmp(path, "/") != 0)
        list_put(&l, "<li><a href=\"../\">../</a>\n");
    site_list(path, list_entry, &l);
    list_put(&l, "</ul>\n</html>\n");
    if (l.failed || !l.text) {
        free(l.text);
        answer_status(r, 503, "Retry-After: 1\r\n");
        return;
    }
    begin(r, 200);
    body_made(r, "text/html; charset=utf-8", l.text, l.len);
    end(r);
}

/* RFC 9110 §15.4.2; the query stays. */
static void redirect_to_folder(struct response *r, const char *path)
{
    char where[3 * MESSAGE_PATH_MAX], more[RESPONSE_HEAD_MAX - 512];

    escape_url(path, where, sizeof where);
    if (snprintf(more, sizeof more, "Location: %s/\r\n", where) >= (int)sizeof more)
        answer_status(r, 414, "");
    else
        answer_status(r, 301, more);
}

static void serve_folder(struct response *r, const struct message *m, const char *path)
{
    char index[MESSAGE_PATH_MAX + 16];

    if (path[strlen(path) - 1] != '/') {
        redirect_to_folder(r, path);
        return;
    }
    snprintf(index, sizeof index, "%sindex.html", path);
    if (site_open(index, &r->file) == SITE_FILE)
        serve_file(r, m, index);
    else
        serve_listing(r, path);
}

/* ---- the status page, and all together ---- */

static bool serve_own(struct response *r, const struct message *m)
{
    const bool wants_page =
        strcmp(m->path, "/status") == 0 || (strcmp(m->path, "/") == 0 && site_is_empty());

    if (!wants_page && strcmp(m->path, "/metrics") != 0)
        return false;
    struct http_text text = {0};
    const char *type =
        wants_page ? status_page(&text, "Static files over HTTP") : status_metrics(&text);

    if (text.failed) {
        http_text_free(&text);
        answer_status(r, 503, "Retry-After: 1\r\n");
        return true;
    }
    begin(r, 200);
    put(r, "Cache-Control: no-store\r\n");
    body_made(r, type, text.bytes, text.len);
    end(r);
    return true;
}

static void serve(struct response *r, const struct message *m)
{
    if (serve_own(r, m))
        return;
    switch (site_open(m->path, &r->file)) {
    case SITE_FILE:
        if (m->path[strlen(m->path) - 1] != '/') {
            serve_file(r, m, m->path);
            return;
        }
        site_close(&r->file); /* "file/" */
        answer_status(r, 404, "");
        break;
    case SITE_DIR:
        serve_folder(r, m, m->path);
        break;
    case SITE_FORBIDDEN:
        answer_status(r, 403, "");
        break;
    case SITE_NOTHING:
        answer_status(r, 404, "");
        break;
    }
}

void response_make(struct response *r, const struct message *m, int status)
{
    r->body = NULL;
    r->body_len = 0;
    r->file = (struct site_file){0};
    r->made = NULL;
    r->close = status != 200 || !m->keep_alive;
    if (status == 200)
        serve(r, m);
    else
        answer_status(r, status, status == 405 ? "Allow: GET, HEAD\r\n" : "");
    if (m->head_only)
        r->body_len = 0;
}

void response_free(struct response *r)
{
    site_close(&r->file);
    free(r->made);
    r->made = NULL;
    r->body = NULL;
    r->body_len = 0;
}
