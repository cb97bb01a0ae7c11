/* Walking a tree of files: ftw() and nftw() (POSIX.1-2017). FTW_CHDIR is refused; all files are on one file system. */
#include <dirent.h>
#include <errno.h>
#include <ftw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "lib/types.h"
#include "lib/vfs.h"

typedef int (*ftw_fn)(const char *path, const struct stat *st, int type);
typedef int (*nftw_fn)(const char *path, const struct stat *st, int type, struct FTW *where);

struct walk {
    ftw_fn old; /* of ftw(), or NULL */
    nftw_fn fn;
    int flags;
    char path[VFS_PATH_MAX];
};

/* A directory on the way, so that a link to one of them is not followed again and again. */
struct above {
    const struct above *next;
    ino_t inode;
};

static int visit(struct walk *w, size_t base, int level, const struct above *above);

static int call(struct walk *w, const struct stat *st, int type, size_t base, int level)
{
    struct FTW where = {.base = (int)base, .level = level};

    return w->old ? w->old(w->path, st, type) : w->fn(w->path, st, type, &where);
}

static bool is_above(const struct above *above, ino_t inode)
{
    for (; above; above = above->next) {
        if (above->inode == inode)
            return true;
    }
    return false;
}

static bool is_dots(const char *name)
{
    return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* Everything in the directory that w->path names now. */
static int visit_names(struct walk *w, DIR *dir, int level, const struct above *above)
{
    const size_t len = strlen(w->path);
    const size_t base = len > 0 && w->path[len - 1] == '/' ? len : len + 1;
    struct dirent *entry;
    int result = 0;

    while (result == 0 && (entry = readdir(dir))) {
        const size_t name_len = strlen(entry->d_name);

        if (is_dots(entry->d_name))
            continue;
        if (base + name_len >= sizeof w->path) {
            errno = ENAMETOOLONG;
            return -1;
        }
        w->path[base - 1] = '/';
        memcpy(w->path + base, entry->d_name, name_len + 1);
        result = visit(w, base, level + 1, above);
        w->path[len] = '\0';
    }
    return result;
}

static int visit_dir(struct walk *w, const struct stat *st, size_t base, int level,
                     const struct above *above)
{
    const struct above here = {.next = above, .inode = st->st_ino};
    const bool depth = !w->old && (w->flags & FTW_DEPTH);
    DIR *dir = opendir(w->path);
    int result = 0;

    if (!dir)
        return call(w, st, FTW_DNR, base, level);
    if (!depth)
        result = call(w, st, FTW_D, base, level);
    if (result == 0)
        result = visit_names(w, dir, level, &here);
    closedir(dir);
    return result == 0 && depth ? call(w, st, FTW_DP, base, level) : result;
}

/* What w->path names now; its last name begins at base. */
static int visit(struct walk *w, size_t base, int level, const struct above *above)
{
    struct stat st;
    int found = w->flags & FTW_PHYS ? lstat(w->path, &st) : stat(w->path, &st);
    int type = FTW_F;

    if (found != 0) {
        found = lstat(w->path, &st);
        type = w->old ? FTW_NS : FTW_SLN; /* a link that leads nowhere */
    }
    if (found != 0)
        return level == 0 ? -1 : call(w, &st, FTW_NS, base, level);
    if (type != FTW_F)
        return call(w, &st, type, base, level);
    if (S_ISLNK(st.st_mode))
        return call(w, &st, FTW_SL, base, level);
    if (!S_ISDIR(st.st_mode))
        return call(w, &st, FTW_F, base, level);
    return is_above(above, st.st_ino) ? 0 : visit_dir(w, &st, base, level, above);
}

static int walk(const char *path, ftw_fn old, nftw_fn fn, int flags)
{
    const size_t len = strlen(path);
    struct walk *w = malloc(sizeof *w);

    if (!w || len >= sizeof w->path) {
        errno = w ? ENAMETOOLONG : ENOMEM;
        free(w);
        return -1;
    }
    w->old = old;
    w->fn = fn;
    w->flags = flags;
    memcpy(w->path, path, len + 1);

    const char *slash = strrchr(path, '/');
    const int result = visit(w, slash && slash[1] ? (size_t)(slash + 1 - path) : 0, 0, NULL);

    free(w);
    return result;
}

int ftw(const char *path, ftw_fn fn, int open_max)
{
    (void)open_max;
    return walk(path, fn, NULL, 0);
}

int nftw(const char *path, nftw_fn fn, int open_max, int flags)
{
    (void)open_max;
    if (flags & FTW_CHDIR) {
        errno = ENOTSUP;
        return -1;
    }
    return walk(path, NULL, fn, flags);
}
