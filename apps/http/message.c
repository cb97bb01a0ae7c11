#include "apps/http/message.h"

#include <picohttpparser.h>
#include <string.h>
#include <strings.h>

#include "apps/http/http_date.h"
#include "lib/hex.h"

static bool is_text(struct span_text t, const char *text)
{
    return t.len == strlen(text) && strncasecmp(t.at, text, t.len) == 0;
}

static struct span_text trim(struct span_text t)
{
    while (t.len > 0 && (*t.at == ' ' || *t.at == '\t')) {
        t.at++;
        t.len--;
    }
    while (t.len > 0 && (t.at[t.len - 1] == ' ' || t.at[t.len - 1] == '\t'))
        t.len--;
    return t;
}

/* The next element of a comma-separated list; false at the end. Quoted strings may hold commas. */
static bool next_element(struct span_text *list, struct span_text *out)
{
    bool quoted = false;
    size_t i = 0;

    if (list->len == 0)
        return false;
    for (; i < list->len && (quoted || list->at[i] != ','); i++) {
        if (list->at[i] == '"')
            quoted = !quoted;
    }
    *out = trim((struct span_text){list->at, i});
    const size_t used = i < list->len ? i + 1 : i;

    list->at += used;
    list->len -= used;
    return true;
}

static bool lists(struct span_text list, const char *wanted)
{
    struct span_text element;

    while (next_element(&list, &element)) {
        if (is_text(element, wanted))
            return true;
    }
    return false;
}

/* "gzip", or "gzip;q=0.5", but not "gzip;q=0" (RFC 9110 §12.4.2). */
static bool takes_gzip(struct span_text list)
{
    struct span_text element;

    while (next_element(&list, &element)) {
        const char *semicolon = memchr(element.at, ';', element.len);
        const size_t len = semicolon ? (size_t)(semicolon - element.at) : element.len;

        if (!is_text(trim((struct span_text){element.at, len}), "gzip"))
            continue;
        const char *equals = semicolon ? memchr(semicolon, '=', element.len - len) : NULL;
        const char *end = element.at + element.len;

        for (const char *at = equals ? equals + 1 : end; at < end; at++) {
            if (*at >= '1' && *at <= '9')
                return true;
        }
        return !equals;
    }
    return false;
}

/* ---- the path ---- */

/* One character of the path; *at moves on. -1: bad encoding, or a NUL. */
static int decoded(struct span_text path, size_t *at)
{
    const char c = path.at[(*at)++];

    if (c != '%')
        return c != '\0' ? (unsigned char)c : -1;
    if (path.len - *at < 2)
        return -1;
    const int high = hex_value(path.at[*at]), low = hex_value(path.at[*at + 1]);

    *at += 2;
    return high < 0 || low < 0 || (high == 0 && low == 0) ? -1 : high * 16 + low;
}

/* A part has ended at out[*len]: "." goes, ".." takes the part before it along. False: it climbs above the root. */
static bool end_part(const char *out, size_t *len, size_t part)
{
    const size_t size = *len - part;

    if (size == 1 && out[part] == '.') {
        *len = part;
    } else if (size == 2 && out[part] == '.' && out[part + 1] == '.') {
        if (part == 1)
            return false;
        *len = part - 1;
        while (out[*len - 1] != '/')
            (*len)--;
    }
    return true;
}

/* A target is a path and perhaps a query; scheme and authority may stand before it (§3.2.2). False: it is neither. */
static bool split_target(struct span_text t, struct message *m)
{
    if (t.len > 7 && strncasecmp(t.at, "http://", 7) == 0) {
        size_t host = 7;

        while (host < t.len && t.at[host] != '/' && t.at[host] != '?' && t.at[host] != '#')
            host++;
        t.at += host;
        t.len -= host;
        m->path = (struct span_text){"/", 1};
        if (t.len == 0 || t.at[0] != '/')
            return true;
    }
    if (t.len == 0 || t.at[0] != '/')
        return false;
    size_t len = 0;

    while (len < t.len && t.at[len] != '?' && t.at[len] != '#')
        len++;
    m->path = (struct span_text){t.at, len};
    if (len < t.len && t.at[len] == '?')
        m->query = (struct span_text){t.at + len, t.len - len};
    return true;
}

int message_path(struct span_text path, char out[MESSAGE_PATH_MAX])
{
    size_t len = 0, part = 0, at = 0;

    if (path.len == 0 || path.at[0] != '/')
        return 400;
    while (at < path.len) {
        const int c = decoded(path, &at);

        if (c < 0)
            return 400;
        if (c == '/') {
            if (len > 0 && !end_part(out, &len, part))
                return 400;
            if (len > 0 && out[len - 1] == '/') { /* an empty part, or one that went */
                part = len;
                continue;
            }
        }
        if (len + 1 >= MESSAGE_PATH_MAX)
            return 414;
        out[len++] = (char)c;
        if (c == '/')
            part = len;
    }
    if (!end_part(out, &len, part))
        return 400;
    out[len] = '\0';
    return 0;
}

/* ---- fields ---- */

struct fields {
    unsigned hosts, lengths;
    bool close, keep, coding, bad;
    uint64_t length;
    int status; /* not 0: a field that ends it all */
};

static bool number(struct span_text t, uint64_t *out)
{
    uint64_t value = 0;

    if (t.len == 0 || t.len > 18)
        return false;
    for (size_t i = 0; i < t.len; i++) {
        if (t.at[i] < '0' || t.at[i] > '9')
            return false;
        value = value * 10 + (uint64_t)(t.at[i] - '0');
    }
    *out = value;
    return true;
}

/* Several lengths are one only when they agree; anything else is an attempt to smuggle (§6.3). */
static void take_length(struct fields *f, struct span_text value)
{
    struct span_text element;

    while (next_element(&value, &element)) {
        uint64_t length;

        f->bad |= !number(element, &length) || (f->lengths > 0 && length != f->length);
        f->length = f->bad ? 0 : length;
        f->lengths++;
    }
}

enum field {
    FIELD_OTHER,
    FIELD_HOST,
    FIELD_RANGE,
    FIELD_IF_MATCH,
    FIELD_IF_RANGE,
    FIELD_CONNECTION,
    FIELD_IF_NONE_MATCH,
    FIELD_CONTENT_LENGTH,
    FIELD_ACCEPT_ENCODING,
    FIELD_IF_MODIFIED_SINCE,
    FIELD_TRANSFER_ENCODING,
    FIELD_IF_UNMODIFIED_SINCE,
};

/* The length tells most names apart: browsers send a dozen fields, of which two matter. */
static enum field field_of(struct span_text name)
{
    static const struct {
        const char *text;
        uint8_t len, field;
    } names[] = {
        {"host", 4, FIELD_HOST},
        {"range", 5, FIELD_RANGE},
        {"if-match", 8, FIELD_IF_MATCH},
        {"if-range", 8, FIELD_IF_RANGE},
        {"connection", 10, FIELD_CONNECTION},
        {"if-none-match", 13, FIELD_IF_NONE_MATCH},
        {"content-length", 14, FIELD_CONTENT_LENGTH},
        {"accept-encoding", 15, FIELD_ACCEPT_ENCODING},
        {"if-modified-since", 17, FIELD_IF_MODIFIED_SINCE},
        {"transfer-encoding", 17, FIELD_TRANSFER_ENCODING},
        {"if-unmodified-since", 19, FIELD_IF_UNMODIFIED_SINCE},
    };
    static const uint8_t first[] = {11, 11, 11, 11, 0, 1, 11, 11, 2,  11,
                                    4,  11, 11, 5,  6, 7, 11, 8,  11, 10};
    static_assert(ARRAY_COUNT(names) == 11, "no name of that length");

    for (size_t i = name.len < sizeof first ? first[name.len] : ARRAY_COUNT(names);
         i < ARRAY_COUNT(names) && names[i].len == name.len; i++) {
        if ((names[i].text[0] ^ name.at[0]) % 32 == 0 &&
            strncasecmp(names[i].text, name.at, name.len) == 0)
            return (enum field)names[i].field;
    }
    return FIELD_OTHER;
}

static bool is_host(struct span_text value)
{
    for (size_t i = 0; i < value.len; i++) {
        if (value.at[i] == ' ' || value.at[i] == '\t' || value.at[i] == ',')
            return false;
    }
    return true;
}

static void take_field(struct fields *f, struct message *m, enum field field,
                       struct span_text value)
{
    switch (field) {
    case FIELD_OTHER:
        break;
    case FIELD_HOST:
        f->hosts++;
        f->bad |= !is_host(value);
        break;
    case FIELD_RANGE:
        m->range = value;
        break;
    case FIELD_IF_MATCH:
        m->if_match = value;
        break;
    case FIELD_IF_RANGE:
        m->if_range = value;
        break;
    case FIELD_CONNECTION:
        f->close |= lists(value, "close");
        f->keep |= lists(value, "keep-alive");
        break;
    case FIELD_IF_NONE_MATCH:
        m->if_none_match = value;
        break;
    case FIELD_CONTENT_LENGTH:
        take_length(f, value);
        break;
    case FIELD_ACCEPT_ENCODING:
        m->gzip = takes_gzip(value);
        break;
    case FIELD_IF_MODIFIED_SINCE:
        m->if_modified_since = http_date_parse(value.at, value.len);
        break;
    case FIELD_TRANSFER_ENCODING:
        f->coding = true;
        break;
    case FIELD_IF_UNMODIFIED_SINCE:
        m->if_unmodified_since = http_date_parse(value.at, value.len);
        break;
    }
}

/* What a field's name may hold (RFC 9110 §5.6.2): the parser lets more pass. */
static const bool is_token[256] = {
    ['0' ... '9'] = true, ['A' ... 'Z'] = true, ['a' ... 'z'] = true, ['!'] = true,  ['#'] = true,
    ['$'] = true,         ['%'] = true,         ['&'] = true,         ['\''] = true, ['*'] = true,
    ['+'] = true,         ['-'] = true,         ['.'] = true,         ['^'] = true,  ['_'] = true,
    ['`'] = true,         ['|'] = true,         ['~'] = true,
};

/* A folded line, or a blank before the colon: what one program takes for a field and another doesn't (§5.1, §5.2). */
static bool is_odd(const struct phr_header *h)
{
    if (!h->name || h->name_len == 0)
        return true;
    for (size_t i = 0; i < h->name_len; i++) {
        if (!is_token[(unsigned char)h->name[i]])
            return true;
    }
    return false;
}

static int take_fields(struct message *m, const struct phr_header *headers, size_t count, int minor)
{
    struct fields f = {0};

    for (size_t i = 0; i < count; i++) {
        const struct phr_header *h = &headers[i];

        if (is_odd(h))
            return 400;
        const enum field field = field_of((struct span_text){h->name, h->name_len});

        if (field != FIELD_OTHER)
            take_field(&f, m, field, trim((struct span_text){h->value, h->value_len}));
    }
    if (f.bad || f.hosts > 1 || (minor >= 1 && f.hosts != 1) || (f.coding && f.lengths > 0))
        return 400;
    if (f.coding)
        return 501;
    if (f.length > MESSAGE_BODY_MAX)
        return 413;
    m->body_len = f.length;
    m->old = minor == 0;
    m->keep_alive = minor >= 1 ? !f.close : f.keep && !f.close;
    return 200;
}

/* ---- the request line ---- */

static int take_method(struct span_text method, struct message *m)
{
    static const char *const known[] = {"POST",  "PUT",     "DELETE", "OPTIONS",
                                        "TRACE", "CONNECT", "PATCH"};

    m->head_only = method.len == 4 && memcmp(method.at, "HEAD", 4) == 0;
    if (m->head_only || (method.len == 3 && memcmp(method.at, "GET", 3) == 0))
        return 200;
    for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
        if (method.len == strlen(known[i]) && memcmp(method.at, known[i], method.len) == 0)
            return 405;
    }
    return 501;
}

/* Why the parser refused: another version of HTTP deserves its own answer. */
static int refused(const char *bytes, size_t len, size_t field_count)
{
    const char *end = memchr(bytes, '\n', len);
    size_t line = end ? (size_t)(end - bytes) : len;

    if (field_count >= MESSAGE_FIELDS_MAX)
        return 431;
    if (line > 0 && bytes[line - 1] == '\r')
        line--;
    if (line > 9 && memcmp(bytes + line - 9, " HTTP/", 6) == 0 && bytes[line - 3] != '1' &&
        bytes[line - 2] == '.')
        return 505;
    return 400;
}

static int too_long(const char *bytes, size_t len)
{
    return memchr(bytes, '\n', len) ? 431 : 414;
}

int message_parse(const char *bytes, size_t len, struct message *m)
{
    struct phr_header headers[MESSAGE_FIELDS_MAX];
    size_t count = MESSAGE_FIELDS_MAX;
    struct span_text method, target;
    int minor;

    *m = (struct message){.if_modified_since = -1, .if_unmodified_since = -1};
    const int got =
        phr_parse_request(bytes, size_min(len, MESSAGE_HEAD_MAX), &method.at, &method.len,
                          &target.at, &target.len, &minor, headers, &count, 0);

    if (got == -2)
        return len >= MESSAGE_HEAD_MAX ? too_long(bytes, len) : 0;
    if (got < 0)
        return refused(bytes, len, count);
    if (minor < 0 || minor > 9)
        return 505;
    m->head_len = (size_t)got;
    const int method_status = take_method(method, m);
    const int status = take_fields(m, headers, count, minor);

    if (status != 200 || method_status != 200)
        return status != 200 ? status : method_status;
    return split_target(target, m) ? 200 : 400;
}

/* ---- ranges and entity tags ---- */

enum range_kind message_range(struct span_text field, uint64_t size, uint64_t *first,
                              uint64_t *last)
{
    if (field.len < 7 || strncasecmp(field.at, "bytes=", 6) != 0)
        return RANGE_NONE;
    const struct span_text spec = trim((struct span_text){field.at + 6, field.len - 6});
    const char *dash = memchr(spec.at, '-', spec.len);

    if (!dash || memchr(spec.at, ',', spec.len))
        return RANGE_NONE;
    const struct span_text from = {spec.at, (size_t)(dash - spec.at)};
    const struct span_text to = {dash + 1, spec.len - from.len - 1};
    uint64_t a, b;

    if (from.len == 0) { /* the last so many */
        if (!number(to, &b))
            return RANGE_NONE;
        if (b == 0 || size == 0)
            return RANGE_OUTSIDE;
        *first = b < size ? size - b : 0;
        *last = size - 1;
        return RANGE_ONE;
    }
    if (!number(from, &a) || (to.len > 0 && (!number(to, &b) || b < a)))
        return RANGE_NONE;
    if (a >= size)
        return RANGE_OUTSIDE;
    *first = a;
    *last = to.len > 0 && b < size ? b : size - 1;
    return RANGE_ONE;
}

bool message_etag_listed(struct span_text list, const char *etag, bool weak)
{
    struct span_text element;

    while (next_element(&list, &element)) {
        if (element.len == 1 && element.at[0] == '*')
            return true;
        if (weak && element.len > 2 && memcmp(element.at, "W/", 2) == 0) {
            element.at += 2;
            element.len -= 2;
        }
        if (element.len == strlen(etag) && memcmp(element.at, etag, element.len) == 0)
            return true;
    }
    return false;
}
