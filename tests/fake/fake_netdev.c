#include "tests/fake/fake_netdev.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"

static struct fake_netdev *fake_of(struct netdev *dev)
{
    return CONTAINER_OF(dev, struct fake_netdev, dev);
}

static size_t poll(struct netdev *dev, struct frame_in *frames, size_t max)
{
    struct fake_netdev *nic = fake_of(dev);
    const size_t count = size_min(nic->rx_count, max);

    if (nic->refused && nic->in_ring < nic->ring_size) {
        nic->refused = false;
        dev->on_room(dev->stack);
    }
    memcpy(frames, nic->rx, count * sizeof(*frames));
    memmove(nic->rx, nic->rx + count, (nic->rx_count - count) * sizeof(*frames));
    nic->rx_count -= count;
    return count;
}

static size_t flatten(uint8_t *to, const struct frame_out *frame)
{
    size_t len = 0;

    for (size_t i = 0; i < frame->piece_count; i++) {
        ASSERT(frame->pieces[i].len > 0);
        memcpy(to + len, frame->pieces[i].addr, frame->pieces[i].len);
        len += frame->pieces[i].len;
    }
    return len;
}

static int send(struct netdev *dev, const struct frame_out *frame)
{
    struct fake_netdev *nic = fake_of(dev);

    if (nic->send_error)
        return nic->send_error;
    if (nic->in_ring == nic->ring_size) {
        nic->refused = true;
        return -EAGAIN;
    }
    ASSERT(nic->sent_count < FAKE_NETDEV_FRAMES);
    ASSERT(frame->piece_count >= 1 && frame->piece_count <= NETDEV_PIECES_MAX);

    static uint8_t flat[FAKE_NETDEV_FRAME_MAX];
    struct fake_sent *sent = &nic->sent[nic->sent_count++];
    const size_t len = flatten(flat, frame);

    *sent = (struct fake_sent){.bytes = malloc(len),
                               .len = len,
                               .piece_count = frame->piece_count,
                               .offload = frame->offload,
                               .cookie = frame->cookie};
    ASSERT(sent->bytes);
    memcpy(sent->bytes, flat, len);
    nic->in_ring++;
    return 0;
}

static void flush(struct netdev *dev)
{
    fake_of(dev)->flushes++;
}

static bool arm(struct netdev *dev)
{
    fake_of(dev)->arms++;
    return fake_of(dev)->work_when_armed;
}

static void disarm(struct netdev *dev)
{
    fake_of(dev)->disarms++;
}

static void tick(struct netdev *dev)
{
    fake_of(dev)->ticks++;
}

static void set_filter(struct netdev *dev, const struct netdev_filter *filter)
{
    struct fake_netdev *nic = fake_of(dev);

    ASSERT(filter->group_count <= NETDEV_GROUPS_MAX);
    nic->filters++;
    nic->filter = *filter;
    memcpy(nic->groups, filter->groups, filter->group_count * sizeof(*filter->groups));
    nic->filter.groups = nic->groups;
}

static const struct netdev_ops ops = {poll, send, flush, arm, disarm, tick, set_filter};

void fake_netdev_init(struct fake_netdev *nic)
{
    memset(nic, 0, sizeof(*nic));
    nic->dev = (struct netdev){.ops = &ops,
                               .name = "net0",
                               .mac = {0x52, 0x54, 0, 0x12, 0x34, 0x56},
                               .mtu = 1500,
                               .pieces_max = NETDEV_PIECES_MAX,
                               .link_up = true};
    nic->ring_size = 256;
}

void fake_netdev_fini(struct fake_netdev *nic)
{
    for (size_t i = 0; i < nic->rx_count; i++)
        frag_give_list(nic->rx[i].head);
    nic->rx_count = 0;
    fake_netdev_forget_sent(nic);
}

void fake_netdev_forget_sent(struct fake_netdev *nic)
{
    fake_netdev_complete(nic, nic->in_ring);
    for (size_t i = 0; i < nic->sent_count; i++)
        free(nic->sent[i].bytes);
    nic->sent_count = 0;
}

void fake_netdev_receive(struct fake_netdev *nic, const void *bytes, size_t len, size_t piece,
                         struct frame_offload offload)
{
    struct frame_in *frame = &nic->rx[nic->rx_count++];
    struct frag **link = &frame->head;
    const uint8_t *from = bytes;

    ASSERT(nic->rx_count <= FAKE_NETDEV_FRAMES);
    *frame = (struct frame_in){.len = (uint32_t)len, .offload = offload};
    while (len > 0) {
        const size_t part = piece ? size_min(piece, len) : len;
        struct frag *f = frag_take(part, FRAG_CONTROL);

        ASSERT(f);
        memcpy(f->data, from, part);
        f->len = (uint32_t)part;
        *link = f;
        link = &f->next;
        from += part;
        len -= part;
    }
}

void fake_netdev_complete(struct fake_netdev *nic, size_t count)
{
    for (size_t i = 0; i < nic->sent_count && count > 0; i++) {
        struct fake_sent *sent = &nic->sent[i];

        if (sent->completed)
            continue;
        sent->completed = true;
        nic->in_ring--;
        count--;
        nic->dev.on_sent(nic->dev.stack, sent->cookie);
    }
}

struct fake_sent *fake_netdev_last(struct fake_netdev *nic)
{
    return nic->sent_count ? &nic->sent[nic->sent_count - 1] : NULL;
}
