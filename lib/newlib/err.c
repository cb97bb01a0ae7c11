/* err() and its kin. Nothing of ours is changed here, so that stdio may be preempted as in a program. */
#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char program[] = "ringlet"; /* what argv[0] says */

static void say(const char *format, va_list args, const char *reason)
{
    fflush(stdout); /* both lead to the console: in the order in which they were written */
    fprintf(stderr, "%s: ", program);
    if (format)
        vfprintf(stderr, format, args);
    fprintf(stderr, "%s%s\n", format && reason ? ": " : "", reason ? reason : "");
}

void vwarn(const char *format, va_list args)
{
    const int error = errno; /* stdio may change it */

    say(format, args, strerror(error));
}

void vwarnx(const char *format, va_list args)
{
    say(format, args, NULL);
}

void verr(int status, const char *format, va_list args)
{
    vwarn(format, args);
    exit(status);
}

void verrx(int status, const char *format, va_list args)
{
    vwarnx(format, args);
    exit(status);
}

void warn(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vwarn(format, args);
    va_end(args);
}

void warnx(const char *format, ...)
{
    va_list args;

    va_start(args, format);
    vwarnx(format, args);
    va_end(args);
}

void err(int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    verr(status, format, args);
}

void errx(int status, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    verrx(status, format, args);
}
