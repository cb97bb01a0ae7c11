/* The directory descriptor that openat() and its like begin with. */
#ifndef LIB_NEWLIB_AT_H
#define LIB_NEWLIB_AT_H

#include "lib/vfs.h"

/*
 * The inode that a path is relative to: *at is NULL for AT_FDCWD and for absolute paths. *base keeps it alive: at_end() when done.
 * EBADF; ENOTDIR.
 */
int at_begin(int dir, const char *path, struct inode **at, struct file **base);
void at_end(struct file *base);

#endif
