/*
 * A host's addresses by its name, and its name by an address: "localhost" (RFC 6761 §6.3) and our own name from what we
 * know, others from DNS. Waits; the caller's thread alone.
 */
#ifndef NET_HOST_LOOKUP_H
#define NET_HOST_LOOKUP_H

#include "net/dns_message.h"

enum { HOST_ADDRS_MAX = 2 * DNS_ADDRS_MAX };

struct host_addr {
    uint8_t family; /* AF_INET: 4 bytes are used; AF_INET6: 16 */
    uint8_t bytes[16];
    uint32_t scope; /* the interface of a link-local one, else 0 */
};

struct host_addrs {
    size_t count;
    struct host_addr addr[HOST_ADDRS_MAX];
    char name[DNS_NAME_BYTES]; /* the canonical one */
};

/*
 * Addresses of `family` (AF_INET, AF_INET6 or AF_UNSPEC: both), those first that a connection is likelier to reach
 * (RFC 6724 §6, rules 1 and 6).
 * Returns 0 with at least one; EAI_NONAME, EAI_NODATA (the name is there, such an address isn't), EAI_AGAIN, EAI_FAIL,
 * EAI_MEMORY.
 */
int host_by_name(struct host_addrs *out, const char *name, int family);

/* Returns 0; EAI_NONAME, EAI_AGAIN, EAI_FAIL, EAI_MEMORY. */
int host_by_addr(char name[DNS_NAME_BYTES], const struct host_addr *addr);

/* Does any interface but the loopback have an address of that family, link-local ones not counted? AI_ADDRCONFIG. */
bool host_has_family(int family);

#endif
