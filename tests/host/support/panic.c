#include "tests/host/support/panic.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "lib/check.h"

static jmp_buf way_out;
static bool expected;
static char text[256];

_Noreturn void panic(const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (expected)
        longjmp(way_out, 1);
    fprintf(stderr, "panic: %s\n", text);
    abort();
}

bool panics(void (*fn)(void *arg), void *arg)
{
    const bool caught = setjmp(way_out) != 0;
    if (!caught) {
        expected = true;
        fn(arg);
    }
    expected = false;
    return caught;
}

const char *panic_text(void)
{
    return text;
}
