#include "apps/http/site.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "apps/http/message.h"
#include "lib/fd.h"
#include "lib/vfs.h"

enum { FULL_PATH_MAX = 2 * MESSAGE_PATH_MAX };

static const char *root = "";

void site_set_root(const char *folder)
{
    root = strcmp(folder, "/") == 0 ? "" : folder;
}

static bool full_path(const char *path, char out[FULL_PATH_MAX])
{
    return snprintf(out, FULL_PATH_MAX, "%s%s", root, path) < FULL_PATH_MAX;
}

/* What every image has below its root besides the site. */
static bool is_own(const char *name, size_t len)
{
    static const char *const own[] = {"tmp", "dev", "modules"};

    for (size_t i = 0; i < ARRAY_COUNT(own); i++) {
        if (strlen(own[i]) == len && memcmp(name, own[i], len) == 0)
            return true;
    }
    return false;
}

/* .git and .htpasswd are not for visitors; /.well-known/ is (RFC 8615). */
static bool is_hidden(const char *path)
{
    static const char public[] = "/.well-known";
    const size_t len = sizeof(public) - 1;

    if (strncmp(path, public, len) == 0 && (path[len] == '/' || !path[len]))
        path += len;
    return strstr(path, "/.") != NULL;
}

enum site_kind site_open(const char *path, struct site_file *out)
{
    char full[FULL_PATH_MAX];
    struct file *file;
    struct stat st;

    if (is_hidden(path) || (!*root && is_own(path + 1, strcspn(path + 1, "/"))))
        return SITE_NOTHING;
    if (!full_path(path, full) || vfs_stat(NULL, full, true, &st))
        return SITE_NOTHING;
    if (S_ISDIR(st.st_mode))
        return SITE_DIR;
    if (!S_ISREG(st.st_mode) || vfs_open(NULL, full, O_RDONLY, 0, &file))
        return SITE_FORBIDDEN;
    const struct inode *node = vfs_inode_of(file);
    const bool fixed = node && node->file.fixed;

    if (fixed)
        *out = (struct site_file){node->file.fixed, (size_t)node->file.fixed_size, st.st_mtime};
    file_put(file);
    return fixed ? SITE_FILE : SITE_FORBIDDEN;
}

/* ---- folders ---- */

static void note_name(void *arg, const char *name, bool is_dir)
{
    (void)name;
    (void)is_dir;
    *(bool *)arg = true;
}

bool site_is_empty(void)
{
    bool found = false;

    site_list("/", note_name, &found);
    return !found;
}

struct name {
    bool is_dir;
    char text[VFS_NAME_MAX + 1];
};

static int by_text(const void *a, const void *b)
{
    return strcmp(((const struct name *)a)->text, ((const struct name *)b)->text);
}

/* All names of an open folder; *count of them. */
static struct name *read_names(struct file *dir, bool top, size_t *count)
{
    struct name *names = NULL;
    struct vfs_dirent entry;
    size_t room = 0;

    *count = 0;
    while (vfs_dir_next(dir, &entry) > 0) {
        if (entry.name[0] == '.' || (top && is_own(entry.name, strlen(entry.name))))
            continue;
        if (*count == room) {
            struct name *more = realloc(names, (room = 2 * room + 16) * sizeof *names);

            if (!more)
                break;
            names = more;
        }
        names[*count].is_dir = entry.kind == INODE_DIR;
        memcpy(names[(*count)++].text, entry.name, strlen(entry.name) + 1);
    }
    return names;
}

void site_list(const char *path, void (*put)(void *arg, const char *name, bool is_dir), void *arg)
{
    char full[FULL_PATH_MAX];
    struct file *dir;
    size_t count;

    if (!full_path(path, full) || vfs_open(NULL, full, O_RDONLY | O_DIRECTORY, 0, &dir))
        return;
    struct name *names = read_names(dir, strcmp(full, "/") == 0, &count);

    file_put(dir);
    if (count > 0)
        qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0; i < count; i++)
        put(arg, names[i].text, names[i].is_dir);
    free(names);
}

/* ---- types ---- */

const char *site_type(const char *path)
{
    static const struct {
        const char *suffix, *type;
    } types[] = {
        {"html", "text/html; charset=utf-8"},
        {"htm", "text/html; charset=utf-8"},
        {"css", "text/css; charset=utf-8"},
        {"js", "text/javascript; charset=utf-8"},
        {"mjs", "text/javascript; charset=utf-8"},
        {"json", "application/json"},
        {"map", "application/json"},
        {"txt", "text/plain; charset=utf-8"},
        {"md", "text/markdown; charset=utf-8"},
        {"csv", "text/csv; charset=utf-8"},
        {"xml", "application/xml"},
        {"svg", "image/svg+xml"},
        {"png", "image/png"},
        {"jpg", "image/jpeg"},
        {"jpeg", "image/jpeg"},
        {"gif", "image/gif"},
        {"webp", "image/webp"},
        {"avif", "image/avif"},
        {"ico", "image/x-icon"},
        {"woff", "font/woff"},
        {"woff2", "font/woff2"},
        {"ttf", "font/ttf"},
        {"pdf", "application/pdf"},
        {"wasm", "application/wasm"},
        {"mp4", "video/mp4"},
        {"webm", "video/webm"},
        {"mp3", "audio/mpeg"},
        {"zip", "application/zip"},
        {"gz", "application/gzip"},
        {"tar", "application/x-tar"},
    };
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');

    for (size_t i = 0; dot && i < ARRAY_COUNT(types); i++) {
        if (strcasecmp(dot + 1, types[i].suffix) == 0)
            return types[i].type;
    }
    return "application/octet-stream";
}
