/*
 * Counters: what happened, by name. Everything that is dropped, refused or repaired has one.
 *
 * A counter is a uint64_t in its module's own struct or file; registering it makes /metrics, the status
 * page, the crash block and the tests see it. The owner adds with `++`; no call is needed in the hot path.
 * Not from interrupt handlers, but for counters_each(), which only reads.
 */
#ifndef LIB_COUNTERS_H
#define LIB_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

enum counter_type { COUNTER_TOTAL /* only grows */, COUNTER_GAUGE /* goes up and down */ };

struct counter {
    const char *name; /* Prometheus style without prefix: "vnet_rx_frames_total"; [a-z0-9_]+ */
    const char
        *labels;      /* "nic=\"net0\"", ready for output (counter_label() escapes), or "" or NULL;
                           the same name with other labels may be registered again */
    const char *help; /* one sentence */
    enum counter_type type;
    const uint64_t *value;       /* read when asked for, or … */
    uint64_t (*read)(void *arg); /* … computed, when value is NULL */
    void *arg;
    struct counter *next; /* internal */
};

/*
 * Borrows `c` until counters_remove(). Kept sorted by name, then labels, so that HELP and TYPE appear once
 * a name. A name and labels that are there already, a name with two types, or one that Prometheus doesn't
 * take are our own bugs: ASSERT.
 */
void counters_add(struct counter *c);

/* A counter that was never added is left alone. */
void counters_remove(struct counter *c);

/* Call fn for every counter, in order of name, with its present value. fn must not add or remove. */
void counters_each(void (*fn)(void *arg, const struct counter *c, uint64_t value), void *arg);

/* Format key="value" for `labels`, with the value escaped. out_len ≥ 1; cut to fit, always terminated. */
void counter_label(char *out, size_t out_len, const char *key, const char *value);

/*
 * Print all counters in Prometheus text format 0.0.4, as "ringlet_<name>", through `put`, which gets one
 * piece of a line or more at a time.
 */
void counters_prometheus(void (*put)(void *arg, const char *text), void *arg);

#endif
