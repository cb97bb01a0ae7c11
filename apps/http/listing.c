#include "apps/http/listing.h"

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/http/message.h"
#include "apps/http/site.h"

enum {
    URL_MAX = 3 * 255 + 1, /* a name of NAME_MAX, each byte written as %XX */
    TEXT_MAX = 1600,       /* the same as &#NN;, and of a longer path its beginning */
    LINE_MAX_BYTES = URL_MAX + TEXT_MAX + 64,
};

static const char page_start[] = "<!doctype html>\n<html lang=en><meta charset=utf-8><meta "
                                 "name=viewport content='width=device-width'>\n"
                                 "<style>:root{color-scheme:light dark}body{font:16px/1.6 "
                                 "system-ui,sans-serif;max-width:52rem;margin:2rem auto;"
                                 "padding:0 1rem}</style>\n";

struct listing {
    char *text;
    size_t len, room;
    bool failed;
};

__attribute__((format(printf, 2, 3))) static void list_put(struct listing *l, const char *format,
                                                           ...)
{
    char line[LINE_MAX_BYTES];
    va_list args;

    va_start(args, format);
    const int len = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (len < 0 || (size_t)len >= sizeof line)
        return;
    if (l->len + (size_t)len > l->room) {
        const size_t room = 2 * l->room + sizeof line;
        char *more = realloc(l->text, room);

        l->failed |= !more;
        l->text = more ? more : l->text;
        l->room = more ? room : l->room;
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

void listing_escape_url(const char *in, char *out, size_t len)
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
    char href[URL_MAX], text[TEXT_MAX];

    listing_escape_url(name, href, sizeof href);
    escape_html(name, text, sizeof text);
    list_put(arg, "<li><a href=\"./%s%s\">%s%s</a>\n", href, is_dir ? "/" : "", text,
             is_dir ? "/" : "");
}

char *listing_make(const char *path, size_t *len)
{
    struct listing l = {0};
    char title[TEXT_MAX];

    escape_html(path, title, sizeof title);
    list_put(&l, "%s", page_start);
    list_put(&l, "<title>%s</title>\n", title);
    list_put(&l, "<h1>%s</h1>\n<ul>\n", title);
    if (strcmp(path, "/") != 0)
        list_put(&l, "<li><a href=\"../\">../</a>\n");
    site_list(path, list_entry, &l);
    list_put(&l, "</ul>\n</html>\n");
    if (l.failed || !l.text) {
        free(l.text);
        return NULL;
    }
    *len = l.len;
    return l.text;
}
