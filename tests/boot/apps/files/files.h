/* What the parts of this program share. */
#ifndef TESTS_BOOT_APPS_FILES_H
#define TESTS_BOOT_APPS_FILES_H

#include <errno.h>
#include <stdio.h>

extern const char *site, *scratch;

/* folder/name, in one of four buffers in turn. */
const char *in(const char *folder, const char *name);
const char *error(void);

#define SAY(...) printf("files: " __VA_ARGS__)
#define TRY(call)                                                                                  \
    do {                                                                                           \
        errno = 0;                                                                                 \
        const long result_ = (long)(call);                                                         \
        SAY("%s = %ld %s\n", #call, result_, result_ < 0 ? error() : "");                          \
    } while (0)

void walks(void);
void relative(void);
void times(void);
void locks(void);
void room(void);
void patterns(void);
void together(void);

#endif
