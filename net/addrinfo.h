/*
 * getaddrinfo() and getnameinfo(), under names that the host's C library hasn't taken. RFC 3493 §6; where it leaves a choice
 * (order, which combinations of type and protocol) as Linux has it.
 */
#ifndef NET_ADDRINFO_H
#define NET_ADDRINFO_H

#include <netdb.h>

/* 0 and a list for addrinfo_free(), or EAI_…. Waits for DNS. */
int addrinfo_get(const char *node, const char *service, const struct addrinfo *hints,
                 struct addrinfo **result);
void addrinfo_free(struct addrinfo *list);

int addrinfo_name(const struct sockaddr *addr, socklen_t len, char *host, socklen_t host_size,
                  char *service, socklen_t service_size, int flags);

const char *addrinfo_error(int error); /* for ever valid */

#endif
