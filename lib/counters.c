#include "lib/counters.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "lib/check.h"

static struct counter *first;

static const char *labels_of(const struct counter *c)
{
    return c->labels ? c->labels : "";
}

static uint64_t value_of(const struct counter *c)
{
    return c->value ? *c->value : c->read(c->arg);
}

static int compare(const struct counter *a, const struct counter *b)
{
    const int by_name = strcmp(a->name, b->name);
    return by_name ? by_name : strcmp(labels_of(a), labels_of(b));
}

static bool name_is_valid(const char *name)
{
    return name[0] != '\0' && strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(name);
}

/* Prometheus has one TYPE for a name. */
static bool types_agree(const struct counter *a, const struct counter *b)
{
    return a->type == b->type || strcmp(a->name, b->name) != 0;
}

void counters_add(struct counter *c)
{
    ASSERT(name_is_valid(c->name));
    ASSERT(c->help && (c->value || c->read));

    struct counter **at = &first;
    while (*at && compare(*at, c) < 0) {
        ASSERT(types_agree(*at, c));
        at = &(*at)->next;
    }
    ASSERT(!*at || (compare(*at, c) != 0 && types_agree(*at, c)));
    c->next = *at;
    *at = c;
}

void counters_remove(struct counter *c)
{
    for (struct counter **at = &first; *at; at = &(*at)->next) {
        if (*at == c) {
            *at = c->next;
            c->next = NULL;
            return;
        }
    }
}

void counters_each(void (*fn)(void *arg, const struct counter *c, uint64_t value), void *arg)
{
    for (const struct counter *c = first; c; c = c->next)
        fn(arg, c, value_of(c));
}

/* Copy with backslash, quote and newline escaped; as much as fits. Returns the end, which is terminated. */
static char *escape_into(char *out, const char *end, const char *text, bool quotes)
{
    for (; *text; text++) {
        const bool escaped = *text == '\\' || *text == '\n' || (quotes && *text == '"');
        if (end - out <= (escaped ? 2 : 1))
            break;
        if (escaped)
            *out++ = '\\';
        *out++ = *text == '\n' ? 'n' : *text;
    }
    *out = '\0';
    return out;
}

void counter_label(char *out, size_t out_len, const char *key, const char *value)
{
    ASSERT(out_len > 0);
    *out = '\0';
    const size_t key_len = strlen(key);
    if (out_len < key_len + sizeof("=\"\""))
        return;
    memcpy(out, key, key_len);
    memcpy(out + key_len, "=\"", 2);
    char *end = escape_into(out + key_len + 2, out + out_len - 1, value, true);
    memcpy(end, "\"", 2);
}

struct printer {
    void (*put)(void *arg, const char *text);
    void *arg;
    const char *name_before; /* HELP and TYPE of this name are out */
};

static void print_head(struct printer *p, const struct counter *c)
{
    char help[256];
    escape_into(help, help + sizeof(help), c->help, false);
    p->put(p->arg, "# HELP ringlet_");
    p->put(p->arg, c->name);
    p->put(p->arg, " ");
    p->put(p->arg, help);
    p->put(p->arg, "\n# TYPE ringlet_");
    p->put(p->arg, c->name);
    p->put(p->arg, c->type == COUNTER_GAUGE ? " gauge\n" : " counter\n");
}

static void print_one(void *arg, const struct counter *c, uint64_t value)
{
    struct printer *p = arg;
    if (!p->name_before || strcmp(p->name_before, c->name) != 0)
        print_head(p, c);
    p->name_before = c->name;

    char number[24];
    snprintf(number, sizeof(number), "%llu\n", (unsigned long long)value);
    p->put(p->arg, "ringlet_");
    p->put(p->arg, c->name);
    if (labels_of(c)[0]) {
        p->put(p->arg, "{");
        p->put(p->arg, c->labels);
        p->put(p->arg, "}");
    }
    p->put(p->arg, " ");
    p->put(p->arg, number);
}

void counters_prometheus(void (*put)(void *arg, const char *text), void *arg)
{
    struct printer p = {put, arg, NULL};
    counters_each(print_one, &p);
}
