/*
 * One image is one process that never forks: exit, identity, and the calls about other processes, which fail.
 */
#define _GNU_SOURCE /* execvpe() */
#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lib/image_end.h"
#include "lib/newlib/result.h"
#include "lib/newlib/signals.h"

enum { PARENT_PID = 0, ROOT = 0 };

/* What a program may expect to find. setenv() makes a larger table of it, but writes a shorter value over what stands there. */
static char env_path[] = "PATH=/bin", env_home[] = "HOME=/", env_tmpdir[] = "TMPDIR=/tmp",
            env_user[] = "USER=root", env_tz[] = "TZ=UTC0";
static char *initial_environment[] = {env_path, env_home, env_tmpdir, env_user, env_tz, NULL};
char **environ = initial_environment;

/* The table stays: newlib goes on with the one that it has made. */
int clearenv(void)
{
    if (environ)
        environ[0] = NULL;
    return 0;
}

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
    image_farewell();
    image_end(status);
}

/* ---- who we are ---- */

pid_t getpid(void)
{
    return OUR_PID;
}

pid_t getppid(void)
{
    return PARENT_PID;
}

pid_t getpgrp(void)
{
    return OUR_PID;
}

static bool is_us(pid_t pid)
{
    return pid == 0 || pid == OUR_PID;
}

pid_t getpgid(pid_t pid)
{
    return is_us(pid) ? OUR_PID : failed(ESRCH);
}

pid_t getsid(pid_t pid)
{
    return getpgid(pid);
}

int setpgid(pid_t pid, pid_t group)
{
    return is_us(pid) && is_us(group) ? 0 : failed(EPERM);
}

/* POSIX: a process group's leader can't start a session. Daemons that go on all the same are right. */
pid_t setsid(void)
{
    return failed(EPERM);
}

uid_t getuid(void)
{
    return ROOT;
}

uid_t geteuid(void)
{
    return ROOT;
}

gid_t getgid(void)
{
    return ROOT;
}

gid_t getegid(void)
{
    return ROOT;
}

static int become(unsigned id)
{
    return id == ROOT ? 0 : failed(EPERM);
}

int setuid(uid_t id)
{
    return become(id);
}

int seteuid(uid_t id)
{
    return become(id);
}

int setgid(gid_t id)
{
    return become(id);
}

int setegid(gid_t id)
{
    return become(id);
}

int getgroups(int count, gid_t *groups)
{
    if (count < 0)
        return failed(EINVAL);
    if (count > 0)
        groups[0] = ROOT;
    return 1;
}

int setgroups(int count, const gid_t *groups)
{
    return count <= 1 && (count == 0 || groups[0] == ROOT) ? 0 : failed(EPERM);
}

char *getlogin(void)
{
    static char name[] = "root";

    return name;
}

/* ---- other processes: there are none, and none can be made ---- */

pid_t fork(void)
{
    return failed(ENOSYS);
}

pid_t vfork(void)
{
    return failed(ENOSYS);
}

int execve(const char *path, char *const argv[], char *const envp[])
{
    (void)path;
    (void)argv;
    (void)envp;
    return failed(ENOSYS);
}

int execv(const char *path, char *const argv[])
{
    return execve(path, argv, environ);
}

int execvp(const char *file, char *const argv[])
{
    return execve(file, argv, environ);
}

int execvpe(const char *file, char *const argv[], char *const envp[])
{
    return execve(file, argv, envp);
}

int fexecve(int fd, char *const argv[], char *const envp[])
{
    (void)fd;
    return execve("", argv, envp);
}

int execl(const char *path, const char *arg, ...)
{
    (void)arg;
    return execve(path, NULL, environ);
}

int execle(const char *path, const char *arg, ...)
{
    (void)arg;
    return execve(path, NULL, NULL);
}

int execlp(const char *file, const char *arg, ...)
{
    (void)arg;
    return execve(file, NULL, environ);
}

int daemon(int keep_directory, int keep_files)
{
    (void)keep_directory;
    (void)keep_files;
    return failed(ENOSYS);
}

/* C11 §7.22.4.8: no command processor. */
int system(const char *command)
{
    return command ? failed(ENOSYS) : 0;
}

FILE *popen(const char *command, const char *mode)
{
    (void)command;
    (void)mode;
    errno = ENOSYS;
    return NULL;
}

int pclose(FILE *stream)
{
    (void)stream;
    return failed(ECHILD);
}

pid_t wait(int *status)
{
    (void)status;
    return failed(ECHILD);
}

pid_t waitpid(pid_t pid, int *status, int options)
{
    (void)pid;
    (void)status;
    (void)options;
    return failed(ECHILD);
}
