/* What this system is and how much of everything there is: uname, sysconf, resource limits. */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/param.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "lib/fd.h"
#include "lib/newlib/result.h"
#include "lib/newlib/system.h"
#include "lib/page_alloc.h"
#include "lib/version.h"

#ifndef HOST_NAME_MAX
#define HOST_NAME_MAX 64 /* as on Linux */
#endif
enum { FIRST_STACK_BYTES = 128 * 1024 }; /* linker.ld */

static char host_name[HOST_NAME_MAX + 1] = "ringlet";

/* ---- names ---- */

void system_set_hostname(const char *name)
{
    if (name[0] == '\0')
        return;
    strncpy(host_name, name, sizeof(host_name) - 1);
}

int gethostname(char *name, size_t len)
{
    if (len <= strlen(host_name))
        return failed(ENAMETOOLONG);
    strcpy(name, host_name);
    return 0;
}

int sethostname(const char *name, size_t len)
{
    if (len >= sizeof(host_name))
        return failed(EINVAL);
    memcpy(host_name, name, len);
    host_name[len] = '\0';
    return 0;
}

int uname(struct utsname *name)
{
    *name = (struct utsname){.sysname = "Ringlet",
                             .release = RINGLET_VERSION,
                             .version = "Ringlet " RINGLET_VERSION,
                             .machine = "x86_64"};
    strcpy(name->nodename, host_name);
    return 0;
}

/* ---- sizes ---- */

int getpagesize(void)
{
    return PAGE_BYTES;
}

int getdtablesize(void)
{
    return (int)fd_limit();
}

/* POSIX options that are there answer with its version, those that aren't with -1 and no error. */
static long option(int name)
{
    switch (name) {
    case _SC_VERSION:
    case _SC_THREADS:
    case _SC_THREAD_ATTR_STACKSIZE:
    case _SC_THREAD_SAFE_FUNCTIONS:
    case _SC_THREAD_CPUTIME:
    case _SC_CPUTIME:
    case _SC_TIMERS:
    case _SC_MONOTONIC_CLOCK:
    case _SC_CLOCK_SELECTION:
    case _SC_TIMEOUTS:
    case _SC_SEMAPHORES:
    case _SC_BARRIERS:
    case _SC_READER_WRITER_LOCKS:
    case _SC_SPIN_LOCKS:
    case _SC_MAPPED_FILES:
    case _SC_FSYNC:
    case _SC_IPV6:
        return _POSIX_VERSION;
    default:
        return -1;
    }
}

long sysconf(int name)
{
    switch (name) {
    case _SC_PAGESIZE:
        return PAGE_BYTES;
    case _SC_PHYS_PAGES:
        return (long)page_total_count();
    case _SC_AVPHYS_PAGES:
        return (long)page_free_count();
    case _SC_NPROCESSORS_CONF:
    case _SC_NPROCESSORS_ONLN:
    case _SC_CHILD_MAX:
        return 1;
    case _SC_OPEN_MAX:
        return (long)fd_limit();
    case _SC_CLK_TCK:
        return CLOCKS_PER_SEC;
    case _SC_ARG_MAX:
        return 4096;
    case _SC_HOST_NAME_MAX:
        return HOST_NAME_MAX;
    case _SC_IOV_MAX:
        return FD_IOV_MAX;
    case _SC_LINE_MAX:
        return 2048;
    case _SC_LOGIN_NAME_MAX:
        return 256;
    case _SC_GETPW_R_SIZE_MAX:
    case _SC_GETGR_R_SIZE_MAX:
        return 1024;
    case _SC_NGROUPS_MAX:
        return 1;
    case _SC_THREAD_KEYS_MAX:
        return THREAD_KEYS_MAX;
    case _SC_THREAD_STACK_MIN:
        return THREAD_STACK_MIN_BYTES;
    case _SC_THREAD_DESTRUCTOR_ITERATIONS:
        return 4;
    case _SC_SEM_VALUE_MAX:
        return INT_MAX;
    case _SC_THREAD_THREADS_MAX:
    case _SC_STREAM_MAX:
    case _SC_TZNAME_MAX:
    case _SC_SYMLOOP_MAX:
        return -1; /* no limit but memory */
    default:
        if (name < 0 || name > _SC_XOPEN_UUCP)
            return failed(EINVAL);
        return option(name);
    }
}

/* ---- limits and priorities: there is one of each ---- */

int getrlimit(int resource, struct rlimit *limit)
{
    rlim_t value = RLIM_INFINITY;

    if (resource < 0 || resource >= RLIM_NLIMITS)
        return failed(EINVAL);
    if (resource == RLIMIT_NOFILE)
        value = fd_limit();
    else if (resource == RLIMIT_STACK)
        value = FIRST_STACK_BYTES;
    else if (resource == RLIMIT_CORE)
        value = 0;
    else if (resource == RLIMIT_NPROC)
        value = 1;
    *limit = (struct rlimit){value, value};
    return 0;
}

/* A program may be content with less, but can't have more. */
int setrlimit(int resource, const struct rlimit *limit)
{
    struct rlimit now;

    if (getrlimit(resource, &now))
        return -1;
    if (limit->rlim_cur > limit->rlim_max)
        return failed(EINVAL);
    return limit->rlim_max <= now.rlim_max ? 0 : failed(EPERM);
}

int getpriority(int which, id_t who)
{
    (void)who;
    return which >= PRIO_PROCESS && which <= PRIO_USER ? 0 : failed(EINVAL);
}

int setpriority(int which, id_t who, int value)
{
    (void)who;
    (void)value;
    return which >= PRIO_PROCESS && which <= PRIO_USER ? 0 : failed(EINVAL);
}

int nice(int increment)
{
    (void)increment;
    return 0;
}
