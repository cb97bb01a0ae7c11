/*
 * Signals, in place of newlib's <sys/signal.h>: POSIX.1-2017 <signal.h>, within the one process that an image is.
 *
 * Numbers up to 31 are newlib's (its strsignal() knows them). Faults of the processor are no signals here: they end
 * the image with a crash block. SIGPIPE is never sent. docs/programs.md
 */
#ifndef _SYS_SIGNAL_H
#define _SYS_SIGNAL_H

#include <stddef.h>
#include <stdint.h>
#include <sys/_sigset.h>
#include <sys/_timespec.h>
#include <sys/cdefs.h>
#include <sys/features.h>
#include <sys/types.h>

#ifdef __cplusplus
extern "C" {
#endif

#if !defined(_SIGSET_T_DECLARED)
#define _SIGSET_T_DECLARED
typedef __sigset_t sigset_t;
#endif

#define SIGHUP 1
#define SIGINT 2
#define SIGQUIT 3
#define SIGILL 4
#define SIGTRAP 5
#define SIGIOT 6
#define SIGABRT 6
#define SIGEMT 7
#define SIGFPE 8
#define SIGKILL 9
#define SIGBUS 10
#define SIGSEGV 11
#define SIGSYS 12
#define SIGPIPE 13
#define SIGALRM 14
#define SIGTERM 15
#define SIGURG 16
#define SIGSTOP 17
#define SIGTSTP 18
#define SIGCONT 19
#define SIGCHLD 20
#define SIGCLD 20
#define SIGTTIN 21
#define SIGTTOU 22
#define SIGIO 23
#define SIGPOLL SIGIO
#define SIGXCPU 24
#define SIGXFSZ 25
#define SIGVTALRM 26
#define SIGPROF 27
#define SIGWINCH 28
#define SIGLOST 29
#define SIGPWR 29
#define SIGUSR1 30
#define SIGUSR2 31
#define SIGRTMIN 32
#define SIGRTMAX 63
#define NSIG 64
#define _NSIG NSIG

#define SA_NOCLDSTOP 0x1
#define SA_NOCLDWAIT 0x2
#define SA_SIGINFO 0x4
#define SA_ONSTACK 0x8000000
#define SA_RESTART 0x10000000
#define SA_NODEFER 0x40000000
#define SA_RESETHAND 0x80000000
#define SA_NOMASK SA_NODEFER
#define SA_ONESHOT SA_RESETHAND

#define SIG_BLOCK 0
#define SIG_UNBLOCK 1
#define SIG_SETMASK 2

#define SI_USER 0
#define SI_QUEUE (-1)
#define SI_TIMER (-2)
#define SI_TKILL (-6)
#define SI_KERNEL 0x80

/* si_code of faults, which programs name but never see here. */
#define ILL_ILLOPC 1
#define FPE_INTDIV 1
#define FPE_INTOVF 2
#define FPE_FLTDIV 3
#define SEGV_MAPERR 1
#define SEGV_ACCERR 2
#define BUS_ADRALN 1
#define CLD_EXITED 1
#define CLD_KILLED 2

#define SIGEV_SIGNAL 0
#define SIGEV_NONE 1
#define SIGEV_THREAD 2

typedef void (*_sig_func_ptr)(int);

union sigval {
    int sival_int;
    void *sival_ptr;
};

typedef struct {
    int si_signo;
    int si_code;
    int si_errno;
    pid_t si_pid;
    uid_t si_uid;
    int si_status;
    long si_band;
    void *si_addr;
    union sigval si_value;
} siginfo_t;

struct sigaction {
    union {
        _sig_func_ptr __handler;
        void (*__sigaction)(int, siginfo_t *, void *);
    } __action;
    sigset_t sa_mask;
    int sa_flags;
};
#define sa_handler __action.__handler
#define sa_sigaction __action.__sigaction

struct sigevent {
    int sigev_notify;
    int sigev_signo;
    union sigval sigev_value;
    void (*sigev_notify_function)(union sigval);
    pthread_attr_t *sigev_notify_attributes;
};

#define MINSIGSTKSZ 2048
#define SIGSTKSZ 8192
#define SS_ONSTACK 1
#define SS_DISABLE 2
typedef struct sigaltstack {
    void *ss_sp;
    int ss_flags;
    size_t ss_size;
} stack_t;

int kill(pid_t pid, int sig);
int killpg(pid_t group, int sig);
int pthread_kill(pthread_t thread, int sig);
int sigqueue(pid_t pid, int sig, const union sigval value);

int sigaction(int sig, const struct sigaction *__restrict action, struct sigaction *__restrict old);
int siginterrupt(int sig, int interrupts);
int sigaltstack(const stack_t *__restrict stack, stack_t *__restrict old); /* ENOSYS */

int sigprocmask(int how, const sigset_t *__restrict set, sigset_t *__restrict old);
int pthread_sigmask(int how, const sigset_t *__restrict set, sigset_t *__restrict old);
int sigpending(sigset_t *set);
int sigsuspend(const sigset_t *mask);
int sigpause(int sig);
int sigwait(const sigset_t *__restrict set, int *__restrict sig);
int sigwaitinfo(const sigset_t *__restrict set, siginfo_t *__restrict info);
int sigtimedwait(const sigset_t *__restrict set, siginfo_t *__restrict info,
                 const struct timespec *__restrict timeout);

int sigemptyset(sigset_t *set);
int sigfillset(sigset_t *set);
int sigaddset(sigset_t *set, int sig);
int sigdelset(sigset_t *set, int sig);
int sigismember(const sigset_t *set, int sig);

#ifdef __cplusplus
}
#endif

/* Some programs take either header for the other. */
#ifndef _SIGNAL_H_
#include <signal.h>
#endif

#endif
