/* A folder without an index, as a page of links. */
#ifndef APPS_HTTP_LISTING_H
#define APPS_HTTP_LISTING_H

#include <stddef.h>

/* The page for folder `path` (cleaned, with its slash), from malloc. NULL: no memory. */
char *listing_make(const char *path, size_t *len);

/* Percent-encode what a path may not hold (RFC 3986 §3.3). Always terminated; cut where `len` ends. */
void listing_escape_url(const char *in, char *out, size_t len);

#endif
