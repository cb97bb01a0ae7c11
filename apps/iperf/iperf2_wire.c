#include "apps/iperf/iperf2_wire.h"

#include <errno.h>
#include <string.h>

enum {
    VERSION_HI = 0x00020001, /* what we call ourselves: a 2.1 server */
    VERSION_LO = 0x00080003,
    VERSION_22 = 0x00020002, /* from here on ext has its last word */
    MICRO = 1000000,
};

static uint64_t wall_us(be32 sec, be32 usec)
{
    return (uint64_t)be32_get(sec) * MICRO + be32_get(usec) % MICRO;
}

static void put_wall(be32 *sec, be32 *usec, uint64_t us)
{
    *sec = be32_make((uint32_t)(us / MICRO));
    *usec = be32_make((uint32_t)(us % MICRO));
}

size_t iperf2_tcp_header_len(uint32_t flags)
{
    if (flags & IPERF2_BOUNCEBACK)
        return sizeof(struct iperf2_bounce);
    if (!(flags & ((uint32_t)IPERF2_VERSION1 | IPERF2_VERSION2 | IPERF2_EXTEND)))
        return 0;
    if (flags & IPERF2_LEN)
        return (flags & IPERF2_LEN_MASK) >> 1;
    size_t len = 0;
    if (flags & ((uint32_t)IPERF2_VERSION1 | IPERF2_EXTEND))
        len += sizeof(struct iperf2_base);
    if (flags & (IPERF2_VERSION2 | IPERF2_EXTEND))
        len += sizeof(struct iperf2_ext);
    return len;
}

/* The duration or amount that the sending side is asked for. */
static void decode_amount(uint32_t amount, struct iperf2_request *out)
{
    if (amount & 0x80000000u) {
        const uint64_t ticks = (uint64_t)(-(int64_t)(int32_t)amount);
        const uint64_t max_us = (uint64_t)IPERF2_DURATION_MAX_S * MICRO;
        out->duration_us = ticks * 10000 < max_us ? ticks * 10000 : max_us;
    } else {
        out->amount_bytes = amount;
    }
}

/* VERSION1 alone asks for the old two-way tests, unless `threads` only carries a transfer id. */
static enum iperf2_mode decode_mode(uint32_t flags, uint32_t threads, uint16_t upper)
{
    if (flags & IPERF2_VERSION2) {
        if (upper & IPERF2_UP_FULL_DUPLEX)
            return IPERF2_FULL_DUPLEX;
        if (upper & IPERF2_UP_REVERSE)
            return IPERF2_REVERSE;
        return IPERF2_RECEIVE;
    }
    if ((flags & (uint32_t)IPERF2_VERSION1) && !(threads & 0x80000000u))
        return flags & IPERF2_RUN_NOW ? IPERF2_DUALTEST : IPERF2_TRADEOFF;
    return IPERF2_RECEIVE;
}

static void decode_base(const struct iperf2_base *base, struct iperf2_request *out)
{
    out->back_port = (uint16_t)be32_get(base->port);
    out->buf_len = be32_get(base->buf_len);
    decode_amount(be32_get(base->amount), out);
}

static void decode_ext(const struct iperf2_ext *ext, struct iperf2_request *out)
{
    out->rate_bit_s = be32_get(ext->rate_lo) | (uint64_t)(be32_get(ext->rate_hi) >> 8) << 32;
    out->short_ext = be32_get(ext->version_hi) < VERSION_22;
    out->trip_times = be16_get(ext->upper) & IPERF2_UP_TRIP_TIMES;
}

static void decode_start(const struct iperf2_start *start, uint16_t upper,
                         struct iperf2_request *out)
{
    if (upper & IPERF2_UP_EPOCH_START)
        out->start_wall_us = wall_us(start->sec, start->usec);
    if (upper & IPERF2_UP_TRIP_TIMES)
        out->sent_wall_us = wall_us(start->sec, start->usec);
}

/* value · 10^6, saturating far below overflow. */
static uint64_t fixed_micro(be32 whole, be32 micro)
{
    return (uint64_t)be32_get(whole) * MICRO + be32_get(micro) % MICRO;
}

/* Bursts: how often and how long. Nonsense falls back to one a second of buf_len bytes. */
static void decode_isoch(const struct iperf2_isoch_settings *set, struct iperf2_request *out)
{
    const uint64_t fps_max = (uint64_t)IPERF2_FPS_MAX * MICRO;
    uint64_t fps_micro = fixed_micro(set->fps, set->fps_micro);
    if (fps_micro == 0)
        fps_micro = MICRO;
    if (fps_micro > fps_max)
        fps_micro = fps_max;
    const uint64_t period_us = (uint64_t)MICRO * MICRO / fps_micro;
    out->burst_period_us = period_us < UINT32_MAX ? (uint32_t)period_us : UINT32_MAX;

    if (out->pacing == IPERF2_PERIODIC) {
        out->burst_mean = be32_get(set->mean);
    } else {
        /* bit/s over bursts/s, in bytes; the variance is in (bit/s)². */
        out->burst_mean = (uint64_t)be32_get(set->mean) * MICRO / fps_micro / 8;
        const uint64_t root_micro = fps_micro / 1000 ? fps_micro / 1000 : 1;
        out->burst_variance =
            (uint64_t)be32_get(set->variance) * MICRO / root_micro / root_micro / 64;
    }
    if (out->burst_mean > IPERF2_BURST_MAX)
        out->burst_mean = IPERF2_BURST_MAX;
}

int iperf2_decode_tcp(const void *bytes, size_t len, struct iperf2_request *out)
{
    struct iperf2_tcp_header h = {0};
    memcpy(&h, bytes, size_min(len, sizeof(h)));
    *out = (struct iperf2_request){0};

    const uint32_t flags = be32_get(h.base.flags);
    const bool has_ext = flags & (IPERF2_EXTEND | IPERF2_VERSION2);
    /* Before version 2.2 ext ends without its last word. */
    if (len < (has_ext ? offsetof(struct iperf2_tcp_header, ext.barrier_us) : sizeof(h.base)))
        return -EPROTO;
    if (flags & IPERF2_KEY)
        return -EPERM;

    const uint16_t upper = has_ext ? be16_get(h.ext.upper) : 0;
    out->mode = decode_mode(flags, be32_get(h.base.threads), upper);
    out->want_ack =
        (!(flags & IPERF2_VERSION2) && (flags & IPERF2_EXTEND)) || (flags & IPERF2_PEERDETECT);
    decode_base(&h.base, out);
    decode_ext(&h.ext, out);
    if (len >= offsetof(struct iperf2_tcp_header, isoch))
        decode_start(&h.start, upper, out);
    if (upper & (IPERF2_UP_ISOCH | IPERF2_UP_PERIODIC_BURST)) {
        out->pacing = upper & IPERF2_UP_ISOCH ? IPERF2_ISOCHRONOUS : IPERF2_PERIODIC;
        decode_isoch(&h.isoch, out);
    }
    return 0;
}

/*
 * Did a client of iperf's write this header? Anybody's datagram is a test of receiving, but one that makes us send is an
 * amplifier, so that takes a header without contradictions: random bytes pass once in 2^47.
 */
static bool is_clients_own(const struct iperf2_udp_header *h)
{
    const bool has_ext = be32_get(h->base.flags) & (IPERF2_EXTEND | IPERF2_VERSION2);

    return be32_get(h->base.port) <= UINT16_MAX && be32_get(h->base.buf_len) <= IPERF2_UDP_MAX &&
           (!has_ext || be32_get(h->ext.version_hi) >> 16 == VERSION_HI >> 16);
}

int iperf2_decode_udp(const void *bytes, size_t len, struct iperf2_request *out)
{
    struct iperf2_udp_header h = {0};
    memcpy(&h, bytes, size_min(len, sizeof(h)));
    *out = (struct iperf2_request){0};
    if (len < sizeof(h.datagram))
        return -EPROTO;
    if (len < offsetof(struct iperf2_udp_header, base.threads))
        return 0;

    const uint32_t flags = be32_get(h.base.flags);
    if (flags & IPERF2_SMALL_TRIP_TIMES && !(flags & IPERF2_EXTEND)) {
        out->trip_times = true;
        return 0;
    }
    if (!(flags & ((uint32_t)IPERF2_VERSION1 | IPERF2_VERSION2 | IPERF2_EXTEND)))
        return 0;
    /* A header cut off by a short -l: only the test's first datagram has all of it. */
    if (len < offsetof(struct iperf2_udp_header, ext.barrier_us) || !is_clients_own(&h))
        return 0;

    const uint16_t upper = flags & (IPERF2_EXTEND | IPERF2_VERSION2) ? be16_get(h.ext.upper) : 0;
    out->mode = decode_mode(flags, be32_get(h.base.threads), upper);
    decode_base(&h.base, out);
    decode_ext(&h.ext, out);
    out->no_udp_fin = upper & IPERF2_UP_NO_UDP_FIN;
    out->no_l2_check = upper & IPERF2_UP_L2_CHECK;
    out->no_l4s = upper & IPERF2_UP_L4S;
    if (len >= offsetof(struct iperf2_udp_header, settings))
        decode_start(&h.start, upper, out);
    if (upper & IPERF2_UP_ISOCH) {
        out->pacing = IPERF2_ISOCHRONOUS;
        decode_isoch(&h.settings, out);
    }
    return 0;
}

int64_t iperf2_datagram_id(const void *bytes, size_t len)
{
    struct iperf2_datagram d;
    memcpy(&d, bytes, sizeof(d));
    if (len >= sizeof(d) + sizeof(be32)) {
        be32 flags;
        memcpy(&flags, (const uint8_t *)bytes + sizeof(d), sizeof(flags));
        const uint32_t f = be32_get(flags);
        if ((f & IPERF2_EXTEND) && !(f & IPERF2_SEQ64))
            return (int32_t)be32_get(d.id_lo);
    }
    return (int64_t)((uint64_t)be32_get(d.id_hi) << 32 | be32_get(d.id_lo));
}

uint64_t iperf2_datagram_sent_us(const void *bytes)
{
    struct iperf2_datagram d;
    memcpy(&d, bytes, sizeof(d));
    return wall_us(d.sec, d.usec);
}

void iperf2_datagram_put(struct iperf2_datagram *d, int64_t id, uint64_t now_us)
{
    d->id_lo = be32_make((uint32_t)(uint64_t)id);
    d->id_hi = be32_make((uint32_t)((uint64_t)id >> 32));
    put_wall(&d->sec, &d->usec, now_us);
}

size_t iperf2_encode_ack(struct iperf2_ack *out, const struct iperf2_request *req,
                         uint64_t arrived_us, uint64_t now_us)
{
    const size_t len = req->trip_times ? sizeof(*out) : offsetof(struct iperf2_ack, sent_sec);
    *out = (struct iperf2_ack){
        .type = be32_make(IPERF2_ACK_TYPE),
        .length = be32_make((uint32_t)len),
        .version_hi = be32_make(VERSION_HI),
        .version_lo = be32_make(VERSION_LO),
    };
    put_wall(&out->sent_sec, &out->sent_usec, req->sent_wall_us);
    put_wall(&out->recv_sec, &out->recv_usec, arrived_us);
    put_wall(&out->ack_sec, &out->ack_usec, now_us);
    return len;
}

static void encode_ext(struct iperf2_ext *ext)
{
    ext->version_hi = be32_make(VERSION_HI);
    ext->version_lo = be32_make(VERSION_LO);
}

void iperf2_encode_first(struct iperf2_tcp_header *out, const struct iperf2_request *req,
                         uint64_t now_us)
{
    const uint16_t upper = req->trip_times ? IPERF2_UP_TRIP_TIMES : 0;
    *out = (struct iperf2_tcp_header){0};
    out->base.flags =
        be32_make((uint32_t)IPERF2_EXTEND | IPERF2_LEN | (uint32_t)(sizeof(*out) << 1));
    encode_ext(&out->ext);
    out->ext.upper = be16_make(upper);
    put_wall(&out->start.sec, &out->start.usec, now_us);
}

void iperf2_encode_first_udp(struct iperf2_udp_header *out, const struct iperf2_request *req,
                             uint64_t now_us)
{
    *out = (struct iperf2_udp_header){0};
    out->base.flags = be32_make((uint32_t)IPERF2_EXTEND | IPERF2_SEQ64);
    encode_ext(&out->ext);
    out->ext.upper = be16_make(req->trip_times ? IPERF2_UP_TRIP_TIMES : 0);
    put_wall(&out->start.sec, &out->start.usec, now_us);
}

void iperf2_encode_burst(struct iperf2_burst *out, const struct iperf2_burst_facts *facts)
{
    *out = (struct iperf2_burst){
        .period_us = be32_make(facts->period_us),
        .id = be32_make(facts->id),
        .size = be32_make(facts->size),
        .seq_lo = be32_make((uint32_t)facts->seq),
        .seq_hi = be32_make((uint32_t)(facts->seq >> 32)),
    };
    put_wall(&out->start_sec, &out->start_usec, facts->start_us);
    put_wall(&out->write_sec, &out->write_usec, facts->now_us);
}

int iperf2_decode_bounce(const void *bytes, size_t len, struct iperf2_bounce_request *out)
{
    struct iperf2_bounce b = {0};
    if (len < IPERF2_BOUNCE_MIN)
        return -EPROTO;
    memcpy(&b, bytes, size_min(len, sizeof(b)));
    const uint16_t flags = be16_get(b.bounce_flags);
    out->size = be32_get(b.size);
    out->reply_size = out->size;
    if (flags & IPERF2_BB_REPLY_SIZE && len >= sizeof(b))
        out->reply_size = be32_get(b.reply_size);
    out->hold_us = be32_get(b.hold_us);
    if (out->hold_us > IPERF2_HOLD_MAX_US)
        out->hold_us = IPERF2_HOLD_MAX_US;
    out->stop = flags & IPERF2_BB_STOP;
    if (out->size < IPERF2_BOUNCE_MIN || out->size > IPERF2_BOUNCE_MAX ||
        out->reply_size < IPERF2_BOUNCE_MIN || out->reply_size > IPERF2_BOUNCE_MAX)
        return -EPROTO;
    return 0;
}
