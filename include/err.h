/* BSD's <err.h>, as Linux has it: messages on stderr with the program's name in front, and ends with them. */
#ifndef RINGLET_ERR_H
#define RINGLET_ERR_H

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

void warn(const char *format, ...) __attribute__((format(printf, 1, 2)));
void warnx(const char *format, ...) __attribute__((format(printf, 1, 2)));
void vwarn(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
void vwarnx(const char *format, va_list args) __attribute__((format(printf, 1, 0)));
void err(int status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void errx(int status, const char *format, ...) __attribute__((format(printf, 2, 3), noreturn));
void verr(int status, const char *format, va_list args)
    __attribute__((format(printf, 2, 0), noreturn));
void verrx(int status, const char *format, va_list args)
    __attribute__((format(printf, 2, 0), noreturn));

#ifdef __cplusplus
}
#endif

#endif
