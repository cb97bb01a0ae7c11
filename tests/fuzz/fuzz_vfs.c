/*
 * Any bytes as a program that works on files: after each call the tree must still be one, and at the end, when
 * everything is closed, unmapped and removed, no page and no name may be left.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/check.h"
#include "lib/mapping.h"
#include "lib/page_alloc.h"
#include "lib/vfs_impl.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 2 * 1024 * 1024, FILES = 4, MAPS = 4, CALLS_MAX = 300 };

struct mapped {
    uint8_t *start;
    size_t len;
};

static struct {
    const uint8_t *data;
    size_t left;
    struct file *files[FILES];
    struct mapped maps[MAPS];
    size_t names_before;
} run;

static uint8_t next(void)
{
    if (run.left == 0)
        return 0;
    run.left--;
    return *run.data++;
}

/* Short paths of few names, so that calls meet: "a", "a/b/../c", with "/tmp/" in front or not. */
static const char *some_path(void)
{
    static char paths[2][64];
    static unsigned turn;
    static const char *const names[] = {"a", "b", "c", "d", ".", "..", "", "/tmp"};
    char *path = paths[turn++ % 2];
    uint8_t shape = next();
    size_t len = 0;

    if (shape & 1)
        len = (size_t)snprintf(path, sizeof paths[0], "/tmp/");
    for (unsigned depth = 0; depth <= (shape >> 1) % 3; depth++)
        len += (size_t)snprintf(path + len, sizeof paths[0] - len, "%s%s", depth ? "/" : "",
                                names[next() % 8]);
    if (shape & 0x80)
        snprintf(path + len, sizeof paths[0] - len, "/");
    return path;
}

static struct file **some_file(void)
{
    return &run.files[next() % FILES];
}

static uint64_t some_offset(void)
{
    static const uint64_t steps[] = {1, 100, 4096, 100000, 10000000, (uint64_t)1 << 39};
    const uint64_t step = steps[next() % 6];

    return step * next();
}

static void drop(struct file **f)
{
    if (*f)
        (void)file_put(*f);
    *f = NULL;
}

/* ---- calls ---- */

static void call_open(void)
{
    static const int flags[] = {O_RDONLY,
                                O_RDWR,
                                O_WRONLY | O_APPEND,
                                O_RDWR | O_CREAT,
                                O_RDWR | O_CREAT | O_EXCL,
                                O_RDWR | O_TRUNC,
                                O_RDONLY | O_NOFOLLOW,
                                O_RDONLY | O_DIRECTORY};
    struct file **f = some_file();

    drop(f);
    const int err = vfs_open(NULL, some_path(), flags[next() % 8], 0666, f);

    ASSERT((err == 0) == (*f != NULL));
}

static void call_bytes(void)
{
    static uint8_t bytes[9000];
    struct file *f = *some_file();
    const struct iovec iov = {.iov_base = bytes, .iov_len = (size_t)next() * 35};

    if (!f || !f->ops->read)
        return;
    switch (next() % 6) {
    case 0:
        (void)f->ops->read(f, &iov, 1);
        break;
    case 1:
        if (f->ops->write && (f->flags & O_ACCMODE) != O_RDONLY)
            (void)f->ops->write(f, &iov, 1);
        break;
    case 2:
        (void)vfs_pread(f, &iov, 1, (off_t)some_offset());
        break;
    case 3:
        (void)vfs_pwrite(f, &iov, 1, (off_t)some_offset());
        break;
    case 4:
        (void)vfs_truncate_file(f, (off_t)some_offset());
        break;
    default:
        if (f->ops->seek)
            (void)f->ops->seek(f, (off_t)some_offset(), next() % 4);
    }
}

static void call_names(void)
{
    const char *path = some_path();

    switch (next() % 8) {
    case 0:
        (void)vfs_mkdir(NULL, path, 0777);
        break;
    case 1:
        (void)vfs_rmdir(NULL, path);
        break;
    case 2:
        (void)vfs_unlink(NULL, path);
        break;
    case 3:
        (void)vfs_rename(NULL, path, NULL, some_path());
        break;
    case 4:
        (void)vfs_link(NULL, path, next() & 1, NULL, some_path());
        break;
    case 5:
        (void)vfs_symlink(path, NULL, some_path());
        break;
    case 6:
        (void)vfs_chdir(path);
        break;
    default:
        (void)vfs_truncate(path, (off_t)some_offset());
    }
}

static void call_look(void)
{
    char buf[64];
    struct stat st;
    struct vfs_dirent entry;
    struct file *f = *some_file();

    if (vfs_getcwd(buf, sizeof buf) > 0)
        ASSERT(buf[0] == '/');
    if (vfs_realpath(NULL, some_path(), buf, sizeof buf) > 0)
        ASSERT(vfs_stat(NULL, buf, false, &st) == 0 && !S_ISLNK(st.st_mode));
    if (f && vfs_dir_next(f, &entry) > 0)
        ASSERT(entry.name[0] != '\0' && strlen(entry.name) <= VFS_NAME_MAX);
}

static void unmap(struct mapped *m)
{
    if (m->start)
        ASSERT(mapping_remove(m->start, m->len) == 0);
    m->start = NULL;
}

static void call_map(void)
{
    struct mapped *m = &run.maps[next() % MAPS];
    struct mapping_wish wish = {.len = (size_t)next() * 100 + 1,
                                .prot = PROT_READ,
                                .flags = next() & 1 ? MAP_SHARED : MAP_PRIVATE,
                                .file = *some_file(),
                                .offset = PAGE_BYTES * (next() % 8)};
    void *start = NULL;

    unmap(m);
    wish.flags |= wish.file ? 0 : MAP_ANONYMOUS;
    if (mapping_make(&wish, &start))
        return;
    *m = (struct mapped){start, wish.len};
    if (!wish.file || (wish.file->flags & O_ACCMODE) == O_RDWR)
        memset(start, 'm', wish.len);
    if (next() % 4 == 0) /* a hole */
        (void)mapping_remove(m->start + PAGE_BYTES * (next() % 4), PAGE_BYTES);
}

static void call_pin(void)
{
    struct file *f = *some_file();
    const uint8_t *bytes;
    size_t len;
    unsigned sum = 0;

    if (!f || vfs_map(f, &bytes, &len))
        return;
    for (size_t i = 0; i < len; i++)
        sum += bytes[i];
    ASSERT(len > 0 || sum == 0);
}

/* ---- what must hold ---- */

static size_t check_dir(const struct inode *dir, unsigned depth)
{
    const struct dir_entry *before = NULL;
    size_t names = 0;

    ASSERT(depth < 1000);
    for (const struct dir_entry *e = dir->dir.first; e; before = e, e = e->next) {
        ASSERT(e->dir == dir && e->prev == before && e->node->names > 0);
        ASSERT(dir_entry_find(dir, e->name, e->name_len) == e);
        names++;
        if (e->node->kind != INODE_DIR)
            continue;
        ASSERT(e->node->names == 1 && e->node->dir.parent == dir);
        names += check_dir(e->node, depth + 1);
    }
    ASSERT(dir->dir.last == before);
    return names;
}

static void begin(const uint8_t *data, size_t size)
{
    static _Alignas(4096) uint8_t arena[ARENA_BYTES];
    const struct page_range range = {(uintptr_t)arena, (uintptr_t)arena + sizeof arena};

    memset(&run, 0, sizeof run);
    run.data = data;
    run.left = size;
    ASSERT(page_init(&range, 1) == 0 && vfs_root());
    ASSERT(vfs_chdir("/tmp") == 0);
    run.names_before = vfs_entry_count();
}

static void end(size_t pages_before)
{
    for (size_t i = 0; i < FILES; i++)
        drop(&run.files[i]);
    for (size_t i = 0; i < MAPS; i++)
        unmap(&run.maps[i]);
    ASSERT(vfs_chdir("/tmp") == 0);
    dir_clear(dir_find(vfs_root(), "tmp", 3));
    ASSERT(vfs_entry_count() == run.names_before);
    ASSERT(mapping_count() == 0 && ram_pages_in_use() == 0);
    ASSERT(page_free_count() == pages_before);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static void (*const calls[])(void) = {call_open,  call_bytes, call_names, call_look,
                                          call_names, call_map,   call_pin,   call_bytes};

    begin(data, size);
    const size_t pages = page_free_count();

    for (unsigned i = 0; i < CALLS_MAX && run.left > 0; i++) {
        calls[next() % 8]();
        ASSERT(check_dir(vfs_root(), 0) == vfs_entry_count());
        ASSERT(ram_pages_in_use() <= ram_pages_limit());
    }
    end(pages);
    return 0;
}
