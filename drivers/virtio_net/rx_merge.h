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

/*
 * Look at the next completed buffer. Reads the header of a first piece, once.
 *
 *   piece  start of the buffer, 4-byte aligned, at least 12 bytes long; borrowed
 *   len    bytes that the device has written there
 *
 * Returns RX_KEEP; else the buffer isn't wanted: RX_SKIP, or why a frame was just lost (count it).
 */
enum rx_drop rx_merge_look(struct rx_merge *m, const void *piece, uint32_t len);

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

/* rx_merge_add() of a whole frame: true when *out holds it, false when it was lost for *drop. */
bool rx_merge_add_whole(struct rx_merge *m, struct frag *f, struct frame_in *out,
                        enum rx_drop *drop);

/* There is no memory for the piece just looked at: gives back what was joined. */
void rx_merge_abort(struct rx_merge *m);

/* Called at long intervals: an unfinished frame seen twice without a new piece is given up. True then. */
bool rx_merge_expire(struct rx_merge *m);

/* Give back an unfinished frame, if there is one. */
void rx_merge_close(struct rx_merge *m);

#endif
