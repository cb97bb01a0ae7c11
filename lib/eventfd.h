/* eventfd(): a counter that can be waited for, as Linux has it. */
#ifndef LIB_EVENTFD_H
#define LIB_EVENTFD_H

/* flags: EFD_SEMAPHORE, EFD_NONBLOCK, EFD_CLOEXEC. Returns a descriptor, -EINVAL, -EMFILE, -ENOMEM. */
int eventfd_open(unsigned count, int flags);

#endif
