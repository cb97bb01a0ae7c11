/* newlib's <sys/stat.h>, and what it does not declare for a bare target. */
#ifndef RINGLET_SYS_STAT_H
#define RINGLET_SYS_STAT_H

#include_next <sys/stat.h>

#ifndef UTIME_NOW
/* In place of nanoseconds, for utimensat() and futimens(). */
#define UTIME_NOW -2L
#define UTIME_OMIT -1L
#endif

#ifdef __cplusplus
extern "C" {
#endif

int lstat(const char *path, struct stat *st);

#ifdef __cplusplus
}
#endif

#endif
