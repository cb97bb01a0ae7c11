/* What boot tells the C library's layer about the system. */
#ifndef LIB_NEWLIB_SYSTEM_H
#define LIB_NEWLIB_SYSTEM_H

/* gethostname()'s answer; "" leaves the start value, "ringlet". Borrowed for the call. */
void system_set_hostname(const char *name);

#endif
