/* What netperf's configure would find here. Each line was checked against include/. */
#ifndef APPS_NETSERVER_CONFIG_H
#define APPS_NETSERVER_CONFIG_H

#define HAVE_ALARM 1
#define HAVE_ARPA_INET_H 1
#define HAVE_BZERO 1
#define HAVE_ENDIAN_H 1
#define HAVE_ERRNO_H 1
#define HAVE_FCNTL_H 1
#define HAVE_GETADDRINFO 1
#define HAVE_GETHOSTBYNAME 1
#define HAVE_GETNAMEINFO 1
#define HAVE_GETPAGESIZE 1
#define HAVE_GETTIMEOFDAY 1
#define HAVE_INET_NTOA 1
#define HAVE_INET_NTOP 1
#define HAVE_INTTYPES_H 1
#define HAVE_LIMITS_H 1
#define HAVE_MALLOC_H 1
#define HAVE_MEMCPY 1
#define HAVE_MEMORY_H 1
#define HAVE_MEMSET 1
#define HAVE_MMAP 1
#define HAVE_MUNMAP 1
#define HAVE_NETDB_H 1
#define HAVE_NETINET_IN_H 1
#define HAVE_SCHED_H 1
#define HAVE_SELECT 1
#define HAVE_SIGNAL_H 1
#define HAVE_SOCKET 1
#define HAVE_SQRT 1
#define HAVE_STDBOOL_H 1
#define HAVE_STDINT_H 1
#define HAVE_STDLIB_H 1
#define HAVE_STRCASECMP 1
#define HAVE_STRCHR 1
#define HAVE_STRINGS_H 1
#define HAVE_STRING_H 1
#define HAVE_STRSTR 1
#define HAVE_STRTOUL 1
#define HAVE_STRUCT_SOCKADDR_STORAGE 1
#define HAVE_SYS_IOCTL_H 1
#define HAVE_SYS_MMAN_H 1
#define HAVE_SYS_PARAM_H 1
#define HAVE_SYS_SELECT_H 1
#define HAVE_SYS_SOCKET_H 1
#define HAVE_SYS_STAT_H 1
#define HAVE_SYS_TIME_H 1
#define HAVE_SYS_TYPES_H 1
#define HAVE_SYS_WAIT_H 1
#define HAVE_TOUPPER 1
#define HAVE_UNAME 1
#define HAVE_UNISTD_H 1
#define HAVE__BOOL 1

#define netperf_socklen_t socklen_t

/* Choices that configure leaves to the builder: the omni tests, which all current clients use, and their statistics. */
#define WANT_HISTOGRAM 1
#define WANT_INTERVALS 1
#define WANT_OMNI 1
#define WANT_MIGRATION 1
#define NETSTAT_WANTED 0

#define PACKAGE "netperf"
#define VERSION "2.7.1"

#endif
