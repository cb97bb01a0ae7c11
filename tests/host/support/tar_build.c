#include "tests/host/support/tar_build.h"

#include <stdio.h>
#include <string.h>

#include "lib/check.h"

void tar_build_init(struct tar_build *t)
{
    memset(t, 0, sizeof *t);
}

void tar_build_sum(uint8_t *header)
{
    unsigned sum = 0;
    char text[8];

    memset(header + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += header[i];
    snprintf(text, sizeof text, "%06o", sum & 0777777);
    memcpy(header + 148, text, 7);
}

uint8_t *tar_build_header(struct tar_build *t, char type, const char *name, const char *target,
                          size_t size)
{
    uint8_t *header = t->data + t->used;
    char text[16];

    ASSERT(t->used + TAR_BLOCK_BYTES <= TAR_BUILD_ROOM);
    memset(header, 0, TAR_BLOCK_BYTES);
    memcpy(header, name, strnlen(name, 100));
    memcpy(header + 100, "0000640", 8);
    snprintf(text, sizeof text, "%011llo", (unsigned long long)size & 077777777777);
    memcpy(header + 124, text, 12);
    snprintf(text, sizeof text, "%011o", (unsigned)TAR_BUILD_MTIME);
    memcpy(header + 136, text, 12);
    header[156] = (uint8_t)type;
    memcpy(header + 157, target, strnlen(target, 100));
    memcpy(header + 257, "ustar\00000", 8);
    tar_build_sum(header);
    t->used += TAR_BLOCK_BYTES;
    return header;
}

void tar_build_data(struct tar_build *t, const char *data, size_t len)
{
    const size_t room = size_round_up(len, TAR_BLOCK_BYTES);

    ASSERT(t->used + room <= TAR_BUILD_ROOM);
    memset(t->data + t->used, 0, room);
    memcpy(t->data + t->used, data, len);
    t->used += room;
}

void tar_build_file(struct tar_build *t, const char *name, const char *content)
{
    tar_build_header(t, '0', name, "", strlen(content));
    tar_build_data(t, content, strlen(content));
}

void tar_build_pax(struct tar_build *t, const char *key, const char *value)
{
    char record[2 * TAR_PATH_MAX];
    const size_t rest = strlen(key) + strlen(value) + 3; /* the blank, '=' and the newline */
    size_t len = rest + 1;

    while (len != rest + (size_t)snprintf(NULL, 0, "%zu", len))
        len = rest + (size_t)snprintf(NULL, 0, "%zu", len);
    snprintf(record, sizeof record, "%zu %s=%s\n", len, key, value);
    tar_build_header(t, 'x', "pax", "", len);
    tar_build_data(t, record, len);
}
