#include "lib/tar.h"

#include <errno.h>
#include <string.h>

/* POSIX.1-2017, pax, "ustar Interchange Format". GNU's differs in magic and from `prefix` on. */
struct header {
    char name[100];
    char mode[8];
    char uid[8];
    char gid[8];
    char size[12];
    char mtime[12];
    char sum[8];
    char type;
    char linkname[100];
    char magic[6];
    char version[2];
    char uname[32];
    char gname[32];
    char devmajor[8];
    char devminor[8];
    char prefix[155];
    char pad[12];
};
static_assert(sizeof(struct header) == TAR_BLOCK_BYTES, "ustar");

/* What earlier entries said of the one that follows them. */
struct overrides {
    bool has_path, has_target, has_size, has_mtime;
    char path[TAR_PATH_MAX], target[TAR_PATH_MAX];
    uint64_t size;
    int64_t mtime;
};

/* ---- numbers ---- */

/* Octal digits with blanks around, or GNU's base 256 when the top bit is set. False: neither. */
static bool number(const char *field, size_t len, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0;

    if ((uint8_t)field[0] & 0x80) {
        value = (uint8_t)field[0] & 0x3f;
        for (i = 1; i < len; i++) {
            if (value >> 55)
                return false;
            value = value << 8 | (uint8_t)field[i];
        }
        *out = value;
        return !((uint8_t)field[0] & 0x40); /* negative */
    }
    while (i < len && field[i] == ' ')
        i++;
    for (; i < len && field[i] >= '0' && field[i] <= '7'; i++)
        value = value << 3 | (uint64_t)(field[i] - '0');
    *out = value;
    return i == len || field[i] == ' ' || field[i] == '\0';
}

static bool sum_is_right(const struct header *h)
{
    const uint8_t *bytes = (const uint8_t *)h;
    const size_t from = offsetof(struct header, sum), to = from + sizeof h->sum;
    uint64_t said;
    unsigned sum = 0;
    int old_sum = 0; /* ancient programs added signed characters */

    for (size_t i = 0; i < sizeof *h; i++) {
        const uint8_t byte = i >= from && i < to ? ' ' : bytes[i];

        sum += byte;
        old_sum += (int8_t)byte;
    }
    return number(h->sum, sizeof h->sum, &said) && (said == sum || (int64_t)said == old_sum);
}

static bool is_zero(const struct header *h)
{
    const uint8_t *bytes = (const uint8_t *)h;

    return bytes[0] == 0 && memcmp(bytes, bytes + 1, sizeof *h - 1) == 0;
}

bool tar_looks_like(const uint8_t *data, size_t len)
{
    const struct header *h = (const struct header *)(const void *)data;

    return len >= sizeof *h && !is_zero(h) && sum_is_right(h);
}

/* ---- names ---- */

/*
 * Leave out empty parts and ".", also a slash in front. False when a part is "..": such a name would lead out of the tree
 * for somebody, and no honest archive has one.
 */
static bool clean(char *path)
{
    char *out = path;
    const char *in = path;

    while (*in) {
        const size_t len = strcspn(in, "/");

        if (len == 2 && in[0] == '.' && in[1] == '.')
            return false;
        if (len > 0 && !(len == 1 && in[0] == '.')) {
            if (out > path)
                *out++ = '/';
            memmove(out, in, len);
            out += len;
        }
        in += len;
        while (*in == '/')
            in++;
    }
    *out = '\0';
    return true;
}

static void copy_field(char *out, const char *field, size_t len)
{
    const size_t used = strnlen(field, len);

    memcpy(out, field, used);
    out[used] = '\0';
}

static void header_path(const struct header *h, char *out)
{
    size_t len = 0;

    if (memcmp(h->magic, "ustar", 6) == 0 && h->prefix[0]) {
        copy_field(out, h->prefix, sizeof h->prefix);
        len = strlen(out);
        out[len++] = '/';
    }
    copy_field(out + len, h->name, sizeof h->name);
}

/* ---- pax records and GNU's long names ---- */

/* Whole text into out. False: too long, or it holds a NUL before its end. */
static bool take_text(char *out, const uint8_t *text, size_t len)
{
    while (len > 0 && text[len - 1] == '\0')
        len--;
    if (len >= TAR_PATH_MAX || memchr(text, '\0', len))
        return false;
    memcpy(out, text, len);
    out[len] = '\0';
    return true;
}

static bool take_decimal(const uint8_t *text, size_t len, uint64_t *out)
{
    uint64_t value = 0;
    size_t i = 0;

    for (; i < len && text[i] >= '0' && text[i] <= '9'; i++) {
        if (value > UINT64_MAX / 10 - 1)
            return false;
        value = value * 10 + (uint64_t)(text[i] - '0');
    }
    *out = value;
    return i > 0 && (i == len || text[i] == '.'); /* mtime may have a fraction */
}

static bool is_key(const uint8_t *record, size_t len, const char *key)
{
    return len == strlen(key) && memcmp(record, key, len) == 0;
}

static void take_record(struct overrides *o, const uint8_t *key, size_t key_len,
                        const uint8_t *value, size_t len)
{
    uint64_t n;

    if (is_key(key, key_len, "path"))
        o->has_path = take_text(o->path, value, len);
    else if (is_key(key, key_len, "linkpath"))
        o->has_target = take_text(o->target, value, len);
    else if (is_key(key, key_len, "size") && take_decimal(value, len, &n))
        o->size = n, o->has_size = true;
    else if (is_key(key, key_len, "mtime") && take_decimal(value, len, &n))
        o->mtime = (int64_t)(n & INT64_MAX), o->has_mtime = true;
}

/* "LENGTH KEY=VALUE\n" …; LENGTH counts the whole record. A bad one ends the list. */
static void take_pax(struct overrides *o, const uint8_t *data, size_t len)
{
    while (len > 0) {
        const uint8_t *blank = memchr(data, ' ', size_min(len, 20));
        uint64_t size;

        if (!blank || !take_decimal(data, (size_t)(blank - data), &size) || size > len ||
            size < (size_t)(blank - data) + 3 || data[size - 1] != '\n')
            return;
        const uint8_t *key = blank + 1, *end = data + size - 1;
        const uint8_t *equals = memchr(key, '=', (size_t)(end - key));

        if (!equals)
            return;
        take_record(o, key, (size_t)(equals - key), equals + 1, (size_t)(end - equals - 1));
        data += size;
        len -= size;
    }
}

/* ---- entries ---- */

void tar_open(struct tar_reader *r, const uint8_t *data, size_t len)
{
    *r = (struct tar_reader){.data = data, .len = len};
}

static const struct header *next_header(struct tar_reader *r, int *result)
{
    const struct header *h = (const struct header *)(const void *)(r->data + r->at);

    *result = 0;
    if (r->len - r->at < sizeof *h || is_zero(h))
        return NULL;
    *result = -EBADMSG;
    if (!sum_is_right(h))
        return NULL;
    r->at += sizeof *h;
    return h;
}

/* The bytes behind a header; the reader goes on behind them. */
static const uint8_t *take_data(struct tar_reader *r, uint64_t size)
{
    const uint8_t *data = r->data + r->at;

    if (size > r->len - r->at)
        return NULL;
    r->at += size_min(size_round_up((size_t)size, TAR_BLOCK_BYTES), r->len - r->at);
    return data;
}

/* Entries that only speak of the next one. */
static bool take_override(const struct header *h, struct overrides *o, const uint8_t *data,
                          uint64_t size)
{
    switch (h->type) {
    case 'x':
        take_pax(o, data, (size_t)size);
        return true;
    case 'L':
        o->has_path = take_text(o->path, data, (size_t)size);
        return true;
    case 'K':
        o->has_target = take_text(o->target, data, (size_t)size);
        return true;
    case 'g': /* for all that follow: nothing in it concerns us */
    case 'V': /* GNU: the archive's label */
        return true;
    default:
        return false;
    }
}

static bool kind_of(const struct header *h, struct tar_entry *e)
{
    switch (h->type) {
    case '0':
    case '\0':
    case '7': { /* contiguous: an ordinary file */
        const size_t len = strlen(e->path);

        /* Before POSIX a directory was a file with a slash at its end. */
        e->kind = len > 0 && e->path[len - 1] == '/' ? TAR_DIR : TAR_FILE;
        return true;
    }
    case '1':
        e->kind = TAR_HARDLINK;
        return true;
    case '2':
        e->kind = TAR_SYMLINK;
        return true;
    case '5':
        e->kind = TAR_DIR;
        return true;
    default:
        return false;
    }
}

/* False: to be left out. */
static bool fill(const struct header *h, const struct overrides *o, struct tar_entry *e)
{
    uint64_t mode = 0, mtime = 0;

    if (o->has_path)
        memcpy(e->path, o->path, sizeof e->path);
    else
        header_path(h, e->path);
    if (o->has_target)
        memcpy(e->target, o->target, sizeof e->target);
    else
        copy_field(e->target, h->linkname, sizeof h->linkname);
    if (!kind_of(h, e) || !clean(e->path))
        return false;
    if (!number(h->mode, sizeof h->mode, &mode) || !number(h->mtime, sizeof h->mtime, &mtime))
        return false;
    e->mode = (mode_t)(mode & 07777);
    e->mtime = o->has_mtime ? o->mtime : (int64_t)(mtime & INT64_MAX);
    return e->kind != TAR_HARDLINK || clean(e->target);
}

int tar_next(struct tar_reader *r, struct tar_entry *e)
{
    struct overrides o = {0};
    const struct header *h;
    int result;

    while ((h = next_header(r, &result))) {
        const bool own_size = o.has_size && (h->type == '0' || h->type == '\0');
        uint64_t size = 0;

        if (own_size)
            size = o.size;
        else if (!number(h->size, sizeof h->size, &size))
            return -EBADMSG;
        if (h->type == '1' || h->type == '2' || h->type == '5')
            size = 0; /* some programs give a link its target's size */
        const uint8_t *data = take_data(r, size);

        if (!data)
            return -EBADMSG;
        if (take_override(h, &o, data, size))
            continue;
        if (fill(h, &o, e)) {
            e->data = data;
            e->size = e->kind == TAR_FILE ? size : 0;
            return 1;
        }
        r->skipped++;
        o = (struct overrides){0};
    }
    return result;
}
