/* newlib's <utime.h>, and the function itself. */
#ifndef RINGLET_UTIME_H
#define RINGLET_UTIME_H

#include_next <utime.h>

#ifdef __cplusplus
extern "C" {
#endif

int utime(const char *path, const struct utimbuf *times);

#ifdef __cplusplus
}
#endif

#endif
