#include "lib/tar.h"

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

static void take_path(struct tar_overrides *o, const uint8_t *text, size_t len)
{
    o->has_path = take_text(o->path, text, len);
    o->unfit |= !o->has_path;
}

static void take_target(struct tar_overrides *o, const uint8_t *text, size_t len)
{
    o->has_target = take_text(o->target, text, len);
    o->unfit |= !o->has_target;
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

static void take_record(struct tar_overrides *o, const uint8_t *key, size_t key_len,
                        const uint8_t *value, size_t len)
{
    static const char sparse[] = "GNU.sparse.";
    uint64_t n;

    if (is_key(key, key_len, "path")) {
        take_path(o, value, len);
    } else if (is_key(key, key_len, "linkpath")) {
        take_target(o, value, len);
    } else if (is_key(key, key_len, "size")) {
        o->has_size = take_decimal(value, len, &o->size);
        o->unfit |= !o->has_size;
    } else if (is_key(key, key_len, "mtime")) {
        o->has_mtime = take_decimal(value, len, &n); /* before 1970: the header's own will do */
        o->mtime = (int64_t)(n & INT64_MAX);
    } else if (key_len > sizeof sparse - 1 && memcmp(key, sparse, sizeof sparse - 1) == 0) {
        o->unfit = true;
    }
}

/* "LENGTH KEY=VALUE\n" …; LENGTH counts the whole record. False: a bad one, and what follows it is not known. */
static bool take_pax(struct tar_overrides *o, const uint8_t *data, size_t len)
{
    while (len > 0) {
        const uint8_t *blank = memchr(data, ' ', size_min(len, 20));
        uint64_t size;

        if (!blank || !take_decimal(data, (size_t)(blank - data), &size) || size > len ||
            size < (size_t)(blank - data) + 3 || data[size - 1] != '\n')
            return false;
        const uint8_t *key = blank + 1, *end = data + size - 1;
        const uint8_t *equals = memchr(key, '=', (size_t)(end - key));

        if (!equals)
            return false;
        take_record(o, key, (size_t)(equals - key), equals + 1, (size_t)(end - equals - 1));
        data += size;
        len -= size;
    }
    return true;
}

/* ---- headers ---- */

void tar_open(struct tar_reader *r, const uint8_t *data, size_t len)
{
    r->data = data;
    r->len = len;
    r->at = 0;
    r->lost = false;
    r->skipped = r->damaged = 0;
}

static void lose(struct tar_reader *r)
{
    r->damaged += !r->lost;
    r->lost = true;
}

/* The next block that is a header; the reader goes on behind it. NULL: the archive's end, or the memory's. */
static const struct header *next_header(struct tar_reader *r)
{
    while (r->len - r->at >= sizeof(struct header)) {
        const struct header *h = (const struct header *)(const void *)(r->data + r->at);
        const bool zero = is_zero(h);

        if (zero && !r->lost)
            return NULL;
        r->at += sizeof *h;
        if (!zero && sum_is_right(h)) {
            r->lost = false;
            return h;
        }
        lose(r);
    }
    if (!r->lost && r->at < r->len)
        r->damaged++; /* cut within a header */
    r->at = r->len;
    return NULL;
}

/* The old GNU sparse format lists more pieces in blocks behind the header; each says whether one more follows. */
static void skip_sparse_lists(struct tar_reader *r, const struct header *h)
{
    const uint8_t *more = (const uint8_t *)h + 482;

    while (*more && r->len - r->at >= TAR_BLOCK_BYTES) {
        more = r->data + r->at + 504;
        r->at += TAR_BLOCK_BYTES;
    }
}

/* How many bytes follow the header. */
static bool data_size(const struct header *h, const struct tar_overrides *o, uint64_t *size)
{
    *size = 0;
    if (h->type >= '1' &&
        h->type <= '6') /* links, devices, directories; some give a link its target's size */
        return true;
    if (!o->has_size || memchr("xgLK", h->type, 4))
        return number(h->size, sizeof h->size, size);
    *size = o->size;
    return true;
}

/* The bytes behind a header; the reader goes on behind them. NULL: there are not as many. */
static const uint8_t *take_data(struct tar_reader *r, uint64_t size)
{
    const uint8_t *data = r->data + r->at;

    if (size > r->len - r->at)
        return NULL;
    r->at += size_min(size_round_up((size_t)size, TAR_BLOCK_BYTES), r->len - r->at);
    return data;
}

/* Entries that only speak of the next one, or of all. */
static bool take_override(const struct header *h, struct tar_overrides *o, const uint8_t *data,
                          size_t size)
{
    switch (h->type) {
    case 'x':
        o->unfit |= !take_pax(o, data, size);
        return true;
    case 'L':
        take_path(o, data, size);
        return true;
    case 'K':
        take_target(o, data, size);
        return true;
    case 'g': /* nothing in it concerns us */
    case 'V': /* GNU: the archive's label */
        return true;
    default:
        return false;
    }
}

/* ---- entries ---- */

static bool kind_of(const struct header *h, struct tar_entry *e)
{
    const size_t len = strlen(e->path);

    switch (h->type) {
    case '0':
    case '\0':
    case '7': /* contiguous: an ordinary file */
        /* Before POSIX a directory was a file with a slash at its end. */
        e->kind = len > 0 && e->path[len - 1] == '/' ? TAR_DIR : TAR_FILE;
        return true;
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

static void fill_properties(const struct header *h, const struct tar_overrides *o,
                            struct tar_entry *e)
{
    uint64_t mode, mtime;

    e->mode = e->kind == TAR_DIR ? 0755 : 0644;
    if (number(h->mode, sizeof h->mode, &mode))
        e->mode = (mode_t)(mode & 07777);
    e->mtime = 0;
    if (o->has_mtime)
        e->mtime = o->mtime;
    else if (number(h->mtime, sizeof h->mtime, &mtime))
        e->mtime = (int64_t)(mtime & INT64_MAX);
}

/* False: to be left out. */
static bool fill(const struct header *h, const struct tar_overrides *o, struct tar_entry *e)
{
    if (o->unfit)
        return false;
    if (o->has_path)
        memcpy(e->path, o->path, strlen(o->path) + 1);
    else
        header_path(h, e->path);
    if (o->has_target)
        memcpy(e->target, o->target, strlen(o->target) + 1);
    else
        copy_field(e->target, h->linkname, sizeof h->linkname);
    if (!kind_of(h, e) || !clean(e->path))
        return false;
    fill_properties(h, o, e);
    return e->kind != TAR_HARDLINK || clean(e->target);
}

static void forget_overrides(struct tar_overrides *o)
{
    o->has_path = o->has_target = o->has_size = o->has_mtime = o->unfit = false;
}

bool tar_next(struct tar_reader *r, struct tar_entry *e)
{
    const struct header *h;

    forget_overrides(&r->next);
    while ((h = next_header(r))) {
        uint64_t size;

        if (h->type == 'S')
            skip_sparse_lists(r, h);
        const uint8_t *data = data_size(h, &r->next, &size) ? take_data(r, size) : NULL;

        if (!data) {
            lose(r);
            forget_overrides(&r->next);
            continue;
        }
        if (take_override(h, &r->next, data, (size_t)size))
            continue;
        if (fill(h, &r->next, e)) {
            e->data = data;
            e->size = e->kind == TAR_FILE ? size : 0;
            return true;
        }
        r->skipped++;
        forget_overrides(&r->next);
    }
    return false;
}
