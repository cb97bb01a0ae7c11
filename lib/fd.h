/*
 * Descriptors: small numbers for open files, sockets, and whatever else can be read, written and waited for.
 *
 * An object embeds a struct file as its first part and brings its operations; this file knows none of
 * them. Descriptors made by dup share one file, and so its flags (POSIX.1-2017 §2.14).
 *
 * Functions return 0, a count or a descriptor, or a negative errno: the names of POSIX, which set errno, are a thin
 * layer in lib/newlib/ above these. Any of them may wait (see lib/thread.h), so none is for callbacks.
 */
#ifndef LIB_FD_H
#define LIB_FD_H

#include <poll.h>
#include <sys/stat.h>
#include <sys/uio.h>

#include "lib/thread.h"
#include "lib/types.h"

enum {
    FD_LIMIT_MIN = 1024,  /* descriptors there may be in any case, … */
    FD_LIMIT_MAX = 65536, /* … and at most; between them one per 16 KiB of memory */
    FD_IOV_MAX = 1024,    /* POSIX's IOV_MAX */
};

struct file;
struct epoll_item;

/*
 * What an object can do. `f` is borrowed; it stays alive during the call, even if every
 * descriptor is closed meanwhile. NULL members give the errno in brackets.
 */
struct file_ops {
    /* Up to all of iov, waiting unless f->flags has O_NONBLOCK. 0 is end of file. [EBADF] */
    ssize_t (*read)(struct file *f, const struct iovec *iov, size_t iov_count);
    /* All of iov, unless O_NONBLOCK, an error or a time-out cuts it short. [EBADF] */
    ssize_t (*write)(struct file *f, const struct iovec *iov, size_t iov_count);
    /* Positioned read and write, for files in memory; the offset is kept by the object. [ESPIPE] */
    off_t (*seek)(struct file *f, off_t offset, int whence);
    /* What could be done now without waiting: POLLIN | POLLOUT | …; f->waiters is woken when this may
     * have changed. NULL: always readable and writable, as a regular file is. */
    unsigned (*poll)(struct file *f);
    /* FIONREAD and the like; `arg` as ioctl()'s. FIONBIO is done by fd_ioctl(). [ENOTTY] */
    int (*ioctl)(struct file *f, unsigned long request, void *arg);
    /* Type and size into *st, which is zeroed. NULL: a character device. */
    int (*stat)(struct file *f, struct stat *st);
    /* The last reference is gone: free the object. Its result is close()'s. */
    int (*close)(struct file *f);
    bool is_tty;
};

struct file {
    const struct file_ops *ops;
    uint32_t refs;               /* 1 after file_init */
    int flags;                   /* O_ACCMODE, O_NONBLOCK, O_APPEND */
    struct waitq waiters;        /* threads and poll sets waiting for a change of ops->poll() */
    struct epoll_item *watchers; /* its entries in epoll sets */
};

/* An object begins its life, with one reference for whoever made it. */
void file_init(struct file *f, const struct file_ops *ops, int flags);

static inline struct file *file_ref(struct file *f)
{
    f->refs++;
    return f;
}

/* One reference less; the last closes. Returns close()'s result, 0 otherwise. */
int file_put(struct file *f);

/* Tell everybody who waits for f that its poll mask may have changed. Callable from the idle hook. */
static inline void file_changed(struct file *f)
{
    if (f->waiters.head)
        waitq_wake_all(&f->waiters);
}

/* ---- the table ---- */

/*
 * Give f (takes the caller's reference on success) the lowest free number ≥ at_least. close_on_exec is kept for F_GETFD.
 * Returns the descriptor; -EMFILE at the limit or for at_least beyond it; -ENOMEM.
 */
int fd_install(struct file *f, int at_least, bool close_on_exec);

/* The file of a descriptor, with a reference for the caller (file_put it), or NULL: EBADF. */
struct file *fd_get(int fd);

size_t fd_limit(void);      /* numbers are below this */
size_t fd_open_count(void); /* in use now */

int fd_close(int fd);
void fd_close_all(void);                              /* what a process's end does */
int fd_dup(int fd, int at_least, bool close_on_exec); /* F_DUPFD */
int fd_dup2(int fd, int target);                      /* closes what target was */
int fd_get_flags(int fd);                             /* F_GETFL */
int fd_set_flags(int fd, int flags);                  /* F_SETFL: O_NONBLOCK and O_APPEND */
int fd_get_cloexec(int fd);                           /* F_GETFD */
int fd_set_cloexec(int fd, bool close_on_exec);       /* F_SETFD */

/* ---- use ---- */
ssize_t fd_read(int fd, void *buf, size_t len);
ssize_t fd_write(int fd, const void *buf, size_t len);
ssize_t fd_readv(int fd, const struct iovec *iov, int iov_count); /* EINVAL: POSIX's rules on iov */
ssize_t fd_writev(int fd, const struct iovec *iov, int iov_count);
off_t fd_seek(int fd, off_t offset, int whence);
int fd_ioctl(int fd, unsigned long request, void *arg);
int fd_stat(int fd, struct stat *st);
int fd_isatty(int fd); /* 1; -ENOTTY; -EBADF */

/*
 * poll(): fill every revents. Returns how many are non-zero, 0 at the deadline (clock_now_us() time; 0: don't wait,
 * but let the network have a turn), -EINTR, -ENOMEM, -EINVAL for more than fd_limit().
 */
int fd_poll(struct pollfd *fds, size_t count, uint64_t deadline_us);

/* ---- bytes and iovecs, for whoever implements read and write ---- */

/* Where a copy into or out of an iovec array stands. */
struct iov_pos {
    const struct iovec *iov;
    size_t count;
    size_t offset; /* into iov[0] */
};
size_t iov_bytes(const struct iovec *iov, size_t count);
size_t iov_put(struct iov_pos *pos, const void *from, size_t len); /* how much fitted */
size_t iov_take(struct iov_pos *pos, void *to, size_t len);        /* how much there was */
/* The next contiguous piece, at most max bytes of it; 0 at the end. Moves past it. */
size_t iov_piece(struct iov_pos *pos, void **piece, size_t max);

#endif
