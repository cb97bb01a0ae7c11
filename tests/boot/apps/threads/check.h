/* How the program shows what it found. */
#ifndef THREADS_CHECK_H
#define THREADS_CHECK_H

#include <errno.h>
#include <stdio.h>

#include "../error_name.h"

static inline void show_error(const char *what, int error)
{
    printf("threads: %s: %s\n", what, error_name(error));
}

/* -1 means errno, anything else itself. */
static inline void show(const char *what, long value)
{
    if (value == -1)
        show_error(what, errno);
    else
        printf("threads: %s: %ld\n", what, value);
}

#endif
