/* The console as descriptors 0, 1 and 2: output goes out as it is, input is always at its end. */
#ifndef LIB_CONSOLE_FILE_H
#define LIB_CONSOLE_FILE_H

#include <sys/types.h>

/* Open them; once, before main(). */
void console_file_init(void);

/* As file_ops has them, for /dev/console: nothing to read, and all can be written. */
struct file;
struct iovec;
ssize_t console_file_read(struct file *f, const struct iovec *iov, size_t iov_count);
ssize_t console_file_write(struct file *f, const struct iovec *iov, size_t iov_count);

#endif
