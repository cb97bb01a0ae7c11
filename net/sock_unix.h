/*
 * AF_UNIX: sockets to others of the same image, by socketpair() or by a name. Streams, datagrams and SOCK_SEQPACKET.
 *
 * Names live as long as the socket that is bound to them, and beside the file system: nothing is created there,
 * and there is nothing to unlink. Descriptors can't be passed (SCM_RIGHTS): there is no other process.
 */
#ifndef NET_SOCK_UNIX_H
#define NET_SOCK_UNIX_H

#include <sys/un.h>

#include "lib/byte_ring.h"
#include "net/sock_impl.h"

enum { UNIX_RING_BYTES = 208 * 1024 /* as much as Linux's default send buffer */ };

struct unix_name {
    struct sockaddr_un addr;
    socklen_t len; /* 0: none */
};

/* What a socket of ours has beside struct sock. It receives here what its peers send. */
struct unix_end {
    struct unix_end *next; /* list of all that have names */
    struct sock *owner;
    struct sock *peer;     /* of a connection; datagrams: where send() goes. Not referenced */
    struct unix_end *fans; /* list by next_fan: datagram sockets whose peer this is */
    struct unix_end *next_fan;
    struct unix_name name, from; /* from: of the datagram read last */
    struct unix_name peer_name;
    unsigned backlog, pending;
    struct byte_ring ring;
};
static_assert(sizeof(struct unix_end) <= FRAG_MAX_BYTES, "it is a frag");

/* Returns 0, -EPROTONOSUPPORT, -ESOCKTNOSUPPORT. */
int sock_unix_kind(int type, int protocol, const struct sock_ops **ops);

/* Connect two fresh ones. Returns 0 or -ENOBUFS. */
int sock_unix_pair(struct sock *a, struct sock *b);

/* ---- between sock_unix.c and sock_unix_io.c ---- */

static inline struct sock_name sock_unix_name(const struct unix_name *name)
{
    return (struct sock_name){.raw = name->len ? &name->addr : NULL, .raw_len = name->len};
}

static inline struct sock *sock_unix_peer(const struct sock *s)
{
    return s->pcb.local ? s->pcb.local->peer : NULL;
}

/* What has come and isn't read; NULL: nothing ever. */
static inline struct byte_ring *sock_unix_ring(const struct sock *s)
{
    return s->pcb.local ? &s->pcb.local->ring : NULL;
}

/* Make sure that s has its struct unix_end. Returns 0 or -ENOBUFS. */
int sock_unix_need(struct sock *s);

/* The socket of a name. Returns 0; -ENOENT; -ECONNREFUSED; -EPROTOTYPE for another type than s's; -EINVAL. */
int sock_unix_look_up(const struct sock *s, const struct sock_name *name, struct sock **found);

ssize_t sock_unix_send(struct sock *s, struct sock_msg *msg);
ssize_t sock_unix_recv(struct sock *s, struct sock_msg *msg);
size_t sock_unix_readable(struct sock *s);

#endif
