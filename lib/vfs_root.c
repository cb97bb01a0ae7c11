/* How the tree begins: /tmp and /dev, then what the loader's modules hold. */
#include <stdlib.h>
#include <string.h>

#include "lib/boot_info.h"
#include "lib/counters.h"
#include "lib/log.h"
#include "lib/mapping.h"
#include "lib/tar.h"
#include "lib/vfs_impl.h"

static struct inode *root;

struct inode *dir_make(struct inode *parent, const char *name, mode_t mode)
{
    struct inode *dir = dir_find(parent, name, strlen(name));

    if (dir)
        return dir->kind == INODE_DIR ? dir : NULL;
    dir = inode_new(INODE_DIR, mode);
    if (dir && dir_add(parent, name, strlen(name), dir)) {
        inode_release(dir);
        return NULL;
    }
    return dir;
}

/* The last part of a module's first word, or its number. */
static size_t module_name(const struct boot_module *module, size_t index, char *out)
{
    const char *text = module->text;
    const size_t word = strcspn(text, " \t");
    size_t from = word;

    while (from > 0 && text[from - 1] != '/')
        from--;
    const size_t len = word - from;

    if (len > 0 && len <= VFS_NAME_MAX && !(text[from] == '.' && len <= 2)) {
        memcpy(out, text + from, len);
        return len;
    }
    out[0] = (char)('0' + index / 10);
    out[1] = (char)('0' + index % 10);
    return 2;
}

static bool add_module(struct inode *dir, const struct boot_module *module, const char *name,
                       size_t len)
{
    struct inode *node = inode_new(INODE_FILE, 0444);

    if (!node)
        return false;
    node->read_only = true;
    node->file.fixed = module->data;
    node->file.fixed_size = module->len;
    if (dir_add(dir, name, len, node) == 0)
        return true;
    inode_release(node);
    return false;
}

static void module_as_file(struct inode *top, const struct boot_module *module, size_t index)
{
    char name[VFS_NAME_MAX + 1];
    const size_t len = module_name(module, index, name);
    struct inode *dir = dir_make(top, "modules", 0555);

    if (dir)
        dir->read_only = true;
    if (!dir || !add_module(dir, module, name, len))
        log_warn("vfs", "module %u, \"%.*s\", is left out: its name is taken, or no memory",
                 (unsigned)index, (int)len, name);
}

static void mount_modules(struct inode *top)
{
    for (size_t i = 0; i < boot_info.module_count; i++) {
        const struct boot_module *module = &boot_info.modules[i];

        if (tar_looks_like(module->data, module->len))
            vfs_mount_tar(top, module->data, module->len, module->text);
        else
            module_as_file(top, module, i);
    }
}

/* What is ours comes first, so that no archive can take its place, nor its memory. */
static struct inode *plant(void)
{
    struct inode *top = inode_new(INODE_DIR, 0755);

    if (!top)
        return NULL;
    top->names = 1; /* it has none, and stays */
    if (!dir_make(top, "tmp", 01777) || !vfs_devices_init(top)) {
        dir_clear(top);
        free(top);
        return NULL;
    }
    mount_modules(top);
    top->read_only = true;
    return top;
}

static uint64_t read_count(void *count)
{
    return ((size_t(*)(void))count)();
}

static void register_counters(void)
{
    static struct counter list[] = {
        {.name = "file_names",
         .help = "Names in the tree of files.",
         .arg = (void *)(uintptr_t)vfs_entry_count},
        {.name = "file_names_limit",
         .help = "How many names there may be.",
         .arg = (void *)(uintptr_t)vfs_entry_limit},
        {.name = "file_pages",
         .help = "Pages that hold what programs wrote to files.",
         .arg = (void *)(uintptr_t)ram_pages_in_use},
        {.name = "file_pages_limit",
         .help = "How many pages files may take.",
         .arg = (void *)(uintptr_t)ram_pages_limit},
        {.name = "mappings",
         .help = "Pieces of memory that mmap() gave and munmap() did not take back.",
         .arg = (void *)(uintptr_t)mapping_count},
    };

    for (size_t i = 0; i < ARRAY_COUNT(list); i++) {
        list[i].type = COUNTER_GAUGE;
        list[i].read = read_count;
        counters_add(&list[i]);
    }
}

struct inode *vfs_root(void)
{
    if (root)
        return root;
    root = plant();
    if (root)
        register_counters();
    return root;
}
