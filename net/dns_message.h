/*
 * DNS messages of a stub resolver: one question out, one answer in. RFC 1035 §4; AAAA: RFC 3596. No sockets here.
 *
 * Names are text with dots, at most 253 characters; a dot at the end is taken. Only letters that can be printed are
 * accepted in them, so that a server can't put blanks or NULs into what a program prints.
 */
#ifndef NET_DNS_MESSAGE_H
#define NET_DNS_MESSAGE_H

#include "lib/types.h"

enum dns_type { DNS_A = 1, DNS_CNAME = 5, DNS_PTR = 12, DNS_AAAA = 28 };
enum dns_rcode { DNS_OK = 0, DNS_FORMERR = 1, DNS_SERVFAIL = 2, DNS_NXDOMAIN = 3, DNS_REFUSED = 5 };

enum {
    DNS_NAME_BYTES = 256,  /* text and NUL */
    DNS_QUERY_BYTES = 272, /* the longest question */
    DNS_UDP_BYTES = 512,   /* RFC 1035 §2.3.4: longer ones come truncated, and whole over TCP */
    DNS_ADDRS_MAX = 16,    /* kept of one answer */
    DNS_ALIASES_MAX = 8,   /* CNAMEs that are followed */
};

struct dns_answer {
    enum dns_rcode rcode;
    bool truncated;    /* ask again over TCP */
    size_t addr_count; /* DNS_A: 4 bytes each are used, DNS_AAAA: 16 */
    uint8_t addrs[DNS_ADDRS_MAX][16];
    char name[DNS_NAME_BYTES]; /* the name's last alias; for DNS_PTR the host's name, or "" */
};

/* Returns the length; -EINVAL when `name` can't be one. */
int dns_question(uint8_t message[DNS_QUERY_BYTES], uint16_t id, const char *name,
                 enum dns_type type);

/*
 * Is `message` the answer to that question, and what does it say?
 * Returns 0; -EAGAIN: it belongs to another question (or to nobody's): go on waiting; -EPROTO: it is broken.
 */
int dns_answer_parse(struct dns_answer *out, const uint8_t *message, size_t len, uint16_t id,
                     const char *name, enum dns_type type);

/* The name under which DNS_PTR is asked for: in-addr.arpa or ip6.arpa. addr_len is 4 or 16. */
void dns_reverse_name(char name[DNS_NAME_BYTES], const uint8_t *addr, size_t addr_len);

#endif
