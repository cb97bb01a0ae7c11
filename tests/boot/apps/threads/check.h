/* How the program shows what it found. */
#ifndef THREADS_CHECK_H
#define THREADS_CHECK_H

#include <errno.h>
#include <stdio.h>

/* errno's numbers differ between the two systems. */
static inline const char *error_name(int error)
{
    switch (error) {
    case 0:
        return "0";
    case EAGAIN:
        return "EAGAIN";
    case EBUSY:
        return "EBUSY";
    case EDEADLK:
        return "EDEADLK";
    case EINTR:
        return "EINTR";
    case EINVAL:
        return "EINVAL";
    case EPERM:
        return "EPERM";
    case ERANGE:
        return "ERANGE";
    case ESRCH:
        return "ESRCH";
    case ETIMEDOUT:
        return "ETIMEDOUT";
    default:
        return "another";
    }
}

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
