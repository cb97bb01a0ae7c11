/*
 * newlib's <sys/features.h>, and what of POSIX this system has: newlib asks these macros before it declares the functions. So a
 * program needs no -D of its own.
 */
#ifndef RINGLET_SYS_FEATURES_H
#define RINGLET_SYS_FEATURES_H

#include_next <sys/features.h>

#define _POSIX_VERSION 200809L
#define _POSIX_BARRIERS 200809L
#define _POSIX_CLOCK_SELECTION 200809L
#define _POSIX_CPUTIME 200809L
#define _POSIX_FSYNC 200809L
#define _POSIX_IPV6 200809L
#define _POSIX_MAPPED_FILES 200809L
#define _POSIX_MONOTONIC_CLOCK 200809L
#define _POSIX_READER_WRITER_LOCKS 200809L
#define _POSIX_SEMAPHORES 200809L
#define _POSIX_SPIN_LOCKS 200809L
#define _POSIX_THREADS 200809L
#define _POSIX_THREAD_ATTR_STACKSIZE 200809L
#define _POSIX_THREAD_CPUTIME 200809L
#define _POSIX_THREAD_SAFE_FUNCTIONS 200809L
#define _POSIX_TIMEOUTS 200809L
#define _POSIX_TIMERS 200809L
#define _UNIX98_THREAD_MUTEX_ATTRIBUTES 1

/* errno's names that only Linux has (EBADFD, ECOMM …). */
#ifndef __LINUX_ERRNO_EXTENSIONS__
#define __LINUX_ERRNO_EXTENSIONS__ 1
#endif

#endif
