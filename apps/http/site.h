/*
 * What is served: files of the image's tree below a root folder (lib/vfs.h).
 */
#ifndef APPS_HTTP_SITE_H
#define APPS_HTTP_SITE_H

#include <time.h>

#include "lib/types.h"

enum site_kind { SITE_NOTHING, SITE_FILE, SITE_DIR, SITE_FORBIDDEN };

struct site_file {
    const uint8_t *data; /* in the loader's module: stays there for good, unchanged */
    size_t len;
    time_t mtime;
};

/* The folder to serve; borrowed. "/" until said otherwise. */
void site_set_root(const char *folder);

/* Whether anything was put there: the root has a file or folder besides those that every image has. */
bool site_is_empty(void);

/*
 * Look up a cleaned path (message.h). SITE_FILE fills *out. What isn't in a module (/tmp, /dev) isn't served, nor is the
 * folder of raw modules unless it is the root, nor what lies behind a name that begins with a dot, except /.well-known.
 */
enum site_kind site_open(const char *path, struct site_file *out);

/* Call put(arg, name, is_dir) for each name of a folder, sorted. */
void site_list(const char *path, void (*put)(void *arg, const char *name, bool is_dir), void *arg);

/* "text/html; charset=utf-8" and so on, by the name's suffix (RFC 9110 §8.3). */
const char *site_type(const char *path);

#endif
