/* fnmatch(): does a name match a pattern of the shell (POSIX.1-2017 §2.13)? Bytes, as in the C locale. */
#define _GNU_SOURCE /* FNM_CASEFOLD, FNM_LEADING_DIR */

#include <ctype.h>
#include <fnmatch.h>
#include <string.h>

#include "lib/types.h"

struct text {
    const char *start, *at;
    int flags;
};

static int fold(const struct text *t, char c)
{
    return t->flags & FNM_CASEFOLD ? tolower((unsigned char)c) : (unsigned char)c;
}

/* A '.' that only a '.' in the pattern matches. */
static bool is_hidden(const struct text *t)
{
    if (*t->at != '.' || !(t->flags & FNM_PERIOD))
        return false;
    return t->at == t->start || ((t->flags & FNM_PATHNAME) && t->at[-1] == '/');
}

/* Could '*', '?' or a bracket stand for the next character? */
static bool is_wild(const struct text *t)
{
    return *t->at && !(*t->at == '/' && (t->flags & FNM_PATHNAME)) && !is_hidden(t);
}

static bool in_class(const char *name, size_t len, int c)
{
    static const struct {
        const char *name;
        int (*test)(int);
    } classes[] = {{"alnum", isalnum}, {"alpha", isalpha}, {"blank", isblank},
                   {"cntrl", iscntrl}, {"digit", isdigit}, {"graph", isgraph},
                   {"lower", islower}, {"print", isprint}, {"punct", ispunct},
                   {"space", isspace}, {"upper", isupper}, {"xdigit", isxdigit}};

    for (size_t i = 0; i < ARRAY_COUNT(classes); i++) {
        if (strlen(classes[i].name) == len && memcmp(classes[i].name, name, len) == 0)
            return classes[i].test(c) != 0;
    }
    return false;
}

/* One character of a bracket's list, behind a backslash or not. */
static char listed(const struct text *t, const char **p)
{
    if (**p == '\\' && !(t->flags & FNM_NOESCAPE) && (*p)[1])
        (*p)++;
    return *(*p)++;
}

/* "x", "x-y" or "[:class:]" at *p; goes behind it. */
static bool item_matches(const struct text *t, const char **p)
{
    const int c = fold(t, *t->at);

    if ((*p)[0] == '[' && (*p)[1] == ':') {
        const char *end = strstr(*p + 2, ":]");

        if (end) {
            const char *name = *p + 2;

            *p = end + 2;
            return in_class(name, (size_t)(end - name), (unsigned char)*t->at);
        }
    }
    const int low = fold(t, listed(t, p));
    int high = low;

    if ((*p)[0] == '-' && (*p)[1] && (*p)[1] != ']') {
        (*p)++;
        high = fold(t, listed(t, p));
    }
    return low <= c && c <= high;
}

/* *p stands behind a '['. Goes behind the ']'; without one the '[' is an ordinary character. */
static bool bracket_matches(const struct text *t, const char **p)
{
    const char *at = *p;
    const bool inverted = *at == '!' || *at == '^';
    bool found = false, first = true;

    at += inverted;
    for (; *at && (first || *at != ']'); first = false)
        found |= item_matches(t, &at);
    if (!*at)
        return *t->at == '[';
    *p = at + 1;
    return found != inverted;
}

/* What is not a '*' at *p against the next character; goes behind both. */
static bool one_matches(struct text *t, const char **p)
{
    const char c = *(*p)++;
    bool matches;

    if (c == '?')
        matches = is_wild(t);
    else if (c == '[')
        matches = is_wild(t) && bracket_matches(t, p);
    else if (c == '\\' && !(t->flags & FNM_NOESCAPE) && **p)
        matches = fold(t, *(*p)++) == fold(t, *t->at);
    else
        matches = c && fold(t, c) == fold(t, *t->at);
    if (matches)
        t->at++;
    return matches;
}

static bool is_end(const struct text *t)
{
    return *t->at == '\0' || (*t->at == '/' && (t->flags & FNM_LEADING_DIR));
}

/* A '*' takes as little as it can; when what follows fails, the last one takes one more. */
int fnmatch(const char *pattern, const char *name, int flags)
{
    struct text t = {.start = name, .at = name, .flags = flags}, star_at = t;
    const char *star = NULL; /* behind the last '*' */

    for (;;) {
        if (*pattern == '*') {
            if (is_hidden(&t))
                return FNM_NOMATCH;
            star = ++pattern;
            star_at = t;
            continue;
        }
        if (*pattern == '\0' && is_end(&t))
            return 0;
        if (one_matches(&t, &pattern))
            continue;
        if (!star || !is_wild(&star_at))
            return FNM_NOMATCH;
        star_at.at++;
        t = star_at;
        pattern = star;
    }
}
