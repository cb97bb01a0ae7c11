#include "apps/iperf/http_page.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/iperf/http_request.h"
#include "lib/counters.h"
#include "lib/version.h"
#include "port/clock.h"

enum { TEXT_FIRST_BYTES = 4096, LINE_MAX_BYTES = 512 };

/* ---- growing text ---- */

static void put_bytes(struct http_text *t, const char *bytes, size_t len)
{
    if (t->len + len > t->capacity && !t->failed) {
        const size_t want = size_max(2 * t->capacity, size_max(t->len + len, TEXT_FIRST_BYTES));
        char *bigger = realloc(t->bytes, want);

        if (bigger) {
            t->bytes = bigger;
            t->capacity = want;
        }
        t->failed = bigger == NULL;
    }
    if (t->failed || len == 0)
        return;
    memcpy(t->bytes + t->len, bytes, len);
    t->len += len;
}

static void put_text(void *arg, const char *text)
{
    put_bytes(arg, text, strlen(text));
}

__attribute__((format(printf, 2, 3))) static void put_format(struct http_text *t, const char *fmt,
                                                             ...)
{
    char line[LINE_MAX_BYTES];
    va_list args;

    va_start(args, fmt);
    const int len = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    if (len > 0)
        put_bytes(t, line, size_min((size_t)len, sizeof(line) - 1));
}

/* Labels come from our own code; they hold quotes, never markup, but this costs nothing. */
static void put_escaped(struct http_text *t, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            put_text(t, "&lt;");
        else if (*text == '&')
            put_text(t, "&amp;");
        else
            put_bytes(t, text, 1);
    }
}

void http_text_free(struct http_text *t)
{
    free(t->bytes);
    *t = (struct http_text){0};
}

/* ---- bodies ---- */

static const char page_start[] =
    "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n"
    "<meta name=viewport content='width=device-width'>\n<title>Ringlet</title>\n"
    "<style>\n"
    ":root{color-scheme:light dark}\n"
    "body{font:16px/1.5 system-ui,sans-serif;max-width:52rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{margin-bottom:0}p{margin-top:.3rem}\n"
    "table{border-collapse:collapse;width:100%;font-size:.9rem}\n"
    "td{padding:.15rem .4rem;border-bottom:1px solid #8884}\n"
    "td:last-child{text-align:right;font-variant-numeric:tabular-nums}\n"
    "small{opacity:.7}\n"
    "</style>\n<h1>Ringlet</h1>\n";

static const char page_services[] =
    "<p>iperf2 on 5001 (TCP and UDP) · echo 7 · discard 9 · chargen 19 · datagram counter 9/UDP · "
    "<a href=/metrics>metrics</a></p>\n<table>\n";

static void put_row(void *arg, const struct counter *c, uint64_t value)
{
    struct http_text *t = arg;

    put_text(t, "<tr title=\"");
    put_escaped(t, c->help);
    put_format(t, "\"><td>%s", c->name);
    if (c->labels && c->labels[0]) {
        put_text(t, " <small>");
        put_escaped(t, c->labels);
        put_text(t, "</small>");
    }
    put_format(t, "<td>%" PRIu64 "\n", value);
}

static void put_status_page(struct http_text *t)
{
    const uint64_t now_us = clock_now_us();

    put_text(t, page_start);
    put_format(t, "<p>Version %s, up for %" PRIu64 ".%03u s</p>\n", RINGLET_VERSION,
               now_us / 1000000, (unsigned)(now_us / 1000 % 1000));
    put_text(t, page_services);
    counters_each(put_row, t);
    put_text(t, "</table>\n</html>\n");
}

/* ---- the answer ---- */

static const char *put_body(struct http_text *body, int *status, const char *target)
{
    if (*status == 200 && strcmp(target, "/") == 0) {
        put_status_page(body);
        return "text/html; charset=utf-8";
    }
    if (*status == 200 && strcmp(target, "/metrics") == 0) {
        counters_prometheus(put_text, body);
        return "text/plain; version=0.0.4; charset=utf-8";
    }
    if (*status == 200)
        *status = 404;
    put_format(body, "%d %s\n", *status, http_reason(*status));
    return "text/plain; charset=utf-8";
}

void http_answer(struct http_text *t, int status, const char *target, bool head_only)
{
    struct http_text body = {0};
    const char *type = put_body(&body, &status, target);

    put_format(t,
               "HTTP/1.1 %d %s\r\nServer: Ringlet\r\nContent-Type: %s\r\nContent-Length: %zu\r\n",
               status, http_reason(status), type, body.len);
    if (status == 405)
        put_text(t, "Allow: GET, HEAD\r\n");
    put_text(t, "Cache-Control: no-store\r\nConnection: close\r\n\r\n");
    if (!head_only)
        put_bytes(t, body.bytes, body.len);
    t->failed |= body.failed;
    http_text_free(&body);
}
