/* One line for each check: `ok NAME` or `FAIL NAME: DETAIL`. */
#ifndef LIBC_CHECK_H
#define LIBC_CHECK_H

#include <stdbool.h>

void check(const char *name, bool good, const char *detail);

/* What bare newlib lacks. */
void check_more(void);

#endif
