/* newlib's <stdio.h>, and what it has but does not declare. */
#ifndef RINGLET_STDIO_H
#define RINGLET_STDIO_H

#include_next <stdio.h>

#include <sys/types.h>

ssize_t getline(char **line, size_t *room, FILE *f);
ssize_t getdelim(char **line, size_t *room, int end, FILE *f);

#endif
