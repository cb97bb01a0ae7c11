/* newlib's types of <sched.h>, and scheduling as far as one policy and one processor have any. */
#ifndef _SCHED_H_
#define _SCHED_H_

#include <sys/sched.h>
#include <sys/types.h>
#include <time.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef SCHED_BATCH
#define SCHED_BATCH 3
#define SCHED_IDLE 5
#endif

/* As on Linux: a set of processors, of which there is number 0. */
#define CPU_SETSIZE 1024
typedef struct {
    unsigned long __bits[CPU_SETSIZE / (8 * sizeof(unsigned long))];
} cpu_set_t;

#define __CPU_WORD(cpu) ((cpu) / (8 * sizeof(unsigned long)))
#define __CPU_BIT(cpu) (1ul << ((cpu) % (8 * sizeof(unsigned long))))
#define CPU_ZERO(set) __builtin_memset((set), 0, sizeof(cpu_set_t))
#define CPU_SET(cpu, set) ((void)((set)->__bits[__CPU_WORD(cpu)] |= __CPU_BIT(cpu)))
#define CPU_CLR(cpu, set) ((void)((set)->__bits[__CPU_WORD(cpu)] &= ~__CPU_BIT(cpu)))
#define CPU_ISSET(cpu, set) (((set)->__bits[__CPU_WORD(cpu)] & __CPU_BIT(cpu)) != 0)
static __inline__ int CPU_COUNT(const cpu_set_t *set)
{
    int count = 0;

    for (unsigned i = 0; i < sizeof(set->__bits) / sizeof(set->__bits[0]); i++)
        count += __builtin_popcountl(set->__bits[i]);
    return count;
}

int sched_yield(void);
int sched_get_priority_max(int policy);
int sched_get_priority_min(int policy);
int sched_getscheduler(pid_t pid);
int sched_setscheduler(pid_t pid, int policy, const struct sched_param *param);
int sched_getparam(pid_t pid, struct sched_param *param);
int sched_setparam(pid_t pid, const struct sched_param *param);
int sched_rr_get_interval(pid_t pid, struct timespec *interval);
int sched_getaffinity(pid_t pid, size_t bytes, cpu_set_t *set);
int sched_setaffinity(pid_t pid, size_t bytes, const cpu_set_t *set);
int sched_getcpu(void);

#ifdef __cplusplus
}
#endif

#endif
