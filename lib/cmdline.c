#include "lib/cmdline.h"

#include <string.h>

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r' || c == '\n';
}

char *cmdline_word(char **at)
{
    char *in = *at;
    while (is_blank(*in))
        in++;
    if (!*in) {
        *at = in;
        return NULL;
    }

    char *const word = in;
    char *out = in;
    char quote = '\0';
    for (; *in && (quote || !is_blank(*in)); in++) {
        if (quote ? *in == quote : *in == '"' || *in == '\'')
            quote = quote ? '\0' : *in;
        else
            *out++ = *in;
    }
    *at = *in ? in + 1 : in;
    *out = '\0'; /* last: it may overwrite the blank */
    return word;
}

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

static bool same(char a, char b)
{
    return lower(a) == lower(b);
}

size_t cmdline_distance(const char *a, const char *b)
{
    const size_t a_len = strnlen(a, CMDLINE_KEY_MAX + 1), b_len = strnlen(b, CMDLINE_KEY_MAX + 1);
    if (a_len > CMDLINE_KEY_MAX || b_len > CMDLINE_KEY_MAX)
        return SIZE_MAX;

    /* row[i % 3][j]: the distance between the first i letters of a and the first j of b. */
    size_t row[3][CMDLINE_KEY_MAX + 1];
    for (size_t j = 0; j <= b_len; j++)
        row[0][j] = j;
    for (size_t i = 1; i <= a_len; i++) {
        size_t *now = row[i % 3];
        const size_t *before = row[(i + 2) % 3], *two_before = row[(i + 1) % 3];
        now[0] = i;
        for (size_t j = 1; j <= b_len; j++) {
            const size_t change = before[j - 1] + !same(a[i - 1], b[j - 1]);
            now[j] = size_min(change, size_min(before[j], now[j - 1]) + 1);
            if (i > 1 && j > 1 && same(a[i - 1], b[j - 2]) && same(a[i - 2], b[j - 1]))
                now[j] = size_min(now[j], two_before[j - 2] + 1);
        }
    }
    return row[a_len % 3][b_len];
}

size_t cmdline_near(const char *typed, const char *key)
{
    const size_t typed_len = strlen(typed), key_len = strlen(key);
    const size_t slack = size_max(1, typed_len / 3);
    /* The lengths alone rule most keys out. */
    if (size_max(typed_len, key_len) - size_min(typed_len, key_len) > slack)
        return SIZE_MAX;
    const size_t distance = cmdline_distance(typed, key);
    return distance <= slack ? distance : SIZE_MAX;
}
