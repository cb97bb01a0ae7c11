#include "lib/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "lib/counters.h"
#include "lib/preempt.h"
#include "port/clock.h"

enum { LEVEL_COUNT = LOG_DEBUG + 1, LIMIT_US = 1000000 };

static const char *const level_names[LEVEL_COUNT] = {"error", "warn", "info", "debug"};
static const char cut_mark[] = "…";

static struct {
    void (*sink)(const char *text, size_t len);
    enum log_level level;
    bool busy; /* the sink is at work */
    uint64_t lines[LEVEL_COUNT];
} state = {.level = LOG_INFO};

void log_set_sink(void (*sink)(const char *text, size_t len))
{
    state.sink = sink;
}

void log_set_level(enum log_level level)
{
    state.level = level;
}

bool log_enabled(enum log_level level)
{
    return level <= state.level;
}

/*
 * Length of the well-formed character at p, of which `left` ≥ 1 bytes are there; 0 for a control character
 * (C0, DEL, C1) and for what is not UTF-8 (RFC 3629 §4).
 */
static size_t printable_len(const uint8_t *p, size_t left)
{
    if (p[0] < 0x80)
        return p[0] >= 0x20 && p[0] != 0x7f;
    const size_t len = p[0] >= 0xf0 ? 4 : p[0] >= 0xe0 ? 3 : 2;
    if (p[0] < 0xc2 || p[0] > 0xf4 || left < len)
        return 0;
    for (size_t i = 1; i < len; i++)
        if ((p[i] & 0xc0) != 0x80)
            return 0;
    const bool c1_control = p[0] == 0xc2 && p[1] < 0xa0;
    const bool overlong = (p[0] == 0xe0 && p[1] < 0xa0) || (p[0] == 0xf0 && p[1] < 0x90);
    const bool surrogate = p[0] == 0xed && p[1] >= 0xa0;
    const bool beyond = p[0] == 0xf4 && p[1] >= 0x90;
    return c1_control || overlong || surrogate || beyond ? 0 : len;
}

static void make_printable(char *text, size_t len)
{
    uint8_t *p = (uint8_t *)text;
    while (len > 0) {
        size_t n = printable_len(p, len);
        if (n == 0) {
            *p = '?';
            n = 1;
        }
        p += n;
        len -= n;
    }
}

/* Put the mark at the end of a text that fills `len` bytes, not into the middle of a character. */
static size_t mark_cut(char *text, size_t len)
{
    size_t at = len - (sizeof(cut_mark) - 1);
    while (at > 0 && ((uint8_t)text[at] & 0xc0) == 0x80)
        at--;
    memcpy(text + at, cut_mark, sizeof(cut_mark) - 1);
    return at + sizeof(cut_mark) - 1;
}

/* vsnprintf() into `room` bytes (its NUL included) of one line. Returns the bytes used, without the NUL. */
static size_t format(char *out, size_t room, const char *fmt, va_list args)
{
    const int wanted = vsnprintf(out, room, fmt, args);
    const size_t len = wanted < 0 ? 0 : (size_t)wanted;
    const size_t used = len < room ? len : mark_cut(out, room - 1);
    make_printable(out, used);
    return used;
}

static void write_line(enum log_level level, const char *subsystem, const char *fmt, va_list args)
{
    state.lines[level]++;
    if (!state.sink || state.busy)
        return;

    char line[LOG_LINE_MAX];
    const uint64_t now_us = clock_now_us();
    /* The head always fits: 20 digits, a level, and a subsystem cut at 32 bytes. */
    const int head = snprintf(line, sizeof(line),
                              "[%llu.%06u] %s %.32s: ", (unsigned long long)(now_us / 1000000),
                              (unsigned)(now_us % 1000000), level_names[level], subsystem);
    size_t len = (size_t)head;
    len += format(line + len, sizeof(line) - len, fmt, args);
    line[len++] = '\n';

    state.busy = true;
    state.sink(line, len);
    state.busy = false;
}

void log_write(enum log_level level, const char *subsystem, const char *fmt, ...)
{
    va_list args;

    if (!log_enabled(level))
        return;
    preempt_off(); /* a function with `...` has no entry that does it */
    va_start(args, fmt);
    write_line(level, subsystem, fmt, args);
    va_end(args);
    preempt_on();
}

bool log_limit_pass(struct log_limit *limit, uint32_t *suppressed)
{
    const uint64_t now_us = clock_now_us();
    if (now_us < limit->next_us) {
        limit->suppressed++;
        return false;
    }
    *suppressed = limit->suppressed;
    limit->suppressed = 0;
    limit->next_us = now_us + LIMIT_US;
    return true;
}

void log_register_counters(void)
{
#define LINES(label, level)                                                                        \
    {                                                                                              \
        .name = "log_lines_total", .labels = "level=\"" label "\"",                                \
        .help = "Lines logged, including those dropped before the console was open.",              \
        .value = &state.lines[level]                                                               \
    }
    static struct counter list[] = {
        LINES("error", LOG_ERROR),
        LINES("warn", LOG_WARN),
        LINES("info", LOG_INFO),
        LINES("debug", LOG_DEBUG),
    };
#undef LINES
    for (size_t i = 0; i < LEVEL_COUNT; i++)
        counters_add(&list[i]);
}
