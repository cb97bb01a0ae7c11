/*
 * Questions to the resolvers that dns=, DHCP or a router named: over UDP, and over TCP when the answer is too long.
 *
 * The caller's thread waits; others and the network go on. lwIP's own resolver keeps one address of an answer and can't
 * tell "there is no such name" from "nobody answered", which getaddrinfo() must: docs/decisions/0002. Its list
 * of servers is what is used here.
 */
#ifndef NET_DNS_QUERY_H
#define NET_DNS_QUERY_H

#include "net/dns_message.h"

enum { DNS_QUERY_TYPES_MAX = 2 };

struct dns_query {
    enum dns_type type;
    bool answered;
    uint16_t id; /* internal */
    struct dns_answer answer;
};

/*
 * Ask for all types of one name at once, each server up to three times with 1, 2 and 4 s of patience; whoever says SERVFAIL
 * or REFUSED sends us to the next. Each query that is `answered` has its answer.
 *
 * Returns 0 when all are answered; -EAGAIN when not (nobody answered, or no server is known); -EINVAL for what can't be a
 * name; -EMFILE, -ENOBUFS, -EINTR.
 */
int dns_ask(const char *name, struct dns_query *queries, size_t count);

#endif
