/* newlib's <regex.h>, which wants <sys/types.h> before it. */
#ifndef RINGLET_REGEX_H
#define RINGLET_REGEX_H

#include <sys/types.h>

#include_next <regex.h>

#endif
