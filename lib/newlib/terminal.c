/* Terminals under their POSIX names: the console has no modes, and nothing else is a terminal. */
#include <errno.h>
#include <sys/termios.h>

#include "lib/fd.h"
#include "lib/newlib/result.h"

static int no_modes(int fd)
{
    struct file *f = fd_get(fd);

    if (!f)
        return (int)posix_result(-EBADF);
    file_put(f);
    return (int)posix_result(-ENOTTY);
}

int tcgetattr(int fd, struct termios *modes)
{
    (void)modes;
    return no_modes(fd);
}

int tcsetattr(int fd, int when, const struct termios *modes)
{
    (void)when;
    (void)modes;
    return no_modes(fd);
}
