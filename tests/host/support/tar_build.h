/* An archive that a test puts together entry by entry, so that it can also be wrong. ustar, pax records, GNU's long names. */
#ifndef TESTS_HOST_SUPPORT_TAR_BUILD_H
#define TESTS_HOST_SUPPORT_TAR_BUILD_H

#include <stddef.h>
#include <stdint.h>

#include "lib/tar.h"

enum { TAR_BUILD_ROOM = 64 * TAR_BLOCK_BYTES, TAR_BUILD_MTIME = 1700000000 };

struct tar_build {
    uint8_t data[TAR_BUILD_ROOM];
    size_t used; /* the two zero blocks at the end are not counted */
};

/* Empty again, all zeros. */
void tar_build_init(struct tar_build *t);

/* A header at the end: mode 0640. Gives it, to be changed and summed again. */
uint8_t *tar_build_header(struct tar_build *t, char type, const char *name, const char *target,
                          size_t size);
void tar_build_sum(uint8_t *header);

void tar_build_data(struct tar_build *t, const char *data, size_t len);
void tar_build_file(struct tar_build *t, const char *name, const char *content);

/* A pax record for the entry that follows. */
void tar_build_pax(struct tar_build *t, const char *key, const char *value);

#endif
