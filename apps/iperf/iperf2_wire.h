/*
 * iperf 2's messages: what a client says it wants, and what a server answers.
 *
 * There is no specification; this was learnt from iperf 2.1.8 and 2.2.1 (their payloads.h, Listener and Settings)
 * and is written down here in our own words. Everything is big-endian.
 *
 * TCP. A client's first bytes are a header and count as test data. Its first word is `flags`; if it
 * holds IPERF2_LEN, bits 1…8 are the header's length in bytes, else the length follows from the flags.
 * No known flag at all (netcat, or a client run with -C) means: just data. Parts in order: base, ext, start,
 * isoch. An old version's ext lacks the last word, but has a spare one after it, so all offsets agree.
 *   plain             receive until the client's FIN, then close: the client waits for that
 *   ext, no VERSION2, or PEERDETECT: answer an iperf2_ack at once
 *   VERSION1          the old two-way tests: connect back to base.port and send, at once
 *                     (RUN_NOW, client's -d) or after the client's data has ended (-r)
 *   VERSION2          ext.upper says REVERSE (-R: only the server sends, on this connection) or FULL_DUPLEX
 *   BOUNCEBACK        the header is an iperf2_bounce instead, and the test is request and reply
 * A sending server ends with FIN once base.amount is done.
 *
 * UDP. Every datagram starts with iperf2_datagram; ids count from 1 and are signed 64-bit numbers (32-bit without
 * IPERF2_SEQ64 in the flags). A client repeats its header in every datagram long enough for it; the
 * first is always long enough. A negative id ends the test, its absolute value counts like any
 * other; it is repeated (each time one further) until the server's iperf2_report arrives.
 *
 * Bursts. With --trip-times, --isochronous and --burst-period a TCP stream is cut in bursts that
 * each begin with an iperf2_burst; burst.size counts that too. A receiving client believes it, so a sending
 * server must be exact.
 */
#ifndef APPS_IPERF_IPERF2_WIRE_H
#define APPS_IPERF_IPERF2_WIRE_H

#include "lib/types.h"

enum {
    IPERF2_PORT = 5001,
    IPERF2_HEADER_MAX = 256, /* bytes; the length field holds no more than 255 */
    IPERF2_UDP_MAX = 65507,  /* bytes of one datagram's payload (RFC 768, RFC 791) */
};

/* Word `flags`. */
enum iperf2_flags {
    IPERF2_VERSION1 = (int)0x80000000u,
    IPERF2_EXTEND = 0x40000000,
    IPERF2_UDP_TESTS = 0x20000000,
    IPERF2_KEY = 0x10000000, /* client brings a permit key; we have none, so it isn't for us */
    IPERF2_SEQ64 = 0x08000000,
    IPERF2_VERSION2 = 0x04000000,
    IPERF2_PEERDETECT = 0x02000000,
    IPERF2_BOUNCEBACK = 0x00800000,
    IPERF2_SMALL_TRIP_TIMES = 0x00020000, /* UDP: a header of four bytes less than the base */
    IPERF2_LEN = 0x00010000,
    IPERF2_LEN_MASK = 0x000001fe,
    IPERF2_RUN_NOW = 0x00000001,
};

/* ext.upper */
enum iperf2_upper {
    IPERF2_UP_ISOCH = 0x0001,
    IPERF2_UP_L2_CHECK = 0x0004,
    IPERF2_UP_NO_UDP_FIN = 0x0008,
    IPERF2_UP_TRIP_TIMES = 0x0010,
    IPERF2_UP_ISOCH_SETTINGS = 0x0040,
    IPERF2_UP_REVERSE = 0x0400,
    IPERF2_UP_FULL_DUPLEX = 0x0800,
    IPERF2_UP_EPOCH_START = 0x1000,
    IPERF2_UP_PERIODIC_BURST = 0x2000,
    IPERF2_UP_L4S = 0x2000, /* UDP's meaning of the same bit */
};

struct iperf2_datagram {
    be32 id_lo;
    be32 sec, usec; /* when it was sent, sender's wall clock */
    be32 id_hi;
};
static_assert(sizeof(struct iperf2_datagram) == 16, "not 12: the report starts behind it");

struct iperf2_base {
    be32 flags;
    be32 threads;
    be32 port;     /* VERSION1: where the client listens */
    be32 buf_len;  /* bytes of a write or datagram; 0 = default */
    be32 win_band; /* unused */
    be32 amount;   /* < 0: minus the duration in 10 ms; else bytes, 31 bits */
};
struct iperf2_ext {
    be32 type, length; /* unused */
    be16 upper, lower;
    be32 version_hi, version_lo;
    be16 reserved, tos;
    be32 rate_lo, rate_hi; /* bit/s for the sending server; rate_hi is shifted left by 8 */
    be32 prefetch;
    be32 barrier_us;
};
struct iperf2_start {
    be32 sec, usec; /* TRIP_TIMES: first send; EPOCH_START: when to begin; wall clock */
    be32 fq_lo, fq_hi;
};
/* Fixed point: whole part and millionths. */
struct iperf2_isoch_settings {
    be32 fps, fps_micro;   /* bursts a second */
    be32 mean, mean_micro; /* bit/s; with PERIODIC_BURST: bytes of a burst */
    be32 variance, variance_micro;
    be32 ipg, ipg_micro; /* ms between the datagrams of a burst */
};
struct iperf2_tcp_header {
    struct iperf2_base base;
    struct iperf2_ext ext;
    struct iperf2_start start;
    struct iperf2_isoch_settings isoch;
};
static_assert(offsetof(struct iperf2_tcp_header, ext) == 24, "payloads.h");
static_assert(offsetof(struct iperf2_tcp_header, ext.upper) == 32, "payloads.h");
static_assert(offsetof(struct iperf2_tcp_header, ext.rate_lo) == 48, "payloads.h");
static_assert(offsetof(struct iperf2_tcp_header, start) == 64, "payloads.h");
static_assert(offsetof(struct iperf2_tcp_header, isoch) == 80, "payloads.h");
static_assert(sizeof(struct iperf2_tcp_header) == 112, "payloads.h");

struct iperf2_isoch {
    be32 period_us;
    be32 start_sec, start_usec;
    be32 prev_frame, frame; /* the burst's number, from 1 */
    be32 size, remaining;   /* bytes of the burst; and of it from this datagram on */
    be32 reserved;
};
struct iperf2_udp_header {
    struct iperf2_datagram datagram;
    struct iperf2_base base;
    struct iperf2_ext ext;
    struct iperf2_isoch isoch; /* four bytes earlier before version 2.2: ext was shorter */
    struct iperf2_start start;
    struct iperf2_isoch_settings settings;
};
static_assert(offsetof(struct iperf2_udp_header, base) == 16, "payloads.h");
static_assert(offsetof(struct iperf2_udp_header, ext) == 40, "payloads.h");
static_assert(offsetof(struct iperf2_udp_header, isoch) == 80, "payloads.h");
static_assert(offsetof(struct iperf2_udp_header, start) == 112, "payloads.h");
static_assert(offsetof(struct iperf2_udp_header, settings) == 128, "payloads.h");

struct iperf2_ack {
    be32 type, length; /* type 2; length counts the whole message */
    be32 flags;
    be32 version_hi, version_lo;
    be32 reserved[2];
    /* Only with trip times: */
    be32 sent_sec, sent_usec; /* from the client's header */
    be32 recv_sec, recv_usec; /* when that arrived */
    be32 ack_sec, ack_usec;
};
static_assert(offsetof(struct iperf2_ack, sent_sec) == 28, "payloads.h");
static_assert(sizeof(struct iperf2_ack) == 52, "payloads.h");
enum { IPERF2_ACK_TYPE = 2 };

struct iperf2_report {
    struct iperf2_datagram datagram; /* nothing in it is read */
    be32 flags;                      /* VERSION1, SEQ64, EXTEND when the transit fields count */
    be32 bytes_hi, bytes_lo;
    be32 stop_sec, stop_usec; /* duration */
    be32 lost, out_of_order, datagrams;
    be32 jitter_sec, jitter_usec;
    /* Seconds and millionths each. */
    be32 min_transit[2], max_transit[2], sum_transit[2], mean_transit[2], m2_transit[2],
        vd_transit[2];
    be32 transit_count;
    be32 packets_per_sec, ipg_sum; /* ipg_sum 1: so that the client's quotient is packets_per_sec */
    be32 lost_hi, out_of_order_hi, datagrams_hi;
};
static_assert(offsetof(struct iperf2_report, flags) == 16, "payloads.h");
static_assert(offsetof(struct iperf2_report, min_transit) == 56, "payloads.h");
static_assert(offsetof(struct iperf2_report, lost_hi) == 116, "payloads.h");
static_assert(sizeof(struct iperf2_report) == 128, "payloads.h");

struct iperf2_burst {
    be32 flags;
    be32 type, length;
    be32 start_sec, start_usec; /* of the whole test */
    be32 write_sec, write_usec; /* of this burst */
    be32 read_sec, read_usec;
    be32 reserved0;
    be32 period_us;
    be32 id;   /* from 1 */
    be32 size; /* bytes, this header included; never 0 */
    be32 seq_lo, seq_hi;
    be32 ack[4];
    be32 reserved1[4];
};
static_assert(offsetof(struct iperf2_burst, write_sec) == 20, "payloads.h");
static_assert(offsetof(struct iperf2_burst, size) == 48, "payloads.h");
static_assert(sizeof(struct iperf2_burst) == 92, "payloads.h");

struct iperf2_bounce {
    be32 flags;
    be32 size; /* bytes of a request, this header included */
    be32 id;
    be16 bounce_flags, tos;
    be32 run_time;
    be32 client_sec, client_usec;
    be32 recv_sec, recv_usec;
    be32 send_sec, send_usec;
    be32 hold_us; /* server's pause between request and reply */
    be32 rtt;
    be32 read_sec, read_usec;
    be32 reply_size; /* only with IPERF2_BB_REPLY_SIZE, since 2.2 */
};
static_assert(offsetof(struct iperf2_bounce, recv_sec) == 28, "payloads.h");
static_assert(offsetof(struct iperf2_bounce, hold_us) == 44, "payloads.h");
static_assert(sizeof(struct iperf2_bounce) == 64, "payloads.h");
enum {
    IPERF2_BB_STOP = 0x1000,
    IPERF2_BB_REPLY_SIZE = 0x0800,
    IPERF2_BOUNCE_MIN = 48, /* bytes up to and with hold_us */
};

/* Limits on what we believe. Larger values are cut down to them, and the test goes on. */
enum {
    IPERF2_DURATION_MAX_S = 24 * 60 * 60,
    IPERF2_BURST_MAX = 64 << 20,  /* bytes */
    IPERF2_BOUNCE_MAX = 16 << 20, /* bytes */
    IPERF2_HOLD_MAX_US = 10 * 1000 * 1000,
    IPERF2_START_DELAY_MAX_S = 3600,
    IPERF2_FPS_MAX = 10000,
};

enum iperf2_mode {
    IPERF2_RECEIVE,
    IPERF2_REVERSE,
    IPERF2_FULL_DUPLEX,
    IPERF2_DUALTEST, /* send back on a connection of our own, at once */
    IPERF2_TRADEOFF, /* the same, when the client's data has ended */
};
enum iperf2_pacing { IPERF2_STREAM, IPERF2_ISOCHRONOUS, IPERF2_PERIODIC };

/* A client's wishes, checked and in host order. */
struct iperf2_request {
    enum iperf2_mode mode;
    enum iperf2_pacing pacing;
    bool want_ack;
    bool trip_times;
    bool no_udp_fin;
    bool no_l2_check; /* asked for a check of frame lengths that we don't do; the rest works */
    bool no_l4s;      /* asked for congestion feedback that we don't give; the rest works */
    bool short_ext;   /* before 2.2: isoch lies four bytes earlier in UDP */
    uint16_t back_port;
    uint32_t buf_len;         /* 0 = default */
    uint64_t duration_us;     /* 0: by amount */
    uint64_t amount_bytes;    /* 0 with duration_us */
    uint64_t rate_bit_s;      /* 0: as fast as it goes */
    uint64_t start_wall_us;   /* EPOCH_START, else 0 */
    uint64_t sent_wall_us;    /* TRIP_TIMES: the client's clock at its first send, else 0 */
    uint32_t burst_period_us; /* with pacing */
    uint64_t burst_mean;      /* bytes; a burst's mean size, 0 = buf_len */
    uint64_t burst_variance;  /* bytes squared */
};

/* The whole header's length in bytes that a TCP client's first word promises: 0 = it is data. */
size_t iperf2_tcp_header_len(uint32_t flags);

/*
 * Read a TCP header. `len` is what iperf2_tcp_header_len() said.
 * Returns 0; -EPERM for a client with a permit key; -EPROTO when the header is too short for its own flags.
 */
int iperf2_decode_tcp(const void *bytes, size_t len, struct iperf2_request *out);

/*
 * Read the start of a UDP test's first datagram (any id); `len` bytes of it are there, more than a
 * header's worth is ignored. A datagram without a header, or with one that no client writes, is a plain receive test.
 * Returns 0 or -EPROTO.
 */
int iperf2_decode_udp(const void *bytes, size_t len, struct iperf2_request *out);

/* A datagram's id as a signed number. len ≥ 16. 32-bit ids are recognised when `len` holds flags that say so. */
int64_t iperf2_datagram_id(const void *bytes, size_t len);
uint64_t iperf2_datagram_sent_us(const void *bytes);
void iperf2_datagram_put(struct iperf2_datagram *d, int64_t id, uint64_t wall_us);

/* Returns the message's length. arrived_us, now_us: wall clock. */
size_t iperf2_encode_ack(struct iperf2_ack *out, const struct iperf2_request *req,
                         uint64_t arrived_us, uint64_t now_us);

/* The header a sending server puts in front when the client expects bursts or trip times. */
void iperf2_encode_first(struct iperf2_tcp_header *out, const struct iperf2_request *req,
                         uint64_t now_us);
void iperf2_encode_first_udp(struct iperf2_udp_header *out, const struct iperf2_request *req,
                             uint64_t now_us);

struct iperf2_burst_facts {
    uint64_t start_us, now_us; /* wall clock */
    uint32_t period_us, id, size;
    uint64_t seq; /* bytes up to this burst's end */
};
void iperf2_encode_burst(struct iperf2_burst *out, const struct iperf2_burst_facts *facts);

/* A bounce request's first IPERF2_BOUNCE_MIN or more bytes. */
struct iperf2_bounce_request {
    uint32_t size, reply_size; /* bytes, ≥ IPERF2_BOUNCE_MIN, ≤ IPERF2_BOUNCE_MAX */
    uint32_t hold_us;
    bool stop;
};
int iperf2_decode_bounce(const void *bytes, size_t len, struct iperf2_bounce_request *out);

#endif
