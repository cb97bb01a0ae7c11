/* newlib's limits, but for those that are larger here. */
#ifndef RINGLET_SYS_SYSLIMITS_H
#define RINGLET_SYS_SYSLIMITS_H

#include_next <sys/syslimits.h>

#undef PIPE_BUF
#define PIPE_BUF 4096 /* lib/pipe.h */
#undef OPEN_MAX       /* by memory: sysconf(_SC_OPEN_MAX) */

#endif
