/* newlib's <sys/config.h>; read() and write() return ssize_t, as POSIX says, and not int. */
#ifndef RINGLET_SYS_CONFIG_H
#define RINGLET_SYS_CONFIG_H

#define _READ_WRITE_RETURN_TYPE _ssize_t

#include_next <sys/config.h>

#endif
