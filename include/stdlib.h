/* newlib's <stdlib.h>, and what it doesn't declare. */
#ifndef RINGLET_STDLIB_H
#define RINGLET_STDLIB_H

#include_next <stdlib.h>

#ifdef __cplusplus
extern "C" {
#endif

#if __MISC_VISIBLE
int clearenv(void);
#endif

#ifdef __cplusplus
}
#endif

#endif
