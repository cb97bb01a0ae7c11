#include "lib/console.h"

#include <stdbool.h>
#include <string.h>

static void (*sink)(const char *text, size_t len);
static void (*sink_drain)(void);
static bool mid_line;

void console_set(void (*write)(const char *text, size_t len), void (*drain)(void))
{
    sink = write;
    sink_drain = drain;
}

void console_write(const char *text, size_t len)
{
    if (len == 0)
        return;
    mid_line = text[len - 1] != '\n';
    if (sink)
        sink(text, len);
}

void console_puts(const char *text)
{
    console_write(text, strlen(text));
}

void console_drain(void)
{
    if (sink_drain)
        sink_drain();
}

void console_fresh_line(void)
{
    if (mid_line)
        console_write("\n", 1);
}
