/*
 * What a driver test needs around it: a little RAM, a log that is counted, and a look at the end
 * whether everything came back.
 */
#ifndef TESTS_HOST_SUPPORT_NET_ENV_H
#define TESTS_HOST_SUPPORT_NET_ENV_H

#include <stdbool.h>
#include <stddef.h>

/* Fresh memory of `pages` pages, empty pools, an empty log. */
void net_env_init(size_t pages);

/* True when every frag and page taken since net_env_init() was given back. */
bool net_env_clean(void);

/* Lines logged at error level since net_env_init(), and whether one of all lines held `text`. */
unsigned net_env_errors(void);
bool net_env_logged(const char *text);

#endif
