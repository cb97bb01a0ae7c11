/*
 * Sending: frames to the device, completions from it.
 *
 * Nobody waits for a transmit completion, so they are taken in passing: at every poll that finds some,
 * when the ring is full, and before the loop sleeps. Interrupts for them are off, except while the ring
 * is so full that somebody may be waiting for room (kvm-devel 2008-01; firecracker issue 1436).
 */
#include <errno.h>

#include "drivers/virtio_net/vnet.h"
#include "lib/check.h"
#include "lib/page_alloc.h"
#include "port/dma.h"

enum { REAP_BATCH = 32 }; /* completions taken at once: as many as fit a little stack */

/* Stands for every frame that asks for nothing: no need to write it each time. */
static const struct virtio_net_hdr plain_hdr;

static uint16_t quarter(const struct vnet_tx *tx)
{
    return tx->vq.size / 4 ? tx->vq.size / 4 : 1;
}

int vnet_tx_open(struct vnet *nic, uint16_t vector)
{
    struct vnet_tx *tx = &nic->tx;

    int err = vq_open(&tx->vq, nic->dev, VNET_TXQ, 0, NETDEV_PIECES_MAX + 1, vector);
    if (err)
        return err;
    tx->segs_max = tx->vq.chain_max;
    if (tx->segs_max < 2) { /* no room for header and frame */
        vq_close(&tx->vq, NULL, NULL);
        return -ENOTSUP;
    }
    tx->hdr_pages = size_round_up(tx->vq.size * sizeof(*tx->hdrs), PAGE_BYTES) / PAGE_BYTES;
    tx->hdrs = page_take(tx->hdr_pages);
    if (!tx->hdrs) {
        vq_close(&tx->vq, NULL, NULL);
        return -ENOMEM;
    }
    tx->rules = (struct net_hdr_rules){
        .csum = virtio_has(nic->dev, VNET_F_CSUM),
        .tso4 = virtio_has(nic->dev, VNET_F_HOST_TSO4),
        .tso6 = virtio_has(nic->dev, VNET_F_HOST_TSO6),
        .ecn = virtio_has(nic->dev, VNET_F_HOST_ECN),
    };
    return 0;
}

/* The pieces of a frame that will never be sent are free as well. */
static void report_sent(void *arg, void *cookie)
{
    struct vnet *nic = arg;

    nic->net.on_sent(nic->net.stack, cookie);
}

void vnet_tx_close(struct vnet *nic, bool give_back)
{
    struct vnet_tx *tx = &nic->tx;

    if (give_back)
        vq_close(&tx->vq, report_sent, nic);
    else
        vq_abandon(&tx->vq, report_sent, nic); /* it only reads them: garbage may leave, no more */
    if (tx->hdrs && give_back)
        page_give(tx->hdrs, tx->hdr_pages);
    tx->hdrs = NULL;
}

void vnet_tx_reap(struct vnet *nic)
{
    struct vq_done done[REAP_BATCH];
    unsigned count;

    while ((count = vq_take_batch(&nic->tx.vq, done, REAP_BATCH)) > 0) {
        nic->tx.done += count;
        for (unsigned i = 0; i < count; i++)
            nic->net.on_sent(nic->net.stack, done[i].cookie);
    }
}

void vnet_tx_wake(struct vnet *nic)
{
    struct vnet_tx *tx = &nic->tx;

    if (!tx->starved || tx->vq.free_count < quarter(tx))
        return;
    tx->starved = false;
    if (nic->net.on_room)
        nic->net.on_room(nic->net.stack);
}

/* The header of this frame, in memory that stays until the frame is sent: the slot of the chain's head. */
static inline const struct virtio_net_hdr *make_hdr(struct vnet_tx *tx,
                                                    const struct frame_offload *offload)
{
    if (offload->flags == 0 && offload->gso == FRAME_GSO_NONE)
        return &plain_hdr;
    struct virtio_net_hdr *hdr = &tx->hdrs[vq_next_head(&tx->vq)];

    return net_hdr_write(&tx->rules, offload, hdr) ? hdr : NULL;
}

/* Any chain, by way of a list: for a narrow ring. */
static __attribute__((noinline)) int post_listed(struct vnet *nic, const struct frame_out *frame,
                                                 const struct virtio_net_hdr *hdr)
{
    struct vq_seg segs[NETDEV_PIECES_MAX + 1];
    const unsigned count = (unsigned)frame->piece_count + 1;

    segs[0] = (struct vq_seg){dma_of(hdr), nic->hdr_len};
    for (unsigned i = 1; i < count; i++)
        segs[i] = (struct vq_seg){dma_of(frame->pieces[i - 1].addr), frame->pieces[i - 1].len};
    return vq_post(&nic->tx.vq, segs, count, 0, frame->cookie);
}

static inline void post_in_place(struct vnet *nic, const struct frame_out *frame,
                                 const struct virtio_net_hdr *hdr)
{
    struct virtqueue *vq = &nic->tx.vq;
    const unsigned pieces = (unsigned)frame->piece_count;
    struct vq_chain_writer w = vq_chain_begin(vq);

    vq_chain_add(vq, &w, dma_of(hdr), nic->hdr_len, 0);
    for (unsigned i = 0; i < pieces; i++)
        vq_chain_add(vq, &w, dma_of(frame->pieces[i].addr), frame->pieces[i].len, 0);
    vq_chain_end(vq, &w, pieces + 1, 0, frame->cookie);
}

static void count_frame(struct vnet_tx *tx, const struct frame_out *frame)
{
    tx->frames++;
    for (size_t i = 0; i < frame->piece_count; i++)
        tx->bytes += frame->pieces[i].len;
    if (frame->offload.flags) {
        tx->csum++;
        tx->gso += frame->offload.gso != FRAME_GSO_NONE;
    }
}

static inline int post_frame(struct vnet *nic, const struct frame_out *frame)
{
    struct vnet_tx *tx = &nic->tx;
    const unsigned count = (unsigned)frame->piece_count + 1;
    const struct virtio_net_hdr *hdr = make_hdr(tx, &frame->offload);

    if (!hdr)
        return -EINVAL;
    if (count <= tx->vq.free_count && vq_prefers_ring(&tx->vq, count)) {
        post_in_place(nic, frame, hdr);
    } else {
        const int err = post_listed(nic, frame, hdr);
        if (err)
            return err;
    }
    count_frame(tx, frame);
    return 0;
}

/* Full: whatever is done by now comes back at once; what isn't, the device should start on. */
static __attribute__((noinline)) int make_room(struct vnet *nic, const struct frame_out *frame)
{
    struct vnet_tx *tx = &nic->tx;

    vnet_tx_reap(nic);
    int err = post_frame(nic, frame);
    if (err == -EAGAIN) {
        vq_kick(&tx->vq);
        tx->full++;
        tx->starved = true;
    }
    return err;
}

/* The device is being reset: what is to be sent waits. */
static __attribute__((cold, noinline)) int refuse(struct vnet *nic)
{
    if (nic->net.broken)
        return -EIO;
    nic->tx.starved = true;
    return -EAGAIN;
}

int vnet_tx_send(struct netdev *net, const struct frame_out *frame)
{
    struct vnet *nic = vnet_of(net);
    struct vnet_tx *tx = &nic->tx;
    int err = -EINVAL;

    if (nic->recover.life != VNET_RUNNING || tx->vq.broken)
        return refuse(nic);
    ASSERT(frame->piece_count >= 1 && frame->cookie);
    if (frame->piece_count < tx->segs_max) {
        err = post_frame(nic, frame);
        if (err == -EAGAIN)
            err = make_room(nic, frame);
    }
    if (err == -EINVAL)
        tx->refused++;
    if (nic->opt.kick == OPT_KICK_EACH)
        vq_kick(&tx->vq);
    return err == -EPROTO ? refuse(nic) : err;
}

void vnet_tx_flush(struct netdev *net)
{
    struct vnet *nic = vnet_of(net);

    if (nic->recover.life == VNET_RUNNING)
        vq_kick(&nic->tx.vq);
}

/*
 * Before a sleep. An interrupt is asked for only when somebody is or may soon be waiting: after three
 * quarters of what is under way, so that one interrupt finds many. Returns true when room has come already.
 */
bool vnet_tx_arm(struct vnet *nic)
{
    struct vnet_tx *tx = &nic->tx;

    if (vq_pending(&tx->vq))
        vnet_tx_reap(nic);
    vq_kick_overdue(&tx->vq);
    const uint16_t posted = vq_posted_count(&tx->vq);

    if (tx->starved && tx->vq.free_count >= quarter(tx))
        return true; /* on_room() is due: poll() calls it */
    if (nic->opt.txirq == OPT_TXIRQ_EACH)
        return vq_irq_enable(&tx->vq, 1);
    if (!tx->starved && posted <= tx->vq.size / 2)
        return false;
    return vq_irq_enable(&tx->vq, (uint16_t)(posted - posted / 4));
}
