/*
 * Joining received pieces: any headers, any lengths, in any order, with memory that fails.
 *
 * Checked: a frame's length is the sum of its fragments and within bounds; what is said about offloads lies
 * within it; no fragment is lost or given twice.
 */
#include <stdint.h>
#include <string.h>

#include "drivers/virtio_net/rx_merge.h"
#include "lib/check.h"
#include "tests/host/support/net_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { STEP_BYTES = 4 };

static struct rx_merge merge;

static void check_frame(const struct frame_in *frame)
{
    const struct frame_offload *o = &frame->offload;
    uint32_t len = 0;

    for (const struct frag *f = frame->head; f; f = f->next) {
        ASSERT(f->len > 0 && f->data >= (const uint8_t *)(f + 1));
        len += f->len;
    }
    ASSERT(len == frame->len && len >= RX_FRAME_MIN && len <= RX_FRAME_MAX);
    if (o->flags & FRAME_CSUM_PARTIAL)
        ASSERT(o->csum_start >= 14 && o->csum_start + o->csum_offset + 2u <= len);
    ASSERT(!(o->flags && !merge.rules.csum));
    ASSERT(o->gso == FRAME_GSO_NONE || o->gso_size);
    ASSERT(o->gso != FRAME_GSO_TCP4 || merge.rules.tso4);
    ASSERT(o->gso != FRAME_GSO_TCP6 || merge.rules.tso6);
}

/* Join a piece of so many bytes, as vnet_rx does after rx_merge_look() said RX_KEEP. */
static void join(uint32_t len)
{
    struct frag *f = frag_take(len ? len : 1, FRAG_BULK);
    enum rx_drop drop = RX_KEEP;
    struct frame_in frame;

    if (!f) {
        rx_merge_abort(&merge);
        return;
    }
    ASSERT(merge.strip <= len);
    f->data = frag_start(f) + merge.strip;
    f->len = len - merge.strip;
    if (!rx_merge_add(&merge, f, &frame, &drop) || drop != RX_KEEP)
        return;
    check_frame(&frame);
    frag_give_list(frame.head);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static _Alignas(4) uint8_t piece[VNET_HDR_BYTES];
    const unsigned how = size ? data[0] : 0;
    const struct net_hdr_rules rules = {how & 1, how & 2, how & 4, how & 8};

    net_env_init(96);
    rx_merge_init(&merge, &rules, how & 16 ? VNET_HDR_BYTES : VNET_HDR_BYTES_LEGACY, how & 32, 16);
    for (size_t at = 1; at + STEP_BYTES <= size; at += STEP_BYTES) {
        const uint8_t *step = data + at;
        const uint32_t len = step[0] + 256u * step[1] + (step[2] & 1u) * 1000;

        if (step[2] & 2) { /* new header bytes follow */
            const size_t n = size_min(size - at - STEP_BYTES, sizeof(piece));
            memcpy(piece, step + STEP_BYTES, n);
            at += n;
        }
        if (step[3] == 255)
            rx_merge_expire(&merge);
        if (rx_merge_look(&merge, piece, len) != RX_KEEP)
            continue;
        if (step[3] == 0)
            rx_merge_abort(&merge);
        else
            join(len);
    }
    rx_merge_close(&merge);
    ASSERT(net_env_clean());
    return 0;
}
