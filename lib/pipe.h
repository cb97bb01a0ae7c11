/* pipe(): bytes from one descriptor to another. POSIX.1-2017 pipe(), and read() and write() where they speak of pipes. */
#ifndef LIB_PIPE_H
#define LIB_PIPE_H

enum {
    PIPE_BYTES = 65536,      /* as Linux's pipes hold */
    PIPE_ATOMIC_BYTES = 4096 /* PIPE_BUF: up to here a write goes in whole */
};

/* flags: O_NONBLOCK, O_CLOEXEC. fds[0] reads, fds[1] writes. Returns 0, -EINVAL, -EMFILE, -ENFILE, -ENOMEM. */
int pipe_open(int fds[2], int flags);

#endif
