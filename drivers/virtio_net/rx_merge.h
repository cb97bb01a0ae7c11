/*
 * Join the buffers of one received frame; with MRG_RXBUF there may be several. virtio 1.2 §5.1.6.4.
 *
 * The state lives between polls, so pieces may arrive whenever they like. Each completed buffer goes
 * through three steps:
 *
 *     rx_merge_look()    may this buffer be kept? (the first one's header is read and checked here)
 *     rx_merge_add()     the caller found memory for it: join it
 *     rx_merge_abort()   … or found none: the frame is lost, its further pieces will be skipped
 *
 * No memory is taken here. Owns the frags of an unfinished frame.
 */
#ifndef DRIVERS_VIRTIO_NET_RX_MERGE_H
#define DRIVERS_VIRTIO_NET_RX_MERGE_H

#include "drivers/netdev.h"
#include "drivers/virtio_net/net_hdr.h"
#include "lib/page_frag.h"
#include "port/shared.h"

/* Why a received frame was not handed up. Each has a counter. */
enum rx_drop {
    RX_KEEP,
    RX_SKIP,           /* a further piece of a frame that is already lost: not counted again */
    RX_DROP_SHORT,     /* the buffer doesn't even hold the header */
    RX_DROP_COUNT,     /* num_buffers beyond the ring */
    RX_DROP_OFFLOAD,   /* header facts that can't be accepted */
    RX_DROP_PIECE,     /* a later piece is empty, or never came */
    RX_DROP_RUNT,      /* less than an Ethernet header */
    RX_DROP_OVERSIZE,  /* more than any frame may be */
    RX_DROP_NO_MEMORY, /* no replacement for its buffer */
    RX_DROP_REASONS
};

enum { RX_FRAME_MIN = 14, RX_FRAME_MAX = 65550 /* 65,536 of IP packet + Ethernet header */ };

struct rx_merge {
    /* set by rx_merge_init() */
    struct net_hdr_rules rules;
    uint16_t ring_size;
    uint8_t hdr_len; /* 10 or 12 */
    bool mrg;        /* num_buffers has a meaning */

    /* the unfinished frame */
    struct frag *head, *tail;
    uint32_t len;     /* bytes joined */
    uint16_t missing; /* pieces still to come; 0 = the next buffer starts a frame */
    bool lost;        /* skip them */
    bool waited;      /* rx_merge_expire() has seen this frame before */
    uint8_t strip;    /* bytes of the piece just looked at that are not the frame's */
    struct frame_offload offload;
};

void rx_merge_init(struct rx_merge *m, const struct net_hdr_rules *rules, uint8_t hdr_len, bool mrg,
                   uint16_t ring_size);

/* rx_merge_look() of a piece that isn't the first. */
enum rx_drop rx_merge_look_later(struct rx_merge *m, uint32_t len);

/* One read of each word: what is checked is what is used, whatever the device writes meanwhile. */
static inline struct virtio_net_hdr rx_merge_read_hdr(const void *piece)
{
    const le32 *words = piece;
    const uint32_t a = shared_load32(&words[0]);
    const uint32_t b = shared_load32(&words[1]);
    const uint32_t c = shared_load32(&words[2]);

    return (struct virtio_net_hdr){
        .flags = (uint8_t)a,
        .gso_type = (uint8_t)(a >> 8),
        .hdr_len = le16_make((uint16_t)(a >> 16)),
        .gso_size = le16_make((uint16_t)b),
        .csum_start = le16_make((uint16_t)(b >> 16)),
        .csum_offset = le16_make((uint16_t)c),
        .num_buffers = le16_make((uint16_t)(c >> 16)),
    };
}

/*
 * Look at the next completed buffer. Reads the header of a first piece, once.
 *
 *   piece  start of the buffer, 4-byte aligned, at least 12 bytes long; borrowed
 *   len    bytes that the device has written there
 *
 * Returns RX_KEEP; else the buffer isn't wanted: RX_SKIP, or why a frame was just lost (count it).
 */
static inline enum rx_drop rx_merge_look(struct rx_merge *m, const void *piece, uint32_t len)
{
    if (m->missing)
        return rx_merge_look_later(m, len);
    if (len < m->hdr_len)
        return RX_DROP_SHORT;
    const struct virtio_net_hdr hdr = rx_merge_read_hdr(piece);
    uint16_t pieces = 1;

    if (m->mrg && le16_get(hdr.num_buffers) > 1) { /* 0 means 1: there is at least this one */
        pieces = le16_get(hdr.num_buffers);
        if (pieces > m->ring_size)
            return RX_DROP_COUNT; /* no telling where the next frame starts: try the next buffer */
    }
    m->missing = pieces;
    m->strip = m->hdr_len;
    m->waited = m->lost = false;
    if (net_hdr_read(&m->rules, &hdr, &m->offload))
        return RX_KEEP;
    m->missing--;
    m->lost = true;
    return RX_DROP_OFFLOAD;
}

/*
 * Join the piece just looked at; f->data and f->len say where the frame's bytes are: m->strip bytes in front
 * of the first piece are header. Takes f.
 *
 * Returns true when the frame is complete: either *drop is RX_KEEP and *out holds the frame, which is the
 * caller's, or it was lost for the reason in *drop.
 */
bool rx_merge_add(struct rx_merge *m, struct frag *f, struct frame_in *out, enum rx_drop *drop);

/* True when the piece just looked at is a whole frame. It may go the short way then: */
static inline bool rx_merge_is_whole(const struct rx_merge *m)
{
    return m->missing == 1 && m->strip;
}

/* What is wrong with a complete frame of this length, if anything. */
static inline enum rx_drop rx_merge_check(const struct frame_offload *offload, uint32_t len)
{
    if (len < RX_FRAME_MIN)
        return RX_DROP_RUNT;
    if (len > RX_FRAME_MAX)
        return RX_DROP_OVERSIZE;
    return net_hdr_fits(offload, len) ? RX_KEEP : RX_DROP_OFFLOAD;
}

/* rx_merge_add() of a whole frame: true when *out holds it, false when it was lost for *drop. */
static inline bool rx_merge_add_whole(struct rx_merge *m, struct frag *f, struct frame_in *out,
                                      enum rx_drop *drop)
{
    m->missing = 0;
    *drop = rx_merge_check(&m->offload, f->len);
    if (*drop != RX_KEEP) {
        frag_give(f);
        return false;
    }
    *out = (struct frame_in){f, f->len, m->offload};
    return true;
}

/* There is no memory for the piece just looked at: gives back what was joined. */
void rx_merge_abort(struct rx_merge *m);

/* Called at long intervals: an unfinished frame seen twice without a new piece is given up. True then. */
bool rx_merge_expire(struct rx_merge *m);

/* Give back an unfinished frame, if there is one. */
void rx_merge_close(struct rx_merge *m);

#endif
