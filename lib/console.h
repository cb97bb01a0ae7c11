/*
 * The console: where log lines, a program's output and a crash block go.
 *
 * One sink, set at boot; what comes earlier is lost. Remembers whether the cursor stands at the start of a
 * line, so that a last line can be made to stand alone.
 */
#ifndef LIB_CONSOLE_H
#define LIB_CONSOLE_H

#include <stddef.h>

/*
 * write must take everything or drop it; drain waits until it has left. Neither may wait without an end.
 * drain may be NULL.
 */
void console_set(void (*write)(const char *text, size_t len), void (*drain)(void));

/* text is not NUL-terminated, and may hold any bytes. */
void console_write(const char *text, size_t len);

/* A NUL-terminated string. */
void console_puts(const char *text);

/* Wait until what was written has left the machine. */
void console_drain(void);

/* Go to the start of a line, unless there already. */
void console_fresh_line(void);

#endif
