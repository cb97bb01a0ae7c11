/* Addresses as text, as POSIX.1-2017 <arpa/inet.h> has them. */
#ifndef RINGLET_ARPA_INET_H
#define RINGLET_ARPA_INET_H

#include <netinet/in.h>

#ifdef __cplusplus
extern "C" {
#endif

in_addr_t inet_addr(const char *text);
int inet_aton(const char *text, struct in_addr *addr);
char *inet_ntoa(struct in_addr addr);
const char *inet_ntop(int family, const void *addr, char *text, socklen_t size);
int inet_pton(int family, const char *text, void *addr);

#ifdef __cplusplus
}
#endif

#endif
