/* The system's name (POSIX.1-2017). */
#ifndef RINGLET_SYS_UTSNAME_H
#define RINGLET_SYS_UTSNAME_H

enum { RINGLET_UTSNAME_LENGTH = 65 };

struct utsname {
    char sysname[RINGLET_UTSNAME_LENGTH];  /* "Ringlet" */
    char nodename[RINGLET_UTSNAME_LENGTH]; /* hostname= */
    char release[RINGLET_UTSNAME_LENGTH];  /* our version */
    char version[RINGLET_UTSNAME_LENGTH];
    char machine[RINGLET_UTSNAME_LENGTH]; /* "x86_64" */
};

int uname(struct utsname *name);

#endif
