/* newlib's <utime.h>, and the function itself. */
#ifndef RINGLET_UTIME_H
#define RINGLET_UTIME_H

#include_next <utime.h>

int utime(const char *path, const struct utimbuf *times);

#endif
