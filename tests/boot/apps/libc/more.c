/* What programs for Linux use and newlib leaves out for a bare machine: regular expressions, paths, users, <err.h> … */
#include <regex.h> /* first: it brings what it needs */

#include <err.h>
#include <errno.h>
#include <libgen.h>
#include <pwd.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

static void check_regex(void)
{
    regex_t re;
    regmatch_t at[3];
    char text[64];

    check("regcomp",
          regcomp(&re, "^([a-z]+)[[:space:]]*=[[:space:]]*([0-9]{1,3})$", REG_EXTENDED) == 0, "no");
    const bool found = regexec(&re, "width =  640", 3, at, 0) == 0;

    check("regexec with groups",
          found && at[1].rm_so == 0 && at[1].rm_eo == 5 && at[2].rm_so == 9 && at[2].rm_eo == 12,
          "no");
    check("regexec of what doesn't match", regexec(&re, "width = 6400", 3, at, 0) == REG_NOMATCH,
          "matched");
    regfree(&re);
    check("regcomp, ignoring case, with a back reference",
          regcomp(&re, "\\(ab*\\)x\\1", REG_ICASE) == 0 &&
              regexec(&re, "..ABBXABB..", 1, at, 0) == 0 && at[0].rm_so == 2 && at[0].rm_eo == 9,
          "no");
    regfree(&re);
    const int bad = regcomp(&re, "(", REG_EXTENDED);

    regerror(bad, &re, text, sizeof text);
    check("regerror", bad == REG_EPAREN && strstr(text, "parenthes"), text);
}

static void check_paths(void)
{
    char a[] = "/usr/lib/", b[] = "/usr/lib/", c[] = "name";

    check("basename", strcmp(basename(a), "lib") == 0, a);
    check("dirname", strcmp(dirname(b), "/usr") == 0 && strcmp(dirname(c), ".") == 0, b);
}

static void check_users(void)
{
    struct passwd pw, *found = getpwuid(0);
    char buf[64];

    check("getpwuid(0)",
          found && strcmp(found->pw_name, "root") == 0 && strcmp(found->pw_dir, "/") == 0,
          "not root");
    check("getpwnam", getpwnam("root") && getpwnam("root")->pw_uid == 0 && !getpwnam("nobody"),
          "no");
    check("getpwuid of nobody", getpwuid(65534) == NULL, "found");
    check("getpwnam_r",
          getpwnam_r("root", &pw, buf, sizeof buf, &found) == 0 && found == &pw && pw.pw_uid == 0,
          "no");
    check("getpwuid_r of nobody", getpwuid_r(1, &pw, buf, sizeof buf, &found) == 0 && !found,
          "found");
}

static time_t utc(int year, int month, int day, int hour, int minute, int second)
{
    struct tm tm = {.tm_year = year - 1900,
                    .tm_mon = month - 1,
                    .tm_mday = day,
                    .tm_hour = hour,
                    .tm_min = minute,
                    .tm_sec = second};

    return timegm(&tm);
}

static void check_timegm(void)
{
    struct tm tm = {.tm_year = 124, .tm_mon = 13, .tm_mday = 29, .tm_hour = -1};

    check("timegm of the epoch and before",
          utc(1970, 1, 1, 0, 0, 0) == 0 && utc(1969, 12, 31, 23, 59, 59) == -1, "no");
    check("timegm of leap days",
          utc(2000, 2, 29, 0, 0, 0) == 951782400 && utc(2100, 3, 1, 0, 0, 0) == 4107542400, "no");
    check("timegm of long ago", utc(1, 1, 1, 0, 0, 0) == -62135596800, "no");
    /* The 29th of the month 14 of 2024 is 2025-03-01; an hour before it. */
    check("timegm brings fields into range",
          timegm(&tm) == 1740783600 && tm.tm_year == 125 && tm.tm_mon == 1 && tm.tm_mday == 28 &&
              tm.tm_hour == 23 && tm.tm_wday == 5 && tm.tm_yday == 58,
          "no");
    setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
    tzset();
    check("timegm whatever TZ", utc(2024, 7, 1, 12, 0, 0) == 1719835200, "no");
    setenv("TZ", "UTC0", 1);
    tzset();
}

static void check_memory(void)
{
    void *p = &p;

    check("posix_memalign", posix_memalign(&p, 4096, 100) == 0 && (uintptr_t)p % 4096 == 0, "no");
    free(p);
    p = &p;
    check("posix_memalign of a bad alignment",
          posix_memalign(&p, 24, 8) == EINVAL && posix_memalign(&p, 4, 8) == EINVAL && p == &p,
          "no");
    errno = 0;
    check("posix_memalign of too much",
          posix_memalign(&p, 64, (size_t)1 << 46) == ENOMEM && errno == 0 && p == &p, "no");
}

static void check_environment(void)
{
    setenv("ONE", "1", 1);
    check("clearenv", clearenv() == 0 && !getenv("ONE") && !getenv("HOME"), "still there");
    check("setenv after clearenv", setenv("TWO", "2", 1) == 0 && strcmp(getenv("TWO"), "2") == 0,
          "no");
    setenv("TZ", "UTC0", 1);
}

static void check_exec(void)
{
    char name[] = "/bin/sh", *argv[] = {name, NULL};
    int good = 0;

    errno = 0;
    good += execl(name, name, (char *)NULL) == -1 && errno == ENOSYS;
    errno = 0;
    good += execlp(name, name, (char *)NULL) == -1 && errno == ENOSYS;
    errno = 0;
    good += execle(name, name, (char *)NULL, argv) == -1 && errno == ENOSYS;
    errno = 0;
    good += execv(name, argv) == -1 && errno == ENOSYS;
    errno = 0;
    good += execvp(name, argv) == -1 && errno == ENOSYS;
    check("exec… are ENOSYS", good == 5, "another answer");
}

static void check_err(void)
{
    errno = ENOENT;
    warn("%s number %d of %d, %d, %d, %d, %d", "file", 1, 2, 3, 4, 5, 6);
    warnx("%.2f plain", 1.5);
    warnx(NULL);
}

void check_more(void)
{
    check_regex();
    check_paths();
    check_users();
    check_timegm();
    check_memory();
    check_environment();
    check_exec();
    check_err();
}
