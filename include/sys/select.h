/* newlib's select(), with room for as many descriptors as other systems have. */
#ifndef RINGLET_SYS_SELECT_H
#define RINGLET_SYS_SELECT_H

#ifndef FD_SETSIZE
#define FD_SETSIZE 1024
#endif

#include_next <sys/select.h>

#endif
