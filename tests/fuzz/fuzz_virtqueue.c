/*
 * The split ring against a device that writes what it likes, when it likes.
 *
 * The input is a script: post, take, kick, arm, and writes of arbitrary bytes to any part of the ring, also
 * between two accesses of one call. The model knows which cookies the device holds. Whatever happens, vq_take()
 * gives back only those, each once, with a length that was posted; and at the end every cookie is accounted for.
 */
#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "drivers/virtio/virtqueue.h"
#include "drivers/virtio_net/spec.h"
#include "lib/check.h"
#include "port/shared.h"
#include "tests/fake/fake_vdev.h"
#include "tests/host/support/net_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { SIZE_MAX_LOG2 = 5, COOKIES = 64, CHAIN_MAX = 6 };

static struct fake_vdev fake;
static struct virtqueue vq;
static struct {
    bool posted;
    uint32_t in_len;
} model[COOKIES];
static char cookies[COOKIES];

static const uint8_t *script;
static size_t left;
static unsigned
    until_write; /* accesses until the device writes in the middle of a call; 0 = never */

static unsigned next_byte(void)
{
    if (!left)
        return 0;
    left--;
    return *script++;
}

/* Bytes of the rings that the device can reach: all of them. */
static size_t ring_bytes(void)
{
    return vring_layout(vq.size, fake.transport.legacy).total;
}

static void device_writes(void)
{
    uint8_t *ring = vq.mem;
    const unsigned where = next_byte(), value = next_byte();

    if (!ring)
        return;
    switch (where & 3) {
    case 0: /* used.idx, plausibly */
        vq.used->idx.raw = (uint16_t)(vq.used_idx + (value & 15));
        break;
    case 1: /* a used entry */
        vq.used->ring[(vq.used_idx + (where >> 2)) % vq.size].id.raw = value % (vq.size + 2u);
        vq.used->ring[(vq.used_idx + (where >> 2)) % vq.size].len.raw = next_byte() * 3;
        break;
    case 2: /* anything at all */
        ring[(where * 251u + next_byte() * 17u) % ring_bytes()] = (uint8_t)value;
        break;
    default: /* everything */
        memset(ring, (int)value, ring_bytes());
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

static void do_post(unsigned how)
{
    const unsigned out_count = how % 3, in_count = how / 3 % 3 + (out_count == 0);
    struct vq_seg segs[CHAIN_MAX];
    unsigned c = 0;

    while (c < COOKIES && model[c].posted)
        c++;
    if (c == COOKIES || out_count + in_count > vq.chain_max)
        return;
    for (unsigned i = 0; i < out_count + in_count; i++)
        segs[i] = (struct vq_seg){4096 * (i + 1), 100 + i};
    const int err = vq_post(&vq, segs, out_count, in_count, &cookies[c]);
    ASSERT(err == 0 || err == -EAGAIN || err == -EPROTO);
    ASSERT((err == -EPROTO) == vq.broken);
    if (err)
        return;
    model[c].posted = true;
    model[c].in_len = 0;
    for (unsigned i = out_count; i < out_count + in_count; i++)
        model[c].in_len += segs[i].len;
}

static void do_take(void)
{
    struct vq_done done;
    const int err = vq_take(&vq, &done);

    ASSERT(err == 0 || err == -EAGAIN || err == -EPROTO);
    ASSERT((err == -EPROTO) == vq.broken);
    if (err)
        return;
    const size_t c = (size_t)((char *)done.cookie - cookies);
    ASSERT(c < COOKIES && model[c].posted && done.len <= model[c].in_len);
    model[c].posted = false;
}

static unsigned model_posted(void)
{
    unsigned n = 0;

    for (unsigned c = 0; c < COOKIES; c++)
        n += model[c].posted;
    return n;
}

static void drop(void *arg, void *cookie)
{
    const size_t c = (size_t)((char *)cookie - cookies);

    (void)arg;
    ASSERT(c < COOKIES && model[c].posted);
    model[c].posted = false;
}

static void one_step(void)
{
    const unsigned op = next_byte();

    switch (op & 7) {
    case 0:
    case 1:
        do_post(op >> 3);
        break;
    case 2:
    case 3:
        do_take();
        break;
    case 4:
        vq_kick(&vq);
        break;
    case 5:
        if (op & 8)
            vq_irq_disable(&vq);
        else
            vq_irq_enable(&vq, (uint16_t)(op >> 4));
        break;
    case 6:
        device_writes();
        break;
    default:
        until_write = 1 + (op >> 3);
    }
    ASSERT(vq_posted_count(&vq) == model_posted());
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    script = data;
    left = size;
    until_write = 0;
    memset(model, 0, sizeof(model));

    const unsigned how = next_byte();
    const uint64_t features =
        (how & 1 ? 1ull << VNET_F_EVENT_IDX : 0) | (how & 2 ? 1ull << VNET_F_INDIRECT_DESC : 0);
    net_env_init(64);
    fake_vdev_init(&fake, features, (uint16_t)(1u << (how >> 3) % (SIZE_MAX_LOG2 + 1)), how & 4);
    fake.dev.accepted = fake.features = features;
    if (vq_open(&vq, &fake.dev, 0, 0, CHAIN_MAX, VIRTIO_NO_VECTOR) == 0) {
        fake.status = 0x0f;
        shared_hook = on_access;
        while (left)
            one_step();
        shared_hook = NULL;
        vq_close(&vq, drop, NULL);
    }
    ASSERT(model_posted() == 0 && net_env_clean());
    return 0;
}
