/*
 * epoll, as Linux has it: level, edge and one-shot; sets within sets; files leave when their last descriptor is closed.
 *
 * A set hangs one node into the wait queue of each file, for as long as the file is in the set. A change of the file puts
 * the entry on the set's ready list, so that waiting costs by what has changed, not by how many are watched.
 */
#ifndef LIB_EPOLL_H
#define LIB_EPOLL_H

#include <sys/epoll.h>

#include "lib/types.h"

struct file;

enum { EPOLL_NESTING_MAX = 5 };

/* flags: EPOLL_CLOEXEC. Returns a descriptor, -EINVAL, -EMFILE, -ENOMEM. */
int epoll_open(int flags);

/*
 * Add, change or remove (op: EPOLL_CTL_…) the pair of fd and its file; event is copied.
 * Returns 0; -EBADF; -EINVAL: not a set, the set itself, or a bad op; -EEXIST; -ENOENT; -EPERM: a regular file;
 * -ELOOP: sets would contain each other, or too deep; -ENOMEM; -EFAULT.
 */
int epoll_change(int set_fd, int op, int fd, const struct epoll_event *event);

/*
 * Wait for events until clock_now_us() reaches deadline_us; 0: don't, but let the network have a turn.
 * Returns how many of `events` were written, 0 at the deadline, -EBADF, -EINVAL, -EINTR.
 */
int epoll_await(int set_fd, struct epoll_event *events, int max_events, uint64_t deadline_us);

/* f is about to be closed: take it out of every set. For file_put(). */
void epoll_forget(struct file *f);

#endif
