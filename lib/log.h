/*
 * The console log: one event a line, `[seconds.micros] level subsystem: text`.
 *
 * log_* format into a bounded line (longer text is cut and marked with "…") and hand it to the sink set at boot.
 * Anything that a device, the wire or a client can cause repeatedly is logged through log_once or
 * log_limited, so a hostile peer can't flood the console. Control characters and what isn't UTF-8 in the text
 * are shown as '?', so nobody can fake a line or drive the terminal.
 * A sink that logs doesn't recurse: that line is dropped. Not from interrupt handlers.
 */
#ifndef LIB_LOG_H
#define LIB_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_ERROR, LOG_WARN, LOG_INFO, LOG_DEBUG };
enum { LOG_LINE_MAX = 256 }; /* bytes, newline included */

/* sink gets whole lines, newline included, not NUL-terminated. NULL (the state at start): lines are dropped. */
void log_set_sink(void (*sink)(const char *text, size_t len));

/* Lines above this level are not even formatted. LOG_INFO at start. */
void log_set_level(enum log_level level);
bool log_enabled(enum log_level level);

void log_write(enum log_level level, const char *subsystem, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#define log_error(subsystem, ...) log_write(LOG_ERROR, subsystem, __VA_ARGS__)
#define log_warn(subsystem, ...) log_write(LOG_WARN, subsystem, __VA_ARGS__)
#define log_info(subsystem, ...) log_write(LOG_INFO, subsystem, __VA_ARGS__)
#define log_debug(subsystem, ...)                                                                  \
    do {                                                                                           \
        if (log_enabled(LOG_DEBUG))                                                                \
            log_write(LOG_DEBUG, subsystem, __VA_ARGS__);                                          \
    } while (0)

/* Show log_lines_total{level=} among the counters. Call once. */
void log_register_counters(void);

/* One line from this place, and never again: for what a device or a client could cause for ever. */
#define log_once(level, subsystem, ...)                                                            \
    do {                                                                                           \
        static bool log_done_here;                                                                 \
        if (!log_done_here) {                                                                      \
            log_done_here = true;                                                                  \
            log_write(level, subsystem, __VA_ARGS__);                                              \
        }                                                                                          \
    } while (0)
#define LOG_ONCE log_once

/* At most one line a second from this place; the next line says how many were left out. */
struct log_limit {
    uint64_t next_us;
    uint32_t suppressed;
};
/* May a line go out now? Then *suppressed is how many were left out since the last one. */
bool log_limit_pass(struct log_limit *limit, uint32_t *suppressed);

#define log_limited(level, subsystem, ...)                                                         \
    do {                                                                                           \
        static struct log_limit log_limit_here;                                                    \
        uint32_t log_suppressed_here;                                                              \
        if (log_limit_pass(&log_limit_here, &log_suppressed_here)) {                               \
            log_write(level, subsystem, __VA_ARGS__);                                              \
            if (log_suppressed_here)                                                               \
                log_write(level, subsystem, "(%u more like that before this one)",                 \
                          (unsigned)log_suppressed_here);                                          \
        }                                                                                          \
    } while (0)

#endif
