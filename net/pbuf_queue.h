/*
 * Bytes that arrived and have not been read: a list of pbufs, read from the front.
 *
 * lwIP's own chains count in 16 bits, so the pbufs here are linked one by one and their tot_len is not kept.
 * Small segments that queue up are copied together: else a peer that sends single bytes would pin a whole
 * receive buffer with each of them.
 */
#ifndef NET_PBUF_QUEUE_H
#define NET_PBUF_QUEUE_H

#include "lib/types.h"
#include "lwip/pbuf.h"

enum {
    PBUFQ_JOIN_MAX = 512,   /* segments up to this size are joined when others wait already */
    PBUFQ_COLLECTOR = 4096, /* bytes of a pbuf that they are joined in */
};

struct pbuf_queue { /* all-zero is empty */
    struct pbuf *head, *tail;
    size_t bytes;       /* that can be read */
    size_t head_offset; /* bytes of head already read */
    size_t tail_room;   /* free bytes behind tail's data, when it is a collector */
};

/* Append a chain; takes it. */
void pbufq_put(struct pbuf_queue *q, struct pbuf *p);

/*
 * The contiguous bytes at `offset` from the front of the queue, at most max: *data points into the queue. To walk on,
 * ask again with a larger offset. Returns how many; 0 at the end.
 */
size_t pbufq_peek(const struct pbuf_queue *q, size_t offset, const void **data, size_t max);

/* Drop len bytes (≤ q->bytes) at the front; what is read up is freed. */
void pbufq_drop(struct pbuf_queue *q, size_t len);

void pbufq_clear(struct pbuf_queue *q);

#endif
