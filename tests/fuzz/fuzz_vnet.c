/*
 * A whole NIC on a device that does anything: honest steps, named lies, wishes for resets, and bytes written anywhere
 * in used rings and posted buffers, also in the middle of a call. It may be reset and put out of use; it may not
 * crash, hang, or lose memory.
 */
#include <stdint.h>
#include <string.h>

#include "drivers/virtio_net/vnet.h"
#include "lib/check.h"
#include "port/shared.h"
#include "tests/fake/fake_vdev.h"
#include "tests/host/support/net_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RING = 8, PAGES = 192, FRAME_BYTES = 4096 };

static struct fake_vdev fake;
static struct vnet nic;
static uint8_t frame_bytes[FRAME_BYTES];
static unsigned outstanding; /* frames sent and not reported */

static const uint8_t *script;
static size_t left;
static unsigned until_write;

static unsigned next_byte(void)
{
    if (!left)
        return 0;
    left--;
    return *script++;
}

static void on_sent(void *stack, void *cookie)
{
    ASSERT(stack == &nic && cookie == frame_bytes && outstanding);
    outstanding--;
}

static void on_room(void *stack)
{
    ASSERT(stack == &nic);
}

/*
 * Into a used ring. Not into descriptors: the fake would follow them, and a device that writes to memory it made up
 * is no matter of the driver's. fuzz_virtqueue has that case.
 */
static void scribble(struct virtqueue *vq)
{
    const unsigned where = next_byte(), value = next_byte();

    if (!vq->mem)
        return;
    if (where & 1)
        vq->used->idx.raw = (uint16_t)(vq->used_idx + value % 4);
    else if (where & 2)
        vq->used->ring[(where >> 2) % vq->size] =
            (struct vring_used_elem){{value % 10}, {next_byte() * 20}};
    else
        ((uint8_t *)vq->used)[where * 37 % (sizeof(*vq->used) + 8u * vq->size + 2)] =
            (uint8_t)value;
}

/* Into a buffer that is posted now: what a device may write at any time. */
static void scribble_buffer(void)
{
    const struct vq_chain *c =
        nic.rx.vq.mem ? &nic.rx.vq.chains[next_byte() % nic.rx.vq.size] : NULL;

    if (c && c->desc_count)
        for (unsigned i = 0; i < 12; i++)
            frag_start(c->cookie)[i] = (uint8_t)next_byte();
}

static void device_writes(void)
{
    switch (next_byte() % 3) {
    case 0:
        scribble(&nic.rx.vq);
        break;
    case 1:
        scribble(&nic.tx.vq);
        break;
    default:
        scribble_buffer();
    }
}

static void on_access(enum shared_op op, const void *addr, uint32_t value)
{
    (void)op;
    (void)addr;
    (void)value;
    if (until_write && --until_write == 0)
        device_writes();
}

static void check_frame(const struct frame_in *f)
{
    uint32_t len = 0;

    for (const struct frag *p = f->head; p; p = p->next) {
        ASSERT(p->len && p->data >= (const uint8_t *)(p + 1));
        ASSERT(p->data + p->len <= (const uint8_t *)(p + 1) + frag_capacity(p));
        len += p->len;
    }
    ASSERT(len == f->len && len >= RX_FRAME_MIN && len <= RX_FRAME_MAX);
}

static void do_poll(void)
{
    struct frame_in frames[NETDEV_POLL_MAX];
    const size_t count = nic.net.ops->poll(&nic.net, frames, NETDEV_POLL_MAX);

    for (size_t i = 0; i < count; i++) {
        check_frame(&frames[i]);
        frag_give_list(frames[i].head);
    }
}

static void do_send(unsigned how)
{
    struct frame_piece pieces[4];
    struct frame_out frame = {.pieces = pieces, .piece_count = 1 + how % 4, .cookie = frame_bytes};

    for (size_t i = 0; i < frame.piece_count; i++)
        pieces[i] = (struct frame_piece){frame_bytes, 40};
    if (how & 4)
        frame.offload =
            (struct frame_offload){.flags = FRAME_CSUM_PARTIAL, .csum_start = 14, .csum_offset = 2};
    if (nic.net.ops->send(&nic.net, &frame) == 0)
        outstanding++;
}

static void do_receive(unsigned how)
{
    const struct fake_net_hdr hdr = {
        .flags = (uint8_t)(how & 3), .csum_start = 20, .csum_offset = 4};

    if (!nic.net.broken)
        fake_net_receive(&fake, frame_bytes, how * 16, &hdr);
}

/* Wants a reset, or has forgotten everything; resets may take their time. */
static void device_falters(unsigned how)
{
    fake.reset_reads = how & 7;
    if (how & 8)
        fake_lose_state(&fake);
    else if (fake.status)
        fake.status |= 64; /* DEVICE_NEEDS_RESET */
    vnet_interrupt(&nic, how & 16);
}

static void one_step(void)
{
    const unsigned op = next_byte(), how = next_byte();

    switch (op % 10) {
    case 0:
        do_receive(how);
        break;
    case 1:
        do_send(how);
        break;
    case 2:
    case 3:
        do_poll();
        break;
    case 4:
        if (!nic.net.broken)
            fake_net_transmit(&fake, how % 4, NULL, NULL);
        break;
    case 5:
        nic.net.ops->arm(&nic.net);
        break;
    case 6:
        nic.net.ops->disarm(&nic.net);
        nic.net.ops->flush(&nic.net);
        break;
    case 7:
        nic.net.ops->tick(&nic.net);
        break;
    case 8:
        if (how & 0x80)
            device_falters(how);
        else
            device_writes();
        break;
    default:
        until_write = 1 + how % 32;
    }
}

static bool open_nic(unsigned how)
{
    static const uint64_t sets[4] = {
        ~0ull,
        ~(1ull << VNET_F_MRG_RXBUF),
        1ull << VNET_F_VERSION_1,
        ~((1ull << VNET_F_ANY_LAYOUT) | (1ull << VNET_F_EVENT_IDX)),
    };
    const struct vnet_vectors none = {VIRTIO_NO_VECTOR, VIRTIO_NO_VECTOR};
    const struct opt_vnet opt = {.rxbuf = how & 8 ? OPT_RXBUF_BYTES : OPT_RXBUF_AUTO,
                                 .rxbuf_bytes = 100};

    fake_vdev_init(&fake, sets[how & 3], RING, how & 4);
    nic = (struct vnet){.net = {.name = "net0"}};
    if (vnet_negotiate(&nic, &fake.dev, &opt) || vnet_start(&nic, &none))
        return false;
    nic.net.stack = &nic;
    nic.net.on_sent = on_sent;
    nic.net.on_room = on_room;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    script = data;
    left = size;
    until_write = outstanding = 0;
    net_env_init(PAGES);
    if (open_nic(next_byte())) {
        shared_hook = on_access;
        while (left)
            one_step();
        shared_hook = NULL;
        vnet_close(&nic);
    }
    ASSERT(outstanding == 0 && net_env_clean());
    return 0;
}
