/* From our way of telling errors to POSIX's. */
#ifndef LIB_NEWLIB_RESULT_H
#define LIB_NEWLIB_RESULT_H

#include <errno.h>

/* -1, with errno set. */
static inline int failed(int err)
{
    errno = err;
    return -1;
}

/* A negative errno becomes -1 with errno set; everything else is handed on. */
static inline long posix_result(long value)
{
    return value < 0 ? failed((int)-value) : value;
}

#endif
