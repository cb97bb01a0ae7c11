/* sendfile(): from a file to a descriptor, as Linux has it. An archive's files go straight from where they lie. */
#ifndef LIB_SENDFILE_H
#define LIB_SENDFILE_H

#include <sys/types.h>

/*
 * Write up to count bytes of `in` to `out`. offset: where to begin, moved on by what was written; NULL: the file's own
 * position, and that moves. Like write(): waits unless `out` is O_NONBLOCK; less than count when cut short.
 *
 * Returns bytes, 0 at the end of the file; -EBADF; -EINVAL: `in` is no file with positions (a socket, a pipe), a
 * negative offset, or `out` is O_APPEND; -ENOMEM; what write() gives.
 */
ssize_t fd_sendfile(int out, int in, off_t *offset, size_t count);

#endif
