/*
 * What the files of the socket layer share: struct sock and the operations of its kinds.
 *
 * A socket outlives its lwIP control block: a reset or a finished connection takes the block away, and s->pcb
 * becomes NULL. The other way round, a closed socket leaves its block to lwIP with every callback taken off, and
 * lwIP sends what is unsent, the FIN, and frees it.
 */
#ifndef NET_SOCK_IMPL_H
#define NET_SOCK_IMPL_H

#include <fcntl.h>
#include <sys/socket.h>

#include "lib/fd.h"
#include "lib/page_frag.h"
#include "lib/types.h"
#include "lwip/ip_addr.h"
#include "net/pbuf_queue.h"

enum {
    SOCK_DGRAM_BUF = 212992, /* SO_RCVBUF of datagrams: bytes that may wait, overhead included */
    SOCK_DGRAM_OVERHEAD_BYTES = 512, /* counted with each: its buffer isn't smaller */
    SOCK_BUF_MIN = 64 * 1024, /* bytes each way that a connection gets however many there are … */
    SOCK_BUF_SCANT = 8 * 1024, /* … unless memory is nearly gone */
    SOCK_TTL_DEFAULT = 64,
    SOCK_KEEP_IDLE_S = 7200, /* RFC 9293 §3.8.4: no sooner, unless asked */
    SOCK_KEEP_INTERVAL_S = 75,
    SOCK_KEEP_COUNT = 9,
    SOCK_DGRAM_MAX = 65507, /* UDP over IPv4: 65,535 − 20 − 8 */
};

struct tcp_pcb;
struct udp_pcb;
struct raw_pcb;
struct unix_end;
struct sock;

struct sock_name {
    ip_addr_t ip;
    u16_t port;        /* host order */
    socklen_t raw_len; /* AF_UNIX: the address as it is, in somebody else's memory; 0: unnamed */
    const void *raw;
};

/* One message on its way, in either direction. */
struct sock_msg {
    struct iov_pos pos;
    size_t len; /* bytes in the iovecs */
    int flags;  /* MSG_* from the caller */
    bool nonblock;
    uint64_t deadline_us;
    const struct sock_name *to; /* sending: NULL = the connected peer */
    struct sock_name from, dst; /* receiving: filled for datagrams */
    int flags_out;              /* receiving: MSG_TRUNC */
    /* What control data says. Sending: only with has_control; the address to send from (any: as always), … */
    bool has_control, has_tos;
    ip_addr_t src;
    uint8_t netif_idx; /* … where it goes out (0: as routed). Receiving: where it came in */
    uint8_t ttl, tos;  /* sending: ttl 0 is the socket's own */
};

/* What a kind of socket can do. All but the first two may wait. */
struct sock_ops {
    unsigned (*poll)(struct sock *s);
    size_t (*readable)(struct sock *s); /* FIONREAD */
    int (*bind)(struct sock *s, const struct sock_name *name);
    int (*connect)(struct sock *s, const struct sock_name *peer, bool nonblock);
    int (*listen)(struct sock *s, int backlog);
    int (*accept)(struct sock *s, struct sock **conn, bool nonblock);
    int (*shutdown)(struct sock *s, int how);
    ssize_t (*send)(struct sock *s, struct sock_msg *msg);
    ssize_t (*recv)(struct sock *s, struct sock_msg *msg);
    int (*close)(struct sock *s);  /* lets go of the pcb and of what is queued */
    void (*apply)(struct sock *s); /* s->opt has changed, or the pcb is new: carry it over */
    /* The options of its own level; NULL: none. [ENOPROTOOPT] */
    int (*setopt)(struct sock *s, int name, const void *value, socklen_t len);
    int (*getopt)(struct sock *s, int name, void *value, socklen_t *len);
};

enum sock_state {
    SOCK_IDLE, /* fresh, perhaps bound */
    SOCK_LISTENING,
    SOCK_CONNECTING,
    SOCK_CONNECTED, /* and stays so while either direction is open */
    SOCK_DEAD,      /* reset, timed out, or both directions done */
};

struct sock_options {
    bool reuse_addr, reuse_port, keepalive, broadcast, v6only;
    bool nodelay, cork;
    bool oob_inline; /* kept for getsockopt: urgent data always is inline here */
    bool pktinfo4, recv_ttl4, recv_tos4, pktinfo6, recv_hops6, recv_tclass6;
    bool mcast_loop;
    /* kept for getsockopt: errors aren't queued, any group comes, addresses and ports are what bind() makes them */
    bool recv_err, mcast_all, free_bind, late_port;
    bool linger;
    uint32_t linger_s;
    uint32_t keep_idle_s, keep_interval_s, keep_count;
    uint64_t recv_timeout_us, send_timeout_us; /* 0: none */
    uint32_t user_timeout_ms;                  /* 0: lwIP's count of retransmissions decides */
    int recv_lowat;                            /* bytes that make a stream readable */
    uint16_t mss_max;                          /* TCP_MAXSEG; 0: the interface's */
    uint8_t tos, ttl, mcast_ttl, priority;
    uint8_t mtu_discover; /* IP_PMTUDISC_…: with DO, what would be fragmented is refused */
    uint8_t device_idx, mcast_if;    /* interfaces; 0: any */
    uint8_t defer_accept, syn_count; /* kept for getsockopt */
};

struct sock {
    struct file file; /* first: an open descriptor points here */
    const struct sock_ops *ops;
    enum sock_state state;
    uint8_t family; /* AF_INET, AF_INET6, AF_UNIX */
    uint8_t type;   /* SOCK_STREAM, SOCK_DGRAM, SOCK_RAW, SOCK_SEQPACKET */
    uint8_t protocol;
    bool bound;
    bool read_shut, write_shut;   /* by us */
    bool read_eof;                /* by the peer's FIN */
    int error;                    /* positive errno for SO_ERROR and the next call; 0 none */
    struct sock_name local, peer; /* what getsockname and getpeername say, also after the pcb */
    struct sock_options opt;
    union {
        struct tcp_pcb *tcp;
        struct udp_pcb *udp;
        struct raw_pcb *raw;
        struct unix_end *local;
    } pcb;
    size_t recv_limit,
        recv_max; /* SO_RCVBUF as getsockopt() tells it, and what it may be raised to */
    size_t send_limit, send_max; /* SO_SNDBUF */

    /* streams */
    struct pbuf_queue recv_queue;
    size_t window_target;  /* receive window and queue together; grows with what is read */
    size_t window_held;    /* read, but not given back to the peer as window */
    bool send_starved;     /* lwIP had no memory: not writable until its poll timer tells */
    bool connect_reported; /* the connect() that began it, or one after it, has told the result */
    struct sock *listener; /* whose accept queue this stands in */
    struct sock *accept_head, *accept_tail, *accept_next;
    unsigned accept_count; /* waiting for accept() */
    uint8_t backlog;       /* listen()'s */

    /* what TCP_INFO tells; times in microseconds */
    uint32_t rtt_us, rtt_var_us, rtt_min_us; /* 0: not measured yet */
    uint32_t rtt_seq;                        /* acknowledged: the measurement is done */
    uint64_t rtt_sent_us;                    /* 0: none is running */
    unsigned rtt_rest;                       /* sends until the next one begins */
    uint32_t stuck_ack;      /* TCP_USER_TIMEOUT: the acknowledgement seen last, … */
    uint64_t stuck_since_us; /* … and when it came */

    /* datagrams */
    struct sock_group *groups;
    struct dgram *dgram_head, *dgram_tail;
    size_t dgram_bytes; /* accounted */
    uint64_t dgram_dropped;
};

extern const struct sock_ops sock_tcp_ops, sock_udp_ops, sock_raw_ops;

/* ---- sock_ioctl.c ---- */
int sock_ioctl(struct sock *s, unsigned long request, void *arg);

/* ---- sock_msg.c ---- */

/* A message of the caller's iovecs (borrowed), to or from whom s is connected to; deadline_us is left to the caller. */
void sock_msg_start(struct sock_msg *m, const struct sock *s, const struct iovec *iov,
                    size_t iov_count, int flags);

/* ---- sock.c ---- */

/* A new socket with one reference (its file's), or NULL without memory. FRAG_SMALL urgency: sockets can't take what
 * open connections need to go on. */
struct sock *sock_new(uint8_t family, uint8_t type, const struct sock_ops *ops);
void sock_free(struct sock *s);

/* The socket of a descriptor, referenced (file_put(&s->file)). Returns 0, -EBADF, -ENOTSOCK. */
int sock_get(int fd, struct sock **s);

/* Wait for any change of s. Returns 0, -EAGAIN when the deadline is over (SO_RCVTIMEO's error), -EINTR. */
int sock_wait(struct sock *s, uint64_t deadline_us);

/* Take the pending error: 0 or a negative errno. */
int sock_take_error(struct sock *s);

/* lwIP's err_t as a negative errno, or 0. */
int sock_errno(int8_t err);

static inline struct sock *sock_of_file(struct file *f)
{
    return CONTAINER_OF(f, struct sock, file);
}

static inline bool sock_nonblock(const struct sock *s)
{
    return s->file.flags & O_NONBLOCK;
}

/* How many bytes of a stream SO_SNDBUF or SO_RCVBUF mean: half, as Linux counts overhead into them. */
static inline size_t sock_buffer_bytes(size_t limit)
{
    return limit / 2;
}

/* SO_SNDTIMEO and SO_RCVTIMEO as a time. */
uint64_t sock_deadline(uint64_t timeout_us);

#endif
