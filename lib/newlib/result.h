/* From our way of telling errors to POSIX's: a negative errno becomes -1 with errno set; everything else is handed on. */
#ifndef LIB_NEWLIB_RESULT_H
#define LIB_NEWLIB_RESULT_H

#include <errno.h>

static inline long posix_result(long value)
{
    if (value >= 0)
        return value;
    errno = (int)-value;
    return -1;
}

#endif
