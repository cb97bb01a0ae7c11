/* Walks, patterns, the ...at() calls, times, locks, and what is left of the room. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE /* FNM_CASEFOLD and its like */
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <fnmatch.h>
#include <ftw.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <unistd.h>
#include <utime.h>

#include "files.h"

/* ---- walks ---- */

static unsigned seen[8], deepest, sum;

static int count(const char *path, const struct stat *st, int type, struct FTW *where)
{
    seen[type]++;
    deepest = where->level > (int)deepest ? (unsigned)where->level : deepest;
    sum += (unsigned)strlen(path + where->base) * (unsigned)(where->level + 1);
    (void)st;
    return 0;
}

static int stop_at_file(const char *path, const struct stat *st, int type)
{
    (void)path;
    (void)st;
    return type == FTW_F ? 42 : 0;
}

static void walk(const char *path, int flags)
{
    memset(seen, 0, sizeof seen);
    deepest = sum = 0;
    errno = 0;
    const int result = nftw(path, count, 10, flags);

    SAY("nftw %d %s: files %u dirs %u after %u links %u dangling %u deepest %u sum %u\n", result,
        result < 0 ? error() : "", seen[FTW_F], seen[FTW_D], seen[FTW_DP], seen[FTW_SL],
        seen[FTW_SLN], deepest, sum);
}

static void pattern(const char *text, int flags)
{
    glob_t found;
    const int result = glob(in(site, text), flags, NULL, &found);

    SAY("glob %s: %s\n", text, result == 0 ? "found" : result == GLOB_NOMATCH ? "none" : "error");
    for (size_t i = 0; result == 0 && i < (size_t)found.gl_pathc; i++)
        SAY("  %s\n", found.gl_pathv[i] + strlen(site));
    if (result == 0)
        globfree(&found);
}

static int no_dots(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

void walks(void)
{
    struct dirent **list = NULL;
    const int names = scandir(in(site, "deep"), &list, no_dots, alphasort);

    for (int i = 0; i < names; i++) {
        SAY("scandir %s\n", list[i]->d_name);
        free(list[i]);
    }
    free(list);
    SAY("scandir none %d\n", scandir(in(site, "none"), &list, NULL, alphasort));
    walk(site, FTW_PHYS);
    walk(site, FTW_PHYS | FTW_DEPTH);
    walk(in(site, "plain.txt"), 0);
    walk(in(site, "none"), 0);
    SAY("ftw %d\n", ftw(in(site, "deep"), stop_at_file, 5));
    pattern("*.txt", 0);
    pattern("deep/*/and/*/f?le.[a-t]*", 0);
    pattern("*/er", GLOB_MARK);
    pattern("nothing*", 0);
    pattern("plain.txt", 0);

    DIR *dir = opendir(in(site, "deep"));

    readdir(dir);
    readdir(dir);
    const long place = telldir(dir);
    struct dirent *entry = readdir(dir);
    char name[NAME_MAX + 1];

    snprintf(name, sizeof name, "%s", entry ? entry->d_name : "");
    while (readdir(dir))
        ;
    seekdir(dir, place);
    entry = readdir(dir);
    SAY("seekdir %d fd %d\n", entry && strcmp(entry->d_name, name) == 0, dirfd(dir) > 2);
    TRY(closedir(dir));
}

/* ---- relative to a directory ---- */

void relative(void)
{
    const int dir = open(scratch, O_RDONLY | O_DIRECTORY);
    char text[32] = "";
    struct stat st;

    TRY(mkdirat(dir, "at", 0700));
    const int fd = openat(dir, "at/file", O_CREAT | O_RDWR, 0644);

    TRY(write(fd, "abc", 3));
    TRY(fstatat(dir, "at/file", &st, 0));
    TRY(fstatat(fd, "x", &st, 0));
    TRY(fstatat(-7, "x", &st, 0));
    TRY(faccessat(dir, "at/none", F_OK, 0));
    TRY(linkat(dir, "at/file", dir, "at/hard", 0));
    TRY(symlinkat("file", dir, "at/soft"));
    TRY(readlinkat(dir, "at/soft", text, sizeof text));
    TRY(fstatat(dir, "at/soft", &st, AT_SYMLINK_NOFOLLOW));
    SAY("link %d\n", S_ISLNK(st.st_mode));
    TRY(renameat(dir, "at/hard", dir, "moved"));
    TRY(fchmodat(dir, "moved", 0600, 0));
    TRY(fchmod(fd, 0640));
    TRY(fstat(fd, &st));
    SAY("mode %o links %d\n", st.st_mode & 0777, (int)st.st_nlink);
    TRY(fchdir(dir));
    TRY(access("at/soft", F_OK));
    TRY(chdir("/"));
    TRY(unlinkat(dir, "at", 0));
    TRY(unlinkat(dir, "at", AT_REMOVEDIR));
    TRY(unlinkat(dir, "at/soft", 0));
    TRY(unlinkat(dir, "at/file", 0));
    TRY(unlinkat(dir, "moved", 0));
    TRY(unlinkat(dir, "at", AT_REMOVEDIR));
    close(fd);
    close(dir);
    strcpy(text, "dir.XXXXXX");
    TRY(chdir(scratch));
    SAY("mkdtemp %d\n", mkdtemp(text) != NULL && rmdir(text) == 0);
    TRY(mkdir("gone", 0755));
    TRY(chdir("gone"));
    TRY(rmdir("../gone"));
    TRY(open("file", O_CREAT | O_WRONLY, 0600));
    SAY("getcwd %s\n", getcwd(text, sizeof text) ? "yes" : error());
    TRY(chdir("/"));
}

/* ---- times ---- */

void times(void)
{
    const struct timespec both[2] = {{.tv_sec = 1000}, {.tv_sec = 2000, .tv_nsec = 500}};
    const struct timespec bad[2] = {{.tv_sec = 1}, {.tv_sec = 1, .tv_nsec = 1000000000}};
    const struct timespec omit[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_nsec = UTIME_OMIT}};
    const struct timeval micro[2] = {{.tv_sec = 3000}, {.tv_sec = 4000, .tv_usec = 7}};
    const struct utimbuf whole = {.actime = 1, .modtime = 5000};
    const char *name = in(scratch, "timed");
    const int fd = open(name, O_CREAT | O_RDWR, 0600);
    struct stat st;
    struct timeval now;

    gettimeofday(&now, NULL);
    TRY(fstat(fd, &st));
    SAY("new %d\n", st.st_mtime >= now.tv_sec - 2 && st.st_mtime <= now.tv_sec);
    TRY(futimens(fd, both));
    TRY(stat(name, &st));
    SAY("mtime %ld.%09ld\n", (long)st.st_mtime, (long)st.st_mtim.tv_nsec);
    TRY(futimens(fd, bad));
    TRY(utimensat(AT_FDCWD, name, omit, 0));
    TRY(utimes(name, micro));
    TRY(stat(name, &st));
    SAY("mtime %ld.%09ld\n", (long)st.st_mtime, (long)st.st_mtim.tv_nsec);
    TRY(utime(name, &whole));
    TRY(stat(name, &st));
    SAY("mtime %ld\n", (long)st.st_mtime);
    TRY(write(fd, "x", 1));
    TRY(stat(name, &st));
    SAY("written now %d\n", st.st_mtime >= now.tv_sec - 2);
    TRY(utimes(in(scratch, "none"), NULL));
    TRY(unlink(name));
    TRY(close(fd));
}

/* ---- locks, and the odd calls ---- */

void locks(void)
{
    const int fd = open(in(scratch, "locked"), O_CREAT | O_RDWR, 0600);
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char text[8];

    TRY(flock(fd, LOCK_EX));
    TRY(flock(fd, LOCK_UN));
    TRY(flock(-1, LOCK_EX));
    TRY(lockf(fd, F_TLOCK, 0));
    TRY(lockf(fd, F_ULOCK, 0));
    TRY(fsync(fd));
    TRY(fsync(-1));
    TRY(posix_fallocate(fd, 0, 1000));
    TRY(lseek(fd, 0, SEEK_END));
    TRY(posix_fallocate(fd, 0, 0));
    TRY(chown(in(scratch, "locked"), (uid_t)-1, (gid_t)-1));
    TRY(pathconf(scratch, _PC_NAME_MAX));
    TRY(fcntl(fd, F_GETFL) & O_ACCMODE);
    TRY(fcntl(fd, F_GETFD));
    TRY(fcntl(fd, F_SETLK, &whole));
    TRY(fcntl(fd, F_GETLK, &whole));
    SAY("lock %d\n", whole.l_type == F_UNLCK);
    TRY(fcntl(-1, F_SETLK, &whole));
    TRY(dup2(fd, 40));
    TRY(write(40, "ab", 2));
    TRY(lseek(fd, 0, SEEK_CUR));
    TRY(close(40));
    TRY(unlink(in(scratch, "locked")));
    TRY(close(fd));
    TRY(open("/dev/null", O_RDONLY | O_DIRECTORY));
    const int zero = open("/dev/zero", O_RDONLY);

    TRY(pread(zero, text, 8, 1000));
    TRY(close(zero));
}

/* ---- room ---- */

static unsigned long room_left(void)
{
    struct statvfs st;

    return statvfs(scratch, &st) == 0 ? st.f_bavail : 0;
}

static void fill(const char *path, size_t bytes)
{
    static char block[8192];
    const int fd = open(path, O_CREAT | O_WRONLY, 0600);

    memset(block, 'b', sizeof block);
    for (size_t i = 0; i < bytes / sizeof block; i++) {
        if (write(fd, block, sizeof block) != (ssize_t)sizeof block)
            SAY("short write\n");
    }
    close(fd);
}

/* Pages are counted only in the image, where nobody else uses them: on Linux both lines are 1 by definition. */
void room(void)
{
    const char *name = in(scratch, "large");

    fill(name, 1 << 20); /* so that the heap has grown to what it needs */
    TRY(unlink(name));
#ifdef __linux__
    const unsigned long before = 1000, full = 0, after = 1000;

    (void)room_left;
#else
    const unsigned long before = room_left();

    fill(name, 1 << 20);
    const unsigned long full = room_left();

    unlink(name);
    const unsigned long after = room_left();
#endif

    SAY("room taken %d given back %d\n", before >= full + 256, after == before);
    const int fd = open(in(site, "big.bin"), O_RDONLY);
    const char *map = mmap(NULL, 250000, PROT_READ, MAP_PRIVATE, fd, 0);
    unsigned value = 0;

    close(fd);
    for (size_t i = 0; i < 250000; i += 1000)
        value = value * 31 + (unsigned char)map[i];
    SAY("mapped %u, behind it %d\n", value, map[250001]);
    TRY(munmap((void *)map, 250000));
}

/* ---- patterns ---- */

void patterns(void)
{
    static const struct {
        const char *pattern, *name;
        int flags;
    } tries[] = {
        {"", "", 0},
        {"", "a", 0},
        {"*", "", 0},
        {"*", "abc", 0},
        {"a*c*e", "abcde", 0},
        {"a*c*e", "abcdef", 0},
        {"a**b", "ab", 0},
        {"*a*a*a*a*a*b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", 0},
        {"?b?", "abc", 0},
        {"?", "", 0},
        {"[abc]x", "bx", 0},
        {"[!abc]x", "bx", 0},
        {"[a-c]", "d", 0},
        {"[]a]", "]", 0},
        {"[!]a]", "b", 0},
        {"[a-]", "-", 0},
        {"[[:digit:][:upper:]]", "7", 0},
        {"[[:digit:][:upper:]]", "q", 0},
        {"[", "[", 0},
        {"a[b", "a[b", 0},
        {"\\*", "*", 0},
        {"\\*", "x", 0},
        {"\\*", "\\x", FNM_NOESCAPE},
        {"[\\]]", "]", 0},
        {"*", ".hidden", FNM_PERIOD},
        {"?hidden", ".hidden", FNM_PERIOD},
        {"[.]hidden", ".hidden", FNM_PERIOD},
        {".*", ".hidden", FNM_PERIOD},
        {"a/*", "a/.b", FNM_PERIOD},
        {"a/*", "a/.b", FNM_PERIOD | FNM_PATHNAME},
        {"*", "a/b", 0},
        {"*", "a/b", FNM_PATHNAME},
        {"*/b", "a/b", FNM_PATHNAME},
        {"a?b", "a/b", FNM_PATHNAME},
        {"a[/]b", "a/b", FNM_PATHNAME},
        {"A[B-C]*", "abd", FNM_CASEFOLD},
        {"a", "a/b/c", FNM_LEADING_DIR},
        {"a*", "ab/c", FNM_LEADING_DIR},
        {"b", "a/b", FNM_LEADING_DIR},
    };

    for (size_t i = 0; i < sizeof tries / sizeof *tries; i++)
        SAY("fnmatch \"%s\" \"%s\": %d\n", tries[i].pattern, tries[i].name,
            fnmatch(tries[i].pattern, tries[i].name, tries[i].flags) == 0);
}

/* ---- threads ---- */

enum { THREADS = 4, ROUNDS = 300 };

static int log_fd;

/* Each has a file of its own, and all write to one. */
static void *work(void *arg)
{
    const long id = (long)arg;
    char name[PATH_MAX], text[32], back[32];
    long good = 0;

    snprintf(name, sizeof name, "%s/thread-%ld", scratch, id);
    for (int i = 0; i < ROUNDS; i++) {
        const int len = snprintf(text, sizeof text, "%ld %6d\n", id, i);
        FILE *f = fopen(name, i % 2 ? "w+" : "a+");

        if (!f)
            break;
        fwrite(text, 1, (size_t)len, f);
        fseek(f, -len, SEEK_END);
        good += fgets(back, sizeof back, f) && strcmp(text, back) == 0;
        fclose(f);
        good += write(log_fd, text, (size_t)len) == len;
        good += i % 10 ? 1 : unlink(name) == 0;
    }
    unlink(name);
    return (void *)good;
}

static unsigned long whole_lines(FILE *f)
{
    char line[64];
    unsigned long lines = 0;
    long id;
    int number;

    while (fgets(line, sizeof line, f))
        lines += strlen(line) == 9 && sscanf(line, "%ld %d\n", &id, &number) == 2;
    return lines;
}

void together(void)
{
    pthread_t threads[THREADS];
    long good = 0;

    log_fd = open(in(scratch, "all"), O_CREAT | O_WRONLY | O_APPEND, 0600);
    for (long i = 0; i < THREADS; i++)
        pthread_create(&threads[i], NULL, work, (void *)i);
    for (int i = 0; i < THREADS; i++) {
        void *result = NULL;

        pthread_join(threads[i], &result);
        good += (long)result;
    }
    close(log_fd);
    FILE *f = fopen(in(scratch, "all"), "r");

    SAY("threads did %ld things, %lu lines\n", good, whole_lines(f));
    fclose(f);
    TRY(unlink(in(scratch, "all")));
}
