/*
 * One image is one process that never forks: exit, abort, and what newlib wants to know about processes.
 */
#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <sys/times.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/check.h"
#include "lib/image_end.h"
#include "lib/types.h"

enum { OUR_PID = 1 };

static char *no_environment[] = {NULL};
char **environ = no_environment;

/* newlib calls these around constructors and at exit; everything they would do is in linker.ld's arrays. */
void _init(void);
void _fini(void);

void _init(void)
{
}

void _fini(void)
{
}

/* exit() has run atexit's functions and flushed stdio before. */
void _exit(int status)
{
    image_end(status);
}

pid_t getpid(void)
{
    return OUR_PID;
}

/* newlib's raise() ends here for a signal whose action is the default; so does abort(). */
int kill(pid_t pid, int sig)
{
    if (pid != OUR_PID && pid != 0 && pid != -1) {
        errno = ESRCH;
        return -1;
    }
    switch (sig) {
    case 0: /* only asks whether we exist */
    case SIGCHLD:
    case SIGCONT:
    case SIGURG:
    case SIGWINCH:
        return 0;
    case SIGABRT:
        panic("abort() was called");
    default:
        if (sig < 0 || sig >= NSIG) {
            errno = EINVAL;
            return -1;
        }
        panic("ended by signal %d", sig);
    }
}

static pid_t no_processes(void)
{
    errno = ENOSYS;
    return -1;
}

pid_t fork(void)
{
    return no_processes();
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    (void)path;
    (void)argv;
    (void)envp;
    return no_processes();
}

pid_t wait(int *status)
{
    (void)status;
    errno = ECHILD;
    return -1;
}

int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
    /* No signal ever arrives from outside, so a mask changes nothing but what is told about it. */
    static sigset_t blocked;
    const sigset_t before = blocked;
    if (set) {
        switch (how) {
        case SIG_BLOCK:
            blocked |= *set;
            break;
        case SIG_UNBLOCK:
            blocked &= ~*set;
            break;
        case SIG_SETMASK:
            blocked = *set;
            break;
        default:
            errno = EINVAL;
            return -1;
        }
    }
    if (old)
        *old = before;
    return 0;
}
