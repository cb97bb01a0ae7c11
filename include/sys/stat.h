/* newlib's <sys/stat.h>, and what it does not declare for a bare target. */
#ifndef RINGLET_SYS_STAT_H
#define RINGLET_SYS_STAT_H

#include_next <sys/stat.h>

int lstat(const char *path, struct stat *st);

#endif
