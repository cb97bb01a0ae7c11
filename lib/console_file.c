#include "lib/console_file.h"

#include <fcntl.h>

#include "lib/check.h"
#include "lib/console.h"
#include "lib/fd.h"

ssize_t console_file_read(struct file *f, const struct iovec *iov, size_t iov_count)
{
    (void)f;
    (void)iov;
    (void)iov_count;
    return 0;
}

ssize_t console_file_write(struct file *f, const struct iovec *iov, size_t iov_count)
{
    (void)f;
    for (size_t i = 0; i < iov_count; i++)
        console_write(iov[i].iov_base, iov[i].iov_len);
    return (ssize_t)iov_bytes(iov, iov_count);
}

/* Nobody types: a program that asks whether somebody does is told no, and goes the way of a script. */
static const struct file_ops input_ops = {.read = console_file_read, .write = console_file_write};
static const struct file_ops output_ops = {
    .read = console_file_read, .write = console_file_write, .is_tty = true};

void console_file_init(void)
{
    static struct file input, output;
    file_init(&input, &input_ops, O_RDWR);
    file_init(&output, &output_ops, O_RDWR);
    for (int fd = 0; fd < 3; fd++) {
        const int got = fd_install(file_ref(fd == 0 ? &input : &output), 0, false);
        ASSERT(got == fd);
    }
}
