/* Linux's sendfile: from a file to a descriptor without a buffer of the program's. */
#ifndef RINGLET_SYS_SENDFILE_H
#define RINGLET_SYS_SENDFILE_H

#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

/* offset NULL: from the file's own position, which moves. */
ssize_t sendfile(int out, int in, off_t *offset, size_t count);

#ifdef __cplusplus
}
#endif

#endif
