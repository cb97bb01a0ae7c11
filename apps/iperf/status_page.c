#include "apps/iperf/status_page.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/counters.h"
#include "lib/version.h"
#include "port/clock.h"

enum { TEXT_FIRST_BYTES = 4096, LINE_MAX_BYTES = 512, GROUP_MAX_BYTES = 16 };

/* ---- growing text ---- */

void http_text_put(struct http_text *t, const char *bytes, size_t len)
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
    http_text_put(arg, text, strlen(text));
}

void http_text_format(struct http_text *t, const char *fmt, ...)
{
    char line[LINE_MAX_BYTES];
    va_list args;

    va_start(args, fmt);
    const int len = vsnprintf(line, sizeof(line), fmt, args);
    va_end(args);
    if (len > 0)
        http_text_put(t, line, size_min((size_t)len, sizeof(line) - 1));
}

/* Labels come from our own code; they hold quotes, never markup, but this costs nothing. */
static void put_escaped(struct http_text *t, const char *text)
{
    for (; *text; text++) {
        if (*text == '<')
            put_text(t, "&lt;");
        else if (*text == '&')
            put_text(t, "&amp;");
        else if (*text == '"')
            put_text(t, "&quot;");
        else
            http_text_put(t, text, 1);
    }
}

void http_text_free(struct http_text *t)
{
    free(t->bytes);
    *t = (struct http_text){0};
}

/* ---- the page ---- */

static const char page_start[] =
    "<!doctype html>\n<html lang=en>\n<meta charset=utf-8>\n<meta http-equiv=refresh content=5>\n"
    "<meta name=viewport content='width=device-width'>\n<title>Ringlet</title>\n"
    "<style>\n"
    ":root{color-scheme:light dark;--line:#8883;--soft:#8881;--blue:light-dark(#1f5fc4,#7db0ff)}\n"
    "body{font:15px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}\n"
    "h1{margin:0;font-size:1.7rem}h1 span{color:var(--blue)}p{margin:.3rem 0}a{color:var(--blue)}\n"
    ".key{display:grid;grid-template-columns:repeat(auto-fit,minmax(9rem,1fr));gap:.7rem;margin:1."
    "2rem 0}\n"
    ".key div{border:1px solid var(--line);border-radius:.5rem;padding:.6rem .8rem}\n"
    ".key b{display:block;font-size:1.4rem;font-variant-numeric:tabular-nums;line-height:1.2}\n"
    ".key span{font-size:.8rem;opacity:.75}\n"
    ".all{columns:26rem;column-gap:1.6rem}\n"
    "section{break-inside:avoid;margin-bottom:1.2rem}\n"
    "h2{font-size:.95rem;margin:0 0 .2rem;border-bottom:2px solid var(--blue)}\n"
    "table{border-collapse:collapse;width:100%;font-size:.85rem}\n"
    "td{padding:.1rem .3rem;border-bottom:1px solid var(--line);overflow-wrap:anywhere}\n"
    "tr:hover{background:var(--soft)}\n"
    "td:last-child{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}\n"
    "small{opacity:.7}.zero{opacity:.45}\n"
    "</style>\n";

/* The numbers at the top: sums of all counters of one name. */
struct figure {
    const char *name, *label;
    uint64_t sum;
    unsigned unit; /* the sum is divided by it */
};

static void add_up(void *arg, const struct counter *c, uint64_t value)
{
    struct figure *figures = arg;

    for (struct figure *f = figures; f->name; f++) {
        if (strcmp(f->name, c->name) == 0)
            f->sum += value;
    }
}

static void put_figures(struct http_text *t)
{
    struct figure figures[] = {
        {"vnet_rx_frames_total", "frames received", 0, 1},
        {"vnet_tx_frames_total", "frames sent", 0, 1},
        {"tcp_connections", "TCP control blocks", 0, 1},
        {"pages_free", "MiB of memory free", 0, 256},
        {"interrupts_total", "interrupts", 0, 1},
        {NULL, NULL, 0, 1},
    };

    counters_each(add_up, figures);
    put_text(t, "<div class=key>\n");
    for (const struct figure *f = figures; f->name; f++)
        http_text_format(t, "<div><b>%" PRIu64 "</b><span>%s</span></div>\n", f->sum / f->unit,
                         f->label);
    put_text(t, "</div>\n");
}

/* Counters come in order of their names, so those with the same first word are neighbours. */
struct table {
    struct http_text *text;
    char group[GROUP_MAX_BYTES];
};

static void begin_group(struct table *table, const char *name, size_t len)
{
    if (table->group[0])
        put_text(table->text, "</table></section>\n");
    memcpy(table->group, name, len);
    table->group[len] = '\0';
    http_text_format(table->text, "<section><h2>%s</h2><table>\n", table->group);
}

static void put_row(void *arg, const struct counter *c, uint64_t value)
{
    struct table *table = arg;
    struct http_text *t = table->text;
    const size_t word = size_min(strcspn(c->name, "_"), GROUP_MAX_BYTES - 1);

    if (strncmp(table->group, c->name, word) != 0 || table->group[word] != '\0')
        begin_group(table, c->name, word);
    put_text(t, value == 0 ? "<tr class=zero title=\"" : "<tr title=\"");
    put_escaped(t, c->help);
    http_text_format(t, "\"><td>%s", c->name);
    if (c->labels && c->labels[0]) {
        put_text(t, " <small>");
        put_escaped(t, c->labels);
        put_text(t, "</small>");
    }
    http_text_format(t, "<td>%" PRIu64 "\n", value);
}

const char *status_page(struct http_text *t, const char *services)
{
    const uint64_t now_us = clock_now_us();
    struct table table = {.text = t};

    put_text(t, page_start);
    put_text(t, "<h1><span>Ringlet</span></h1>\n");
    http_text_format(t, "<p>Version %s, up for %" PRIu64 ".%03u s</p>\n", RINGLET_VERSION,
                     now_us / 1000000, (unsigned)(now_us / 1000 % 1000));
    put_text(t, "<p>");
    put_text(t, services);
    put_text(t, " · <a href=/metrics>metrics</a></p>\n");
    put_figures(t);
    put_text(t, "<div class=all>\n");
    counters_each(put_row, &table);
    put_text(t, "</table></section></div>\n</html>\n");
    return "text/html; charset=utf-8";
}

const char *status_metrics(struct http_text *t)
{
    counters_prometheus(put_text, t);
    return "text/plain; version=0.0.4; charset=utf-8";
}
