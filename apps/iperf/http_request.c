#include "apps/iperf/http_request.h"

#include <string.h>

/* Bytes up to and with the empty line that ends a head; 0 = not there yet. A bare LF counts as a line's end (§2.2). */
static size_t head_length(const char *bytes, size_t len)
{
    const char *at = bytes;
    const char *const end = bytes + len;

    while ((at = memchr(at, '\n', (size_t)(end - at)))) {
        at++;
        if (at < end && *at == '\n')
            return (size_t)(at + 1 - bytes);
        if (end - at >= 2 && at[0] == '\r' && at[1] == '\n')
            return (size_t)(at + 2 - bytes);
    }
    return 0;
}

/* Clients may send an empty line before the request (§2.2). */
static void skip_empty_lines(const char **bytes, size_t *len)
{
    while (*len > 0 && (**bytes == '\r' || **bytes == '\n')) {
        (*bytes)++;
        (*len)--;
    }
}

/* Up to the next space: a word of the request line. Returns its length, 0 when there is none. */
static size_t word_length(const char *at, const char *end)
{
    const char *space = memchr(at, ' ', (size_t)(end - at));

    return space ? (size_t)(space - at) : 0;
}

static bool is_word(const char *at, size_t len, const char *word)
{
    return strlen(word) == len && memcmp(at, word, len) == 0;
}

static int parse_method(const char *at, size_t len, struct http_request *out)
{
    out->head = is_word(at, len, "HEAD");
    return out->head || is_word(at, len, "GET") ? 200 : 405;
}

static int parse_target(const char *at, size_t len, struct http_request *out)
{
    const char *query = memchr(at, '?', len);
    const size_t path_len = query ? (size_t)(query - at) : len;

    if (len == 0 || at[0] != '/')
        return 400;
    if (path_len >= sizeof(out->target))
        return 414;
    memcpy(out->target, at, path_len);
    out->target[path_len] = '\0';
    return strlen(out->target) == path_len ? 200 : 400; /* no NUL in it */
}

static int parse_version(const char *at, const char *end)
{
    if (end > at && end[-1] == '\r')
        end--;
    if (end - at != 8 || memcmp(at, "HTTP/", 5) != 0 || at[6] != '.')
        return 400;
    return at[5] == '1' ? 200 : 505;
}

static int parse_line(const char *at, const char *end, struct http_request *out)
{
    const size_t method_len = word_length(at, end);
    if (method_len == 0)
        return 400;
    const char *target = at + method_len + 1;
    const size_t target_len = word_length(target, end);
    if (target_len == 0)
        return 400;

    int status = parse_version(target + target_len + 1, end);
    if (status == 200)
        status = parse_method(at, method_len, out);
    return status == 200 ? parse_target(target, target_len, out) : status;
}

int http_parse(const char *bytes, size_t len, struct http_request *out)
{
    const bool full = len >= HTTP_HEAD_MAX;

    skip_empty_lines(&bytes, &len);
    const size_t head = head_length(bytes, len);
    if (head == 0)
        return full ? 431 : 0;
    return parse_line(bytes, memchr(bytes, '\n', head), out);
}
