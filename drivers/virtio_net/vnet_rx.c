/*
 * Receiving: buffers to the device, frames from it.
 *
 * The ring is never left without buffers: a buffer goes up only when another took its place, or
 * its bytes were copied and it went back itself. Else the frame is dropped and its buffer posted again.
 * So nobody who holds received memory can make the NIC deaf, and a ring that could not be filled at start
 * only grows.
 */
#include <errno.h>
#include <string.h>

#include "drivers/virtio_net/vnet.h"
#include "lib/check.h"
#include "lib/log.h"
#include "lib/page_alloc.h"
#include "port/dma.h"

enum {
    /* Posted buffers may take this share of memory. */
    RING_SHARE = 4,
    /* A frame up to COPY_MID_BYTES in a buffer COPY_RATIO times as large is copied: the averages change,
     * but a 1,500-byte segment that nobody reads must not hold 64 KB. */
    COPY_MID_BYTES = 2048,
    COPY_RATIO = 8,
    AVERAGE_WEIGHT = 64,
    TAKE_BATCH = 16, /* completions taken at once */
};

/* ---- how large a buffer ------------------------------------------------------------------ */

static bool takes_large_frames(const struct vnet *nic)
{
    return virtio_has(nic->dev, VNET_F_GUEST_TSO4) || virtio_has(nic->dev, VNET_F_GUEST_TSO6);
}

/* Header, Ethernet header, one VLAN tag, MTU: a full frame in one buffer (netdev 2013-11). */
static uint32_t mtu_buffer(const struct vnet *nic)
{
    return nic->hdr_len + (uint32_t)VNET_ETHER_BYTES + VNET_VLAN_BYTES + nic->net.mtu;
}

/* Pages of a ring filled with buffers of that many bytes. */
static size_t ring_pages(uint16_t buffers, uint32_t bytes)
{
    return (size_t)buffers * (FRAG_HEAD_BYTES + frag_capacity_for(bytes)) / PAGE_BYTES;
}

/* The largest buffer that the moving average may ask for: a whole large frame where memory allows. */
static uint32_t largest_affordable(const struct vnet_rx *rx, uint32_t least)
{
    uint32_t bytes = VNET_BUF_TSO;

    while (bytes > least && ring_pages(rx->fill_goal, bytes) > page_total_count() / RING_SHARE)
        bytes /= 2;
    return bytes > least ? bytes : least;
}

static void choose_fixed(struct vnet_rx *rx, uint32_t bytes, uint32_t post_bytes)
{
    rx->buf_min = rx->buf_max = rx->buf_bytes = bytes;
    rx->post_bytes = post_bytes;
}

/* Several buffers may hold one frame: the user's strategy decides. */
static void choose_mergeable(struct vnet *nic)
{
    struct vnet_rx *rx = &nic->rx;
    const uint32_t mtu_bytes = mtu_buffer(nic);

    switch (nic->opt.rxbuf) {
    case OPT_RXBUF_PAGE:
        choose_fixed(rx, PAGE_BYTES, 0);
        return;
    case OPT_RXBUF_MTU:
        choose_fixed(rx, mtu_bytes, 0);
        return;
    case OPT_RXBUF_SPLIT: /* kept for measuring: the header was forgotten, a full frame takes two */
        choose_fixed(rx, VNET_ETHER_BYTES + (uint32_t)nic->net.mtu,
                     VNET_ETHER_BYTES + (uint32_t)nic->net.mtu);
        return;
    case OPT_RXBUF_BYTES:
        choose_fixed(rx, nic->opt.rxbuf_bytes, nic->opt.rxbuf_bytes);
        return;
    case OPT_RXBUF_AUTO:
        break;
    }
    choose_fixed(rx, mtu_bytes, 0);
    if (takes_large_frames(nic)) {
        const uint32_t least = (VNET_BUF_TSO + rx->fill_goal - 1u) / rx->fill_goal;
        if (least > mtu_bytes) /* a small ring must hold a large frame, too */
            choose_fixed(rx, least, 0);
        rx->buf_max = largest_affordable(rx, rx->buf_min);
    }
    rx->average_x64 = (mtu_bytes - nic->hdr_len) * AVERAGE_WEIGHT;
}

/* One buffer must hold any frame: §5.1.6.3.1 says how large, whatever the strategy. */
static void choose_whole(struct vnet *nic)
{
    const uint32_t least = takes_large_frames(nic) ? VNET_BUF_TSO : VNET_BUF_MIN;
    const uint32_t mtu_bytes = mtu_buffer(nic);

    choose_fixed(&nic->rx, least > mtu_bytes ? least : mtu_bytes, 0);
}

static void average_add(struct vnet_rx *rx, uint32_t len)
{
    rx->average_x64 += len - rx->average_x64 / AVERAGE_WEIGHT;
}

/* Follow the average. The size classes of page_frag are wide, so this changes rarely. */
static void adapt(struct vnet_rx *rx)
{
    if (rx->buf_min == rx->buf_max)
        return;
    const uint32_t want = rx->average_x64 / AVERAGE_WEIGHT + rx->merge.hdr_len;

    rx->buf_bytes = want < rx->buf_min ? rx->buf_min : want > rx->buf_max ? rx->buf_max : want;
}

/* ---- posting ----------------------------------------------------------------------------- */

/* Legacy framing: the header has a descriptor of its own, though both lie in one buffer. */
static __attribute__((noinline)) int post_split(struct vnet *nic, struct frag *f, uint32_t len)
{
    const dma_addr addr = dma_of(frag_start(f));
    const struct vq_seg segs[2] = {{addr, nic->hdr_len}, {addr + nic->hdr_len, len - nic->hdr_len}};

    return vq_post(&nic->rx.vq, segs, 0, 2, f);
}

/* Post into a slot that is known to be free. Only a queue that broke meanwhile refuses; then f is given back. */
static inline void post(struct vnet *nic, struct frag *f)
{
    struct vnet_rx *rx = &nic->rx;
    const uint32_t len = rx->post_bytes ? rx->post_bytes : frag_capacity(f);
    const int err = nic->split_hdr ? post_split(nic, f, len)
                                   : vq_post_in(&rx->vq, dma_of(frag_start(f)), len, f);
    if (__builtin_expect(err, 0)) {
        ASSERT(rx->vq.broken);
        frag_give(f);
    }
}

static __attribute__((noinline)) void post_again(struct vnet *nic, struct frag *f)
{
    post(nic, f);
}

static uint16_t descs_per_buffer(const struct vnet *nic)
{
    return nic->split_hdr ? 2 : 1;
}

/* How many buffers the ring should hold: all it can, but not more than memory bears. */
static void choose_fill(struct vnet *nic)
{
    struct vnet_rx *rx = &nic->rx;
    const size_t slots = rx->vq.size / descs_per_buffer(nic);
    const size_t bytes = FRAG_HEAD_BYTES + frag_capacity_for(rx->buf_bytes);
    const size_t affordable = page_total_count() / RING_SHARE * PAGE_BYTES / bytes;

    rx->fill_goal = (uint16_t)size_min(slots, size_max(affordable, 1));
}

static uint16_t posted_buffers(const struct vnet *nic)
{
    return vq_posted_count(&nic->rx.vq);
}

static bool fill(struct vnet *nic)
{
    struct vnet_rx *rx = &nic->rx;

    while (posted_buffers(nic) < rx->fill_goal) {
        struct frag *f = frag_take(rx->buf_bytes, FRAG_BULK);
        if (!f) {
            rx->refill_failures++;
            return false;
        }
        post_again(nic, f);
    }
    return true;
}

int vnet_rx_fill(struct vnet *nic)
{
    struct vnet_rx *rx = &nic->rx;

    fill(nic);
    if (posted_buffers(nic) == 0)
        return -ENOMEM;
    if (posted_buffers(nic) < rx->vq.size / descs_per_buffer(nic))
        log_info("vnet", "%s: little memory: %u receive buffers for a ring of %u", nic->net.name,
                 (unsigned)posted_buffers(nic), (unsigned)rx->vq.size);
    vq_kick(&rx->vq);
    return 0;
}

int vnet_rx_open(struct vnet *nic, uint16_t vector)
{
    struct vnet_rx *rx = &nic->rx;
    const bool mrg = virtio_has(nic->dev, VNET_F_MRG_RXBUF);
    const struct net_hdr_rules rules = {
        .csum = virtio_has(nic->dev, VNET_F_GUEST_CSUM),
        .tso4 = virtio_has(nic->dev, VNET_F_GUEST_TSO4),
        .tso6 = virtio_has(nic->dev, VNET_F_GUEST_TSO6),
        .ecn = virtio_has(nic->dev, VNET_F_GUEST_ECN),
    };

    int err = vq_open(&rx->vq, nic->dev, VNET_RXQ, 0, descs_per_buffer(nic), vector);
    if (err)
        return err;
    if (rx->vq.chain_max < descs_per_buffer(nic)) {
        vq_close(&rx->vq, NULL, NULL);
        return -ENOTSUP;
    }
    rx->fill_goal = (uint16_t)(rx->vq.size / descs_per_buffer(nic));
    if (mrg)
        choose_mergeable(nic);
    else
        choose_whole(nic);
    choose_fill(nic);
    rx_merge_init(&rx->merge, &rules, nic->hdr_len, mrg, rx->vq.size);
    return 0;
}

static void give(void *arg, void *cookie)
{
    (void)arg;
    frag_give(cookie);
}

void vnet_rx_close(struct vnet *nic, bool give_back)
{
    rx_merge_close(&nic->rx.merge);
    if (give_back)
        vq_close(&nic->rx.vq, give, NULL);
    else
        vq_abandon(&nic->rx.vq, NULL, NULL);
}

/* ---- taking ------------------------------------------------------------------------------ */

static bool worth_copying(const struct frag *buf, uint32_t len)
{
    return len <= VNET_COPY_BYTES ||
           (len <= COPY_MID_BYTES && len * COPY_RATIO <= frag_capacity(buf));
}

static struct frag *copy_piece(struct vnet_rx *rx, const uint8_t *from, uint32_t len)
{
    const enum frag_urgency urgency = len <= VNET_ACK_BYTES ? FRAG_ARRIVAL : FRAG_SMALL;
    struct frag *copy = frag_take(len ? len : 1, urgency);

    if (copy) {
        copy->len = len;
        memcpy(copy->data, from, len);
        rx->copied++;
    }
    return copy;
}

/*
 * Get the frame's bytes of a completed buffer off the ring, and leave a posted buffer behind.
 * NULL when there is no memory: then the buffer itself is posted again.
 */
static inline struct frag *detach(struct vnet *nic, struct frag *buf, uint32_t len)
{
    struct vnet_rx *rx = &nic->rx;
    uint8_t *const data = frag_start(buf) + rx->merge.strip;
    struct frag *keep, *back = buf;

    len -= rx->merge.strip;
    if (worth_copying(buf, len)) {
        keep = copy_piece(rx, data, len);
    } else {
        keep = frag_take(rx->buf_bytes, FRAG_BULK);
        if (keep) {
            back = keep;
            keep = buf;
            keep->data = data;
            keep->len = len;
        }
    }
    post(nic, back);
    return keep;
}

static inline void count_frame(struct vnet_rx *rx, const struct frame_in *frame)
{
    rx->frames++;
    rx->bytes += frame->len;
    if (frame->len > VNET_COPY_BYTES)
        average_add(rx, frame->len);
    if (frame->offload.flags) {
        rx->csum_partial += (frame->offload.flags & FRAME_CSUM_PARTIAL) != 0;
        rx->csum_valid += (frame->offload.flags & FRAME_CSUM_VALID) != 0;
        rx->gso += frame->offload.gso != FRAME_GSO_NONE;
    }
}

static __attribute__((cold, noinline)) void count_drop(struct vnet *nic, enum rx_drop why)
{
    static const char *const words[RX_DROP_REASONS] = {
        [RX_DROP_SHORT] = "shorter than its header",
        [RX_DROP_COUNT] = "more pieces announced than the ring has",
        [RX_DROP_OFFLOAD] = "offload facts that can't be accepted",
        [RX_DROP_PIECE] = "a piece is missing",
        [RX_DROP_RUNT] = "shorter than an Ethernet header",
        [RX_DROP_OVERSIZE] = "longer than any frame may be",
        [RX_DROP_NO_MEMORY] = "no memory for its replacement",
    };

    if (why == RX_SKIP)
        return;
    nic->rx.drops[why]++;
    uint32_t more;
    if (log_limit_pass(&nic->rx.drop_log[why], &more))
        log_warn("vnet", "%s: received frame dropped: %s (and %u before, unsaid)", nic->net.name,
                 words[why], (unsigned)more);
}

/* Join a piece; true when it completed a frame, now in *out. */
static bool add_piece(struct vnet_rx *rx, struct frag *f, struct frame_in *out, enum rx_drop *drop)
{
    if (!rx_merge_add(&rx->merge, f, out, drop) || *drop != RX_KEEP)
        return false;
    rx->merged++;
    return true;
}

/* One completed buffer. True when it completed a frame, now in *out. */
static inline bool take_buffer(struct vnet *nic, struct frag *buf, uint32_t len,
                               struct frame_in *out)
{
    struct vnet_rx *rx = &nic->rx;
    enum rx_drop drop = rx_merge_look(&rx->merge, frag_start(buf), len);
    bool complete;

    if (__builtin_expect(drop != RX_KEEP, 0)) {
        post_again(nic, buf);
        count_drop(nic, drop);
        return false;
    }
    struct frag *f = detach(nic, buf, len);
    if (__builtin_expect(!f, 0)) {
        rx_merge_abort(&rx->merge);
        count_drop(nic, RX_DROP_NO_MEMORY);
        return false;
    }
    if (rx_merge_is_whole(&rx->merge))
        complete = rx_merge_add_whole(&rx->merge, f, out, &drop);
    else
        complete = add_piece(rx, f, out, &drop);
    if (complete)
        count_frame(rx, out);
    else if (drop != RX_KEEP)
        count_drop(nic, drop);
    return complete;
}

size_t vnet_rx_poll(struct vnet *nic, struct frame_in *frames, size_t max)
{
    struct vnet_rx *rx = &nic->rx;
    struct vq_done done[TAKE_BATCH];
    size_t count = 0;

    /* One ring-full at most: frames that are dropped must not keep us here for ever. */
    for (size_t budget = rx->vq.size; budget && count < max;) {
        const size_t wish = size_min(size_min(budget, max - count), TAKE_BATCH);
        const unsigned taken = vq_take_batch(&rx->vq, done, (unsigned)wish);

        if (!taken)
            break;
        for (unsigned i = 0; i < taken; i++)
            count += take_buffer(nic, done[i].cookie, done[i].len, &frames[count]);
        budget -= taken;
    }
    if (count)
        adapt(rx);
    vq_kick(&rx->vq);
    return count;
}

void vnet_rx_tick(struct vnet *nic)
{
    if (rx_merge_expire(&nic->rx.merge))
        count_drop(nic, RX_DROP_PIECE);
    fill(nic);
    vq_kick(&nic->rx.vq);
    /* A device that ran out of buffers and missed the kick for new ones: asked for once after each burst. */
    if (nic->rx.frames != nic->rx.frames_at_tick)
        vq_kick_overdue(&nic->rx.vq);
    nic->rx.frames_at_tick = nic->rx.frames;
}
