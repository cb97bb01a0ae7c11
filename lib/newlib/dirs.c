/* Reading directories under POSIX names, over lib/vfs.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/fd.h"
#include "lib/newlib/result.h"
#include "lib/vfs.h"

struct ringlet_dir {
    int fd;
    long position; /* how many names were given */
    struct dirent entry;
};

static DIR *from_fd(int fd)
{
    DIR *dir = calloc(1, sizeof *dir);

    if (dir)
        dir->fd = fd;
    return dir;
}

DIR *opendir(const char *path)
{
    const int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *dir = fd < 0 ? NULL : from_fd(fd);

    if (fd >= 0 && !dir)
        fd_close(fd);
    return dir;
}

DIR *fdopendir(int fd)
{
    struct stat st;
    const int result = fd_stat(fd, &st);

    if (posix_result(result ? result : S_ISDIR(st.st_mode) ? 0 : -ENOTDIR) < 0)
        return NULL;
    return from_fd(fd);
}

int closedir(DIR *dir)
{
    const int result = fd_close(dir->fd);

    free(dir);
    return (int)posix_result(result);
}

int dirfd(DIR *dir)
{
    return dir->fd;
}

static unsigned char type_of(enum inode_kind kind)
{
    static const unsigned char types[] = {[INODE_DIR] = DT_DIR,
                                          [INODE_FILE] = DT_REG,
                                          [INODE_SYMLINK] = DT_LNK,
                                          [INODE_DEVICE] = DT_CHR};

    return types[kind];
}

static void fill(DIR *dir, const struct vfs_dirent *found)
{
    const size_t len = strlen(found->name);

    dir->position++;
    dir->entry = (struct dirent){.d_ino = (ino_t)found->inode,
                                 .d_off = dir->position,
                                 .d_reclen = sizeof dir->entry,
                                 .d_type = type_of(found->kind)};
    memcpy(dir->entry.d_name, found->name, len + 1);
}

struct dirent *readdir(DIR *dir)
{
    struct file *f = fd_get(dir->fd);
    struct vfs_dirent found;
    const int result = f ? vfs_dir_next(f, &found) : -EBADF;

    if (result > 0)
        fill(dir, &found);
    if (f)
        file_put(f);
    return posix_result(result) > 0 ? &dir->entry : NULL;
}

int readdir_r(DIR *dir, struct dirent *entry, struct dirent **result)
{
    const int before = errno;

    errno = 0;
    *result = readdir(dir);
    const int err = *result ? 0 : errno;

    errno = before;
    if (*result) {
        *entry = **result;
        *result = entry;
    }
    return err;
}

void rewinddir(DIR *dir)
{
    struct file *f = fd_get(dir->fd);

    if (!f)
        return;
    vfs_dir_rewind(f);
    dir->position = 0;
    file_put(f);
}

long telldir(DIR *dir)
{
    return dir->position;
}

void seekdir(DIR *dir, long position)
{
    rewinddir(dir);
    while (dir->position < position && readdir(dir))
        ;
}

int alphasort(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static void free_list(struct dirent **list, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(list[i]);
    free(list);
}

/* One more name at the end of the list. */
static int append(struct dirent ***list, size_t *count, const struct dirent *entry)
{
    struct dirent **more = realloc(*list, (*count + 1) * sizeof *more);

    if (!more)
        return -ENOMEM;
    *list = more;
    more[*count] = malloc(sizeof **more);
    if (!more[*count])
        return -ENOMEM;
    *more[(*count)++] = *entry;
    return 0;
}

int scandir(const char *path, struct dirent ***list, int (*wanted)(const struct dirent *),
            int (*compare)(const struct dirent **, const struct dirent **))
{
    DIR *dir = opendir(path);
    struct dirent **found = NULL, *entry;
    size_t count = 0;
    int err = 0;

    if (!dir)
        return -1;
    while (!err && (entry = readdir(dir))) {
        if (!wanted || wanted(entry))
            err = append(&found, &count, entry);
    }
    closedir(dir);
    if (err) {
        free_list(found, count);
        return (int)posix_result(err);
    }
    if (compare && count > 0)
        qsort(found, count, sizeof *found, (int (*)(const void *, const void *))compare);
    *list = found;
    return (int)count;
}
