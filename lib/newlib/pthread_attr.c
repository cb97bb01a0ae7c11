/* Threads' attributes and scheduling under their POSIX names. There is one policy, and one priority. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "lib/newlib/pthread_impl.h"
#include "lib/newlib/result.h"
#include "lib/page_alloc.h"

enum { SLICE_NS = 10000000 };

int pthread_attr_init(pthread_attr_t *attr)
{
    *attr = (pthread_attr_t){.__stack_bytes = 0};
    return 0;
}

int pthread_attr_destroy(pthread_attr_t *attr)
{
    (void)attr;
    return 0;
}

int pthread_attr_setdetachstate(pthread_attr_t *attr, int state)
{
    if (state != PTHREAD_CREATE_DETACHED && state != PTHREAD_CREATE_JOINABLE)
        return EINVAL;
    attr->__detached = state == PTHREAD_CREATE_DETACHED;
    return 0;
}

int pthread_attr_getdetachstate(const pthread_attr_t *attr, int *state)
{
    *state = attr->__detached ? PTHREAD_CREATE_DETACHED : PTHREAD_CREATE_JOINABLE;
    return 0;
}

int pthread_attr_setstacksize(pthread_attr_t *attr, size_t bytes)
{
    if (bytes < PTHREAD_STACK_MIN)
        return EINVAL;
    attr->__stack_bytes = bytes;
    return 0;
}

int pthread_attr_getstacksize(const pthread_attr_t *attr, size_t *bytes)
{
    *bytes = attr->__stack_bytes ? attr->__stack_bytes : (size_t)THREAD_STACK_BYTES;
    return 0;
}

/* Every stack has one guard page; POSIX lets an implementation round up what is asked for. */
int pthread_attr_setguardsize(pthread_attr_t *attr, size_t bytes)
{
    (void)attr;
    return bytes <= PAGE_BYTES ? 0 : EINVAL;
}

int pthread_attr_getguardsize(const pthread_attr_t *attr, size_t *bytes)
{
    (void)attr;
    *bytes = PAGE_BYTES;
    return 0;
}

int pthread_attr_setscope(pthread_attr_t *attr, int scope)
{
    (void)attr;
    return scope == PTHREAD_SCOPE_SYSTEM ? 0 : scope == PTHREAD_SCOPE_PROCESS ? ENOTSUP : EINVAL;
}

int pthread_attr_getscope(const pthread_attr_t *attr, int *scope)
{
    (void)attr;
    *scope = PTHREAD_SCOPE_SYSTEM;
    return 0;
}

int pthread_attr_setinheritsched(pthread_attr_t *attr, int inherit)
{
    if (inherit != PTHREAD_INHERIT_SCHED && inherit != PTHREAD_EXPLICIT_SCHED)
        return EINVAL;
    attr->__explicit = inherit;
    return 0;
}

int pthread_attr_getinheritsched(const pthread_attr_t *attr, int *inherit)
{
    *inherit = attr->__explicit;
    return 0;
}

int pthread_attr_setschedpolicy(pthread_attr_t *attr, int policy)
{
    (void)attr;
    return policy == SCHED_OTHER ? 0 : ENOTSUP;
}

int pthread_attr_getschedpolicy(const pthread_attr_t *attr, int *policy)
{
    (void)attr;
    *policy = SCHED_OTHER;
    return 0;
}

int pthread_attr_setschedparam(pthread_attr_t *attr, const struct sched_param *param)
{
    if (param->sched_priority != 0)
        return EINVAL;
    attr->__sched = *param;
    return 0;
}

int pthread_attr_getschedparam(const pthread_attr_t *attr, struct sched_param *param)
{
    *param = attr->__sched;
    return 0;
}

/* ---- of a thread ---- */

int pthread_setschedparam(pthread_t thread, int policy, const struct sched_param *param)
{
    if (!pthread_is_alive(thread))
        return ESRCH;
    if (policy != SCHED_OTHER)
        return policy == SCHED_FIFO || policy == SCHED_RR ? EPERM : EINVAL;
    return param->sched_priority == 0 ? 0 : EINVAL;
}

int pthread_getschedparam(pthread_t thread, int *policy, struct sched_param *param)
{
    if (!pthread_is_alive(thread))
        return ESRCH;
    *policy = SCHED_OTHER;
    *param = (struct sched_param){0};
    return 0;
}

int pthread_setconcurrency(int level)
{
    return level >= 0 ? 0 : EINVAL;
}

int pthread_getconcurrency(void)
{
    return 0;
}

/* ---- of the process ---- */

int sched_yield(void)
{
    thread_yield();
    return 0;
}

int sched_get_priority_max(int policy)
{
    return policy == SCHED_OTHER ? 0 : failed(EINVAL);
}

int sched_get_priority_min(int policy)
{
    return policy == SCHED_OTHER ? 0 : failed(EINVAL);
}

int sched_getscheduler(pid_t pid)
{
    return pid == 0 || pid == getpid() ? SCHED_OTHER : failed(ESRCH);
}

int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param)
{
    if (sched_getscheduler(pid) < 0)
        return -1;
    if (policy != SCHED_OTHER)
        return failed(EPERM);
    return param->sched_priority == 0 ? 0 : failed(EINVAL);
}

int sched_getparam(pid_t pid, struct sched_param *param)
{
    *param = (struct sched_param){0};
    return sched_getscheduler(pid) < 0 ? -1 : 0;
}

int sched_setparam(pid_t pid, const struct sched_param *param)
{
    return sched_setscheduler(pid, SCHED_OTHER, param);
}

int sched_rr_get_interval(pid_t pid, struct timespec *interval)
{
    *interval = (struct timespec){.tv_nsec = SLICE_NS};
    return sched_getscheduler(pid) < 0 ? -1 : 0;
}

/* One processor, and everybody may use it. */
int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set)
{
    if (bytes < sizeof(unsigned long))
        return failed(EINVAL);
    CPU_ZERO(set);
    CPU_SET(0, set);
    return sched_getscheduler(pid) < 0 ? -1 : 0;
}

int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set)
{
    if (bytes < sizeof(unsigned long) || !CPU_ISSET(0, set))
        return failed(EINVAL);
    return sched_getscheduler(pid) < 0 ? -1 : 0;
}

int sched_getcpu(void)
{
    return 0;
}
