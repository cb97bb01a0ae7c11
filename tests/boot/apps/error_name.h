/*
 * errno by name, for programs that are built for Linux as well and must print the same lines there: the numbers differ, and so
 * do the texts.
 */
#ifndef TESTS_BOOT_APPS_ERROR_NAME_H
#define TESTS_BOOT_APPS_ERROR_NAME_H

#include <errno.h>
#include <stddef.h>
#include <string.h>

static inline const char *error_name(int error)
{
    static const struct {
        int error;
        const char *name;
    } names[] = {
        {0, "0"},
        {EACCES, "EACCES"},
        {EADDRINUSE, "EADDRINUSE"},
        {EADDRNOTAVAIL, "EADDRNOTAVAIL"},
        {EAFNOSUPPORT, "EAFNOSUPPORT"},
        {EAGAIN, "EAGAIN"},
        {EALREADY, "EALREADY"},
        {EBADF, "EBADF"},
        {EBUSY, "EBUSY"},
        {ECHILD, "ECHILD"},
        {ECONNREFUSED, "ECONNREFUSED"},
        {ECONNRESET, "ECONNRESET"},
        {EDEADLK, "EDEADLK"},
        {EDESTADDRREQ, "EDESTADDRREQ"},
        {EDOM, "EDOM"},
        {EEXIST, "EEXIST"},
        {EFAULT, "EFAULT"},
        {EINPROGRESS, "EINPROGRESS"},
        {EINTR, "EINTR"},
        {EINVAL, "EINVAL"},
        {EIO, "EIO"},
        {EISCONN, "EISCONN"},
        {EISDIR, "EISDIR"},
        {ELOOP, "ELOOP"},
        {EMSGSIZE, "EMSGSIZE"},
        {ENAMETOOLONG, "ENAMETOOLONG"},
        {ENETUNREACH, "ENETUNREACH"},
        {ENODEV, "ENODEV"},
        {ENOENT, "ENOENT"},
        {ENOPROTOOPT, "ENOPROTOOPT"},
        {ENOSPC, "ENOSPC"},
        {ENOTCONN, "ENOTCONN"},
        {ENOTDIR, "ENOTDIR"},
        {ENOTEMPTY, "ENOTEMPTY"},
        {ENOTSOCK, "ENOTSOCK"},
        {ENOTTY, "ENOTTY"},
        {ENXIO, "ENXIO"},
        {EOPNOTSUPP, "EOPNOTSUPP"},
        {EPERM, "EPERM"},
        {EPIPE, "EPIPE"},
        {EPROTONOSUPPORT, "EPROTONOSUPPORT"},
        {EPROTOTYPE, "EPROTOTYPE"},
        {ERANGE, "ERANGE"},
        {EROFS, "EROFS"},
        {ESOCKTNOSUPPORT, "ESOCKTNOSUPPORT"},
        {ESPIPE, "ESPIPE"},
        {ESRCH, "ESRCH"},
        {ETIMEDOUT, "ETIMEDOUT"},
    };

    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
        if (names[i].error == error)
            return names[i].name;
    }
    return strerror(error);
}

#endif
