/*
 * glob(): paths that match a pattern (POSIX.1-2017), a name after the other from left to right.
 *
 * GLOB_BRACE, GLOB_TILDE and the program's own directory functions of <glob.h> are not there: GLOB_ABEND.
 */
#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/types.h"
#include "lib/vfs.h"

struct search {
    glob_t *out;
    int flags;
    int (*on_error)(const char *path, int err);
    char path[VFS_PATH_MAX]; /* what is matched so far */
    char name[VFS_NAME_MAX + 1];
};

static int add(glob_t *out, const char *path, bool mark)
{
    const size_t first = (size_t)out->gl_offs, count = (size_t)out->gl_pathc;
    const size_t len = strlen(path);
    char **list = realloc(out->gl_pathv, (first + count + 2) * sizeof *list);

    if (!list)
        return GLOB_NOSPACE;
    out->gl_pathv = list;
    if (count == 0)
        memset(list, 0, first * sizeof *list);
    list[first + count] = malloc(len + 2);
    list[first + count + 1] = NULL;
    if (!list[first + count])
        return GLOB_NOSPACE;
    memcpy(list[first + count], path, len + 1);
    if (mark)
        memcpy(list[first + count] + len, "/", 2);
    out->gl_pathc++;
    return 0;
}

static bool is_dir(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

/* The whole pattern is used up: does the path exist? */
static int found(struct search *s, size_t len)
{
    struct stat st;

    if (lstat(s->path, &st) != 0)
        return 0;
    s->out->gl_matchc++;
    const bool slash_already = len > 0 && s->path[len - 1] == '/';

    return add(s->out, s->path, (s->flags & GLOB_MARK) && !slash_already && is_dir(s->path));
}

/* `name` behind the first len bytes of the path. Returns the new length, 0 when it is too long. */
static size_t put_name(struct search *s, size_t len, const char *name, size_t name_len)
{
    if (len + name_len >= sizeof s->path)
        return 0;
    memcpy(s->path + len, name, name_len);
    s->path[len + name_len] = '\0';
    return len + name_len;
}

static int match(struct search *s, const char *pattern, size_t len);

static int may_go_on(const struct search *s, const char *path)
{
    if (errno == ENOENT || errno == ENOTDIR)
        return 0;
    const bool stop = s->on_error && s->on_error(path, errno) != 0;

    return stop || (s->flags & GLOB_ERR) ? GLOB_ABEND : 0;
}

/* Names of the directory s->path[0..len) that match s->name; then the rest of the pattern below each. */
static int match_names(struct search *s, const char *rest, size_t len)
{
    char part[VFS_NAME_MAX + 1];
    DIR *dir = opendir(len > 0 ? s->path : ".");
    const struct dirent *entry;
    int result = 0;

    if (!dir)
        return may_go_on(s, s->path);
    memcpy(part, s->name, sizeof part); /* the search below uses s->name for its own */
    while (result == 0 && (entry = readdir(dir))) {
        if (fnmatch(part, entry->d_name, FNM_PERIOD) != 0)
            continue;
        const size_t longer = put_name(s, len, entry->d_name, strlen(entry->d_name));

        if (longer > 0 && (*rest == '\0' || is_dir(s->path)))
            result = match(s, rest, longer);
        s->path[len] = '\0';
    }
    closedir(dir);
    return result;
}

/* A name without anything to match, its backslashes taken out. */
static int match_plain(struct search *s, const char *rest, size_t len)
{
    size_t used = 0;

    for (size_t i = 0; s->name[i]; i++) {
        if (s->name[i] == '\\' && s->name[i + 1])
            i++;
        s->name[used++] = s->name[i];
    }
    const size_t longer = put_name(s, len, s->name, used);

    return longer > 0 ? match(s, rest, longer) : 0;
}

static int match(struct search *s, const char *pattern, size_t len)
{
    const size_t slashes = strspn(pattern, "/");

    if (slashes > 0) {
        len = put_name(s, len, pattern, slashes);
        if (len == 0)
            return 0;
        pattern += slashes;
    }
    const size_t name_len = strcspn(pattern, "/");

    if (name_len == 0)
        return len > 0 ? found(s, len) : 0;
    if (name_len > VFS_NAME_MAX)
        return 0;
    memcpy(s->name, pattern, name_len);
    s->name[name_len] = '\0';
    return strpbrk(s->name, "*?[") ? match_names(s, pattern + name_len, len)
                                   : match_plain(s, pattern + name_len, len);
}

static int by_name(const void *a, const void *b)
{
    return strcoll(*(char *const *)a, *(char *const *)b);
}

static int run(struct search *s, const char *pattern)
{
    const int before = s->out->gl_pathc;
    const int result = match(s, pattern, 0);

    if (result)
        return result;
    if (s->out->gl_pathc == before)
        return s->flags & GLOB_NOCHECK ? add(s->out, pattern, false) : GLOB_NOMATCH;
    if (!(s->flags & GLOB_NOSORT))
        qsort(s->out->gl_pathv + s->out->gl_offs + before, (size_t)(s->out->gl_pathc - before),
              sizeof *s->out->gl_pathv, by_name);
    return 0;
}

int glob(const char *pattern, int flags, int (*on_error)(const char *, int), glob_t *out)
{
    struct search *s = calloc(1, sizeof *s);
    int result = GLOB_NOSPACE;

    if (!(flags & GLOB_APPEND)) {
        out->gl_pathc = 0;
        out->gl_pathv = NULL;
        out->gl_offs = flags & GLOB_DOOFFS ? out->gl_offs : 0;
    }
    out->gl_matchc = 0;
    out->gl_flags = flags;
    if (s) {
        *s = (struct search){.out = out, .flags = flags, .on_error = on_error};
        result = flags & (GLOB_BRACE | GLOB_TILDE | GLOB_ALTDIRFUNC) ? GLOB_ABEND : run(s, pattern);
    }
    free(s);
    return result;
}

void globfree(glob_t *out)
{
    for (int i = 0; out->gl_pathv && i < out->gl_pathc; i++)
        free(out->gl_pathv[out->gl_offs + i]);
    free(out->gl_pathv);
    out->gl_pathv = NULL;
    out->gl_pathc = 0;
}
