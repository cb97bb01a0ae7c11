/*
 * Files and directories as a program sees them. Built for Linux and for an image; both must print the same lines.
 *
 *   files SITE SCRATCH   SITE holds what tests/boot/test_files.py packed; SCRATCH is an empty directory that may be written
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "../error_name.h"
#include "files.h"

const char *site, *scratch;

const char *in(const char *folder, const char *name)
{
    static char paths[4][PATH_MAX];
    static unsigned turn;
    char *path = paths[turn++ % 4];

    snprintf(path, PATH_MAX, "%s/%s", folder, name);
    return path;
}

const char *error(void)
{
    return error_name(errno);
}

static unsigned checksum(const void *data, size_t len)
{
    const unsigned char *bytes = data;
    unsigned sum = 1;

    for (size_t i = 0; i < len; i++)
        sum = sum * 31 + bytes[i];
    return sum;
}

static void show(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[256];

    SAY("open %s: %s\n", strrchr(path, '/') + 1, f ? "yes" : error());
    if (!f)
        return;
    while (fgets(line, sizeof line, f))
        SAY("  %s%s", line, strchr(line, '\n') ? "" : "\n");
    fclose(f);
}

static void site_files(void)
{
    static char big[300000];
    struct stat st;

    show(in(site, "plain.txt"));
    show(in(site, "deep/er/and/deeper/file.txt"));
    show(in(site, "link.txt"));
    show(in(site, "hard.txt"));
    show(in(site, "dirlink/er/and/deeper/file.txt"));
    show(in(site, "deep/../plain.txt"));
    show(in(site, "no/such.txt"));
    show(in(site, "plain.txt/x"));
    show(in(site, "dangling"));
    show(in(site, "loop"));
    show(in(site, "a name with blanks, and an \xc3\xbc"));
    const int fd = open(in(site, "big.bin"), O_RDONLY);
    const ssize_t got = read(fd, big, sizeof big);

    SAY("big.bin %zd bytes, sum %u\n", got, checksum(big, (size_t)got));
    SAY("again %zd\n", read(fd, big, sizeof big));
    TRY(lseek(fd, -5, SEEK_END));
    SAY("tail %zd\n", read(fd, big, sizeof big));
    TRY(pread(fd, big, 10, 100));
    TRY(pread(fd, big, 10, -1));
    TRY(lseek(fd, 0, SEEK_CUR));
    TRY(lseek(fd, -1, SEEK_SET));
    TRY(write(fd, "x", 1));
    TRY(fstat(fd, &st));
    SAY("size %ld regular %d mode %o mtime %ld\n", (long)st.st_size, S_ISREG(st.st_mode),
        st.st_mode & 0777, (long)st.st_mtime);
    TRY(close(fd));
    TRY(close(fd));
    TRY(lstat(in(site, "link.txt"), &st));
    SAY("link %d size %ld\n", S_ISLNK(st.st_mode), (long)st.st_size);
    TRY(readlink(in(site, "link.txt"), big, sizeof big));
    TRY(readlink(in(site, "plain.txt"), big, sizeof big));
    TRY(access(in(site, "plain.txt"), R_OK));
    TRY(access(in(site, "script.sh"), X_OK));
    TRY(access(in(site, "nothing"), F_OK));
    TRY(open(in(site, "plain.txt"), O_RDONLY | O_DIRECTORY));
    TRY(open(in(site, "link.txt"), O_RDONLY | O_NOFOLLOW));
    TRY(open(in(site, "deep"), O_WRONLY));
    TRY(open(in(site, "plain.txt/"), O_RDONLY));
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    char *names[100];
    size_t count = 0;

    SAY("opendir %s\n", dir ? "yes" : error());
    if (!dir)
        return;
    while ((entry = readdir(dir)) && count < 100)
        names[count++] = strdup(entry->d_name);
    qsort(names, count, sizeof *names, by_name);
    for (size_t i = 0; i < count; i++)
        SAY("  %s\n", names[i]);
    rewinddir(dir);
    SAY("first again %d\n", readdir(dir) != NULL);
    closedir(dir);
}

static void scratch_files(void)
{
    static char block[10000], back[10000];
    struct stat st;
    int fd = open(in(scratch, "a"), O_RDWR | O_CREAT | O_EXCL, 0640);

    for (size_t i = 0; i < sizeof block; i++)
        block[i] = (char)(i * 7);
    TRY(write(fd, block, sizeof block));
    TRY(lseek(fd, 0, SEEK_SET));
    TRY(read(fd, back, sizeof back));
    SAY("same %d\n", memcmp(block, back, sizeof block) == 0);
    TRY(lseek(fd, 50000, SEEK_SET));
    TRY(write(fd, "end", 3));
    TRY(pread(fd, back, 10000, 20000));
    SAY("hole sum %u\n", checksum(back, 10000));
    TRY(fstat(fd, &st));
    SAY("size %ld mode %o links %d\n", (long)st.st_size, st.st_mode & 0777, (int)st.st_nlink);
    TRY(ftruncate(fd, 5));
    TRY(ftruncate(fd, 20));
    TRY(pread(fd, back, 100, 0));
    SAY("cut %u\n", checksum(back, 20));
    TRY(pwrite(fd, "zz", 2, 3));
    TRY(lseek(fd, 0, SEEK_END));
    TRY(open(in(scratch, "a"), O_CREAT | O_EXCL | O_RDWR, 0600));
    TRY(unlink(in(scratch, "a")));
    TRY(pread(fd, back, 100, 0)); /* it lives while it is open */
    TRY(close(fd));
    TRY(open(in(scratch, "a"), O_RDONLY));

    fd = open(in(scratch, "log"), O_WRONLY | O_CREAT | O_APPEND, 0600);
    TRY(write(fd, "one\n", 4));
    TRY(lseek(fd, 0, SEEK_SET));
    TRY(write(fd, "two\n", 4));
    TRY(read(fd, back, 1));
    close(fd);
    show(in(scratch, "log"));
    TRY(truncate(in(scratch, "log"), 4));
    show(in(scratch, "log"));
    close(open(in(scratch, "log"), O_WRONLY | O_TRUNC));
    show(in(scratch, "log"));
}

static void names(void)
{
    struct stat st;
    char here[PATH_MAX];

    TRY(mkdir(in(scratch, "d"), 0755));
    TRY(mkdir(in(scratch, "d"), 0755));
    TRY(mkdir(in(scratch, "d/e"), 0755));
    TRY(mkdir(in(scratch, "x/y"), 0755));
    TRY(rmdir(in(scratch, "d")));
    TRY(unlink(in(scratch, "d")));
    TRY(rename(in(scratch, "log"), in(scratch, "d/moved")));
    TRY(rename(in(scratch, "log"), in(scratch, "d/moved")));
    TRY(link(in(scratch, "d/moved"), in(scratch, "second")));
    TRY(stat(in(scratch, "second"), &st));
    SAY("links %d\n", (int)st.st_nlink);
    TRY(symlink("d/moved", in(scratch, "soft")));
    TRY(stat(in(scratch, "soft"), &st));
    TRY(rename(in(scratch, "d"), in(scratch, "d/e/f")));
    TRY(rename(in(scratch, "second"), in(scratch, "d")));
    TRY(rename(in(scratch, "d/e"), in(scratch, "second")));
    TRY(rename(in(scratch, "d/e"), in(scratch, "moved-dir")));
    list(scratch);
    TRY(chdir(in(scratch, "d")));
    SAY("here %s\n", getcwd(here, sizeof here) ? strrchr(here, '/') : error());
    TRY(access("moved", F_OK));
    TRY(access("../soft", F_OK));
    TRY(chdir("moved"));
    TRY(chdir("/"));
    SAY("here %s\n", getcwd(here, sizeof here));
    SAY("small %s\n", getcwd(here, 1) ? here : "no");
    SAY("real %s\n", realpath(in(scratch, "soft"), here) ? strrchr(here, '/') : error());
    SAY("real %s\n", realpath(in(scratch, "none"), here) ? here : error());
    memset(here, 'n', 300);
    here[300] = '\0';
    TRY(open(in(scratch, here), O_CREAT | O_RDWR, 0600));
    TRY(open("", O_RDONLY));
    TRY(rmdir(in(scratch, "moved-dir")));
    TRY(unlink(in(scratch, "soft")));
    TRY(unlink(in(scratch, "second")));
    TRY(unlink(in(scratch, "d/moved")));
    TRY(rmdir(in(scratch, "d")));
    TRY(rmdir(in(scratch, "d")));
    list(scratch);
}

static void stdio(void)
{
    const char *name = in(scratch, "text");
    char text[64];
    FILE *f = fopen(name, "w+");

    SAY("fprintf %d\n", fprintf(f, "%5.2f|%-6s|%llx\n", 3.14159, "ab", 0xfeedfacecafell));
    SAY("seek %d tell %ld\n", fseek(f, 6, SEEK_SET), ftell(f));
    SAY("got %s", fgets(text, sizeof text, f));
    SAY("eof %d\n", fgetc(f) == EOF && feof(f));
    rewind(f);
    SAY("unget %d %c\n", ungetc('q', f), fgetc(f));
    fclose(f);
    f = fopen(name, "a");
    fputs("more\n", f);
    fclose(f);
    show(name);
    SAY("wx %s\n", fopen(name, "wx") ? "yes" : error());
    SAY("remove %d %d\n", remove(name), remove(name));
    f = tmpfile();
    SAY("tmpfile %d\n", f && fputs("hidden", f) >= 0);
    rewind(f);
    SAY("back %s\n", fgets(text, sizeof text, f));
    fclose(f);
}

static void maps(void)
{
    char name[PATH_MAX];

    snprintf(name, sizeof name, "%s/map.XXXXXX", scratch);
    const int fd = mkstemp(name);

    SAY("mkstemp %d\n", fd >= 0);
    TRY(ftruncate(fd, 100000));
    char *shared = mmap(NULL, 100000, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    char *private = mmap(NULL, 100000, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
    char text[8] = "";

    SAY("maps %d %d\n", shared != MAP_FAILED, private != MAP_FAILED);
    memcpy(shared + 99990, "shared", 7);
    memcpy(private + 99990, "mine", 5);
    pread(fd, text, 7, 99990);
    SAY("file has %s\n", text);
    pwrite(fd, "written", 8, 10);
    SAY("map has %s\n", shared + 10);
    TRY(close(fd));
    TRY(unlink(name));
    SAY("still %s\n", shared + 99990);
    TRY(munmap(shared, 100000));
    TRY(munmap(private, 100000));
    char *anonymous =
        mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    SAY("zeros %u\n", checksum(anonymous, 1 << 20));
    TRY(munmap(anonymous, 4096));
    TRY(munmap(anonymous + 4096, (1 << 20) - 4096));
    SAY("bad %s\n", mmap(NULL, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED
                        ? error()
                        : "mapped");
    SAY("bad %s\n",
        mmap(NULL, 10, PROT_READ, MAP_PRIVATE, 999, 0) == MAP_FAILED ? error() : "mapped");
}

static void devices(void)
{
    static const char *const paths[] = {"/dev/null", "/dev/zero", "/dev/full", "/dev/urandom"};
    char bytes[64];

    for (size_t i = 0; i < 4; i++) {
        const int fd = open(paths[i], O_RDWR);
        struct stat st;

        memset(bytes, 7, sizeof bytes);
        SAY("%s\n", paths[i]);
        const ssize_t got = read(fd, bytes, sizeof bytes);

        SAY("  read %zd\n", got);
        if (i == 1 || i == 2)
            SAY("  sum %u\n", checksum(bytes, sizeof bytes));
        TRY(write(fd, "abc", 3));
        SAY("  tty %d\n", isatty(fd));
        fstat(fd, &st);
        SAY("  char %d\n", S_ISCHR(st.st_mode));
        close(fd);
    }
}

int main(int argc, char **argv)
{
    site = argc > 1 ? argv[1] : "/site";
    scratch = argc > 2 ? argv[2] : "/tmp";
    umask(022);
    site_files();
    list(in(site, "deep"));
    list(in(site, "plain.txt"));
    scratch_files();
    names();
    stdio();
    maps();
    devices();
    walks();
    relative();
    times();
    locks();
    room();
    patterns();
    together();
    return 0;
}
