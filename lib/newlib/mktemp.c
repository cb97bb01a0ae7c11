/*
 * mkstemp() and its like. newlib has them, too, but without mkdtemp() on a bare target, and with names that the next caller
 * can only find by trying all before them.
 */
#define _GNU_SOURCE /* mkostemps() */

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "lib/random.h"
#include "lib/types.h"

enum { XS = 6, TRIES = 100 };

/* Where the X's of the template begin. NULL, with EINVAL: it has not enough of them before its suffix. */
static char *find_xs(char *template, int suffix_len)
{
    const size_t len = strlen(template);

    if (suffix_len >= 0 && len >= XS + (size_t)suffix_len) {
        char *xs = template + len - (size_t)suffix_len - XS;

        if (memcmp(xs, "XXXXXX", XS) == 0)
            return xs;
    }
    errno = EINVAL;
    return NULL;
}

static void fill(char *xs)
{
    static const char letters[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

    for (int i = 0; i < XS; i++)
        xs[i] = letters[random_u32() % (sizeof letters - 1)];
}

static int try_file(const char *path, int flags)
{
    return open(path, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
}

static int try_dir(const char *path, int flags)
{
    (void)flags;
    return mkdir(path, 0700);
}

/* Only that nobody has the name. */
static int try_name(const char *path, int flags)
{
    (void)flags;
    if (access(path, F_OK) != 0)
        return errno == ENOENT ? 0 : -1;
    errno = EEXIST;
    return -1;
}

static int make(char *template, int suffix_len, int flags, int (*try)(const char *path, int flags))
{
    char *xs = find_xs(template, suffix_len);
    int result = -1;

    for (int i = 0; xs && i < TRIES; i++) {
        fill(xs);
        result = try(template, flags);
        if (result >= 0 || errno != EEXIST)
            break;
    }
    return result;
}

int mkostemps(char *template, int suffix_len, int flags)
{
    return make(template, suffix_len, flags, try_file);
}

int mkostemp(char *template, int flags)
{
    return make(template, 0, flags, try_file);
}

int mkstemps(char *template, int suffix_len)
{
    return make(template, suffix_len, 0, try_file);
}

int mkstemp(char *template)
{
    return make(template, 0, 0, try_file);
}

char *mkdtemp(char *template)
{
    return make(template, 0, 0, try_dir) < 0 ? NULL : template;
}

char *mktemp(char *template)
{
    if (make(template, 0, 0, try_name) < 0)
        template[0] = '\0';
    return template;
}
