/*
 * Counters: what happened, by name. Everything that is dropped, refused or repaired has one.
 *
 * A counter is a uint64_t in its module's own struct or file; registering it makes /metrics, the status
 * page, the crash block and the tests see it. The owner adds with `++`; no call is needed in the hot path.
 */
#ifndef LIB_COUNTERS_H
#define LIB_COUNTERS_H

#include <stddef.h>
#include <stdint.h>

enum counter_type { COUNTER_TOTAL /* only grows */, COUNTER_GAUGE /* goes up and down */ };

struct counter {
    const char *name;   /* Prometheus style without prefix: "vnet_rx_frames_total" */
    const char *labels; /* "nic=\"net0\"" or "" ; same name with other labels may be registered again */
    const char *help;   /* one sentence */
    enum counter_type type;
    const uint64_t *value;        /* read when asked for, or … */
    uint64_t (*read)(void *arg);  /* … computed, when value is NULL */
    void *arg;
    struct counter *next; /* internal */
};

/* Borrows `c` until counters_remove(). Kept sorted by name, so that HELP and TYPE appear once a name. */
void counters_add(struct counter *c);
void counters_remove(struct counter *c);

/* Call fn for every counter, in order of name, with its present value. */
void counters_each(void (*fn)(void *arg, const struct counter *c, uint64_t value), void *arg);

#endif
