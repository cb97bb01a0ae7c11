/*
 * The packed ring behind virtqueue.h: what virtqueue.c does otherwise once RING_PACKED was accepted.
 *
 * virtio 1.2 §2.8. Not for drivers: they call vq_*(). The records are the split ring's: `chains` by buffer id instead of by
 * descriptor, `free_head` the next id, `free_count` slots of the ring, `avail_idx` and `used_idx` chains posted and taken.
 * Indirect tables aren't used: a chain of many pieces takes as many slots.
 *
 * Poll loop only. Nobody here asks whether the queue is broken: virtqueue.c has.
 */
#ifndef DRIVERS_VIRTIO_VQ_PACKED_H
#define DRIVERS_VIRTIO_VQ_PACKED_H

#include "drivers/virtio/virtqueue.h"
#include "drivers/virtio/vring_packed.h"

/* Set up ring and words at `base`, zeroed and laid out by vring_packed_layout(), with fresh wrap counters; and the list of ids
 * in vq->chains. vq->size is set. */
void vq_packed_init(struct virtqueue *vq, uint8_t *base);

/* vq_post() of count = 1 … free_count segments. */
void vq_packed_post(struct virtqueue *vq, const struct vq_seg *segs, unsigned out_count,
                    unsigned count, void *cookie);

/* vq_take_batch(). *lie is set, once what was good has been taken, when the device lied. */
unsigned vq_packed_take(struct virtqueue *vq, struct vq_done *done, unsigned max, const char **lie);

bool vq_packed_pending(const struct virtqueue *vq);

/* Does the device want to hear of what was posted since the last such question? Behind barrier B. */
bool vq_packed_kick_wanted(struct virtqueue *vq);

/* … of anything that we haven't taken yet? */
bool vq_packed_kick_overdue(const struct virtqueue *vq);

/* vq_irq_enable(). The ring's events name slots, not buffers: for after > 1 the one is taken that lies there if all posted chains
 * are of one length. The answer speaks of the same slot. */
bool vq_packed_irq_enable(struct virtqueue *vq, uint16_t after);

void vq_packed_irq_disable(struct virtqueue *vq);

#endif
