/*
 * Any bytes as an archive: no memory error, an end, and entries that keep their promises; then the tree that
 * is made of them is taken down again, so that nothing of it may be left.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/log.h"
#include "lib/page_alloc.h"
#include "lib/tar.h"
#include "lib/vfs.h"
#include "lib/vfs_impl.h"
#include "tests/host/support/tar_build.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { ARENA_BYTES = 4 * 1024 * 1024 };

static size_t warnings;

static void count_line(const char *line, size_t len)
{
    ASSERT(len > 1 && line[len - 1] == '\n');
    warnings++;
}

static void once(void)
{
    static _Alignas(4096) uint8_t arena[ARENA_BYTES];
    static bool done;
    const struct page_range range = {(uintptr_t)arena, (uintptr_t)arena + sizeof arena};

    if (!done && page_init(&range, 1) == 0) /* what limits the number of names */
        done = true;
    log_set_level(LOG_WARN);
    log_set_sink(count_line);
}

/* Relative, no empty parts, no dots. */
static void check_path(const char *path)
{
    ASSERT(strnlen(path, TAR_PATH_MAX) < TAR_PATH_MAX);
    while (*path) {
        const size_t len = strcspn(path, "/");

        ASSERT(len > 0 && !(len == 1 && path[0] == '.') &&
               !(len == 2 && path[0] == '.' && path[1] == '.'));
        path += len;
        ASSERT(*path == '\0' || path[1] != '\0');
        path += *path == '/';
    }
}

static void check_entry(const struct tar_entry *e, const uint8_t *data, size_t size)
{
    check_path(e->path);
    ASSERT(strnlen(e->target, TAR_PATH_MAX) < TAR_PATH_MAX);
    if (e->kind == TAR_HARDLINK)
        check_path(e->target);
    ASSERT((e->mode & ~07777u) == 0 && e->mtime >= 0);
    ASSERT(e->data >= data && e->data <= data + size && e->size <= (size_t)(data + size - e->data));
    ASSERT(e->kind == TAR_FILE || e->size == 0);
}

static size_t read_all(const uint8_t *data, size_t size)
{
    static struct tar_reader reader;
    static struct tar_entry entry;
    size_t entries = 0, before = 0;

    tar_open(&reader, data, size);
    while (tar_next(&reader, &entry)) {
        ASSERT(reader.at >= before + TAR_BLOCK_BYTES && reader.at <= size);
        before = reader.at;
        check_entry(&entry, data, size);
        entries++;
    }
    ASSERT(entries + reader.skipped + reader.damaged <= size / TAR_BLOCK_BYTES + 1);
    return entries;
}

/* A search would hardly ever hit a checksum: every block that says it is a header gets its own. */
static void repair_sums(uint8_t *data, size_t size)
{
    for (size_t at = 0; size - at >= TAR_BLOCK_BYTES; at += TAR_BLOCK_BYTES) {
        if (memcmp(data + at + 257, "ustar", 5) == 0)
            tar_build_sum(data + at);
    }
}

static void mount(const uint8_t *data, size_t size)
{
    struct inode *root = inode_new(INODE_DIR, 0755);

    if (!root)
        abort();
    root->names = 1;
    (void)tar_looks_like(data, size);
    const size_t entries = read_all(data, size);

    warnings = 0;
    ASSERT(vfs_mount_tar(root, data, size, "fuzz") <= entries);
    ASSERT(warnings <= 1);
    dir_clear(root);
    ASSERT(vfs_entry_count() == 0);
    root->names = 0;
    inode_release(root);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1); /* exactly: one byte too far is seen */

    if (!copy)
        abort();
    if (size > 0)
        memcpy(copy, data, size);
    once();
    mount(copy, size);
    repair_sums(copy, size);
    mount(copy, size);
    free(copy);
    return 0;
}
