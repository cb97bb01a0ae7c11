#include "tests/host/support/vnet_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <cmocka.h>

#define V1 BIT(VNET_F_VERSION_1)
#define MRG BIT(VNET_F_MRG_RXBUF)
#define EVENT BIT(VNET_F_EVENT_IDX)
#define INDIRECT BIT(VNET_F_INDIRECT_DESC)
#define ANY BIT(VNET_F_ANY_LAYOUT)
#define OFFLOADS                                                                                   \
    (BIT(VNET_F_CSUM) | BIT(VNET_F_GUEST_CSUM) | BIT(VNET_F_GUEST_TSO4) | BIT(VNET_F_GUEST_TSO6) | \
     BIT(VNET_F_HOST_TSO4) | BIT(VNET_F_HOST_TSO6))

const struct vnet_flavour vnet_flavours[VNET_FLAVOURS] = {
    {"modern, all", V1 | MRG | EVENT | INDIRECT | OFFLOADS, false},
    {"modern, bare", V1, false},
    {"modern, no merging", V1 | EVENT | INDIRECT | OFFLOADS, false},
    {"legacy, all", MRG | EVENT | INDIRECT | ANY | OFFLOADS, true},
    {"legacy, bare", 0, true},
    {"legacy, merging, no any_layout", MRG | EVENT, true},
    {"legacy, any_layout, no merging", ANY | INDIRECT, true},
};

static void on_sent(void *stack, void *cookie)
{
    struct vnet_fixture *fix = stack;

    fix->sent[fix->sent_count++ % FIX_SENT_MAX] = cookie;
}

static void on_room(void *stack)
{
    struct vnet_fixture *fix = stack;

    fix->room_calls++;
    if (fix->in_room)
        fix->in_room(fix);
}

static void on_announce(void *stack)
{
    ((struct vnet_fixture *)stack)->announce_calls++;
}

static void on_irq(void *arg, uint16_t queue_idx)
{
    (void)queue_idx;
    vnet_interrupt(arg, false);
}

void fix_prepare(struct vnet_fixture *fix, uint64_t offered, bool legacy, uint16_t size)
{
    net_env_init(fix->pages ? fix->pages : FIX_PAGES);
    fake_vdev_init(&fix->fake, offered, size, legacy);
    fix->fake.irq = on_irq;
    fix->fake.irq_arg = &fix->nic;
    fix->nic = (struct vnet){.net = {.name = "net0", .vlan_id = fix->vlan_id}};
    fix->sent_count = fix->room_calls = fix->announce_calls = 0;
}

int fix_start(struct vnet_fixture *fix)
{
    const struct vnet_vectors none = {VIRTIO_NO_VECTOR, VIRTIO_NO_VECTOR};
    int err = vnet_negotiate(&fix->nic, &fix->fake.dev, &fix->opt);

    if (!err)
        err = vnet_start(&fix->nic, &none);
    fix->nic.net.stack = fix;
    fix->nic.net.on_sent = on_sent;
    fix->nic.net.on_room = on_room;
    fix->nic.net.on_announce = on_announce;
    return err;
}

void fix_open(struct vnet_fixture *fix, uint64_t offered, bool legacy, uint16_t size)
{
    fix_prepare(fix, offered, legacy, size);
    assert_int_equal(fix_start(fix), 0);
}

static void check_queue(const struct virtqueue *vq)
{
    unsigned held = 0, chains = 0;

    if (vq->broken)
        return;
    for (unsigned i = 0; i < vq->size; i++) {
        held += vq->chains[i].desc_count;
        chains += vq->chains[i].desc_count != 0;
    }
    assert_int_equal(held + vq->free_count, vq->size);
    assert_int_equal(chains, vq_posted_count(vq));
}

void fix_check(const struct vnet_fixture *fix)
{
    check_queue(&fix->nic.rx.vq);
    check_queue(&fix->nic.tx.vq);
    check_queue(&fix->nic.ctrl.vq);
    if (fix->fake.violations)
        fail_msg("driver: %s", fix->fake.violation);
}

void fix_close(struct vnet_fixture *fix)
{
    const bool broken = fix->nic.net.broken;

    fix_check(fix);
    vnet_close(&fix->nic);
    if (!broken)
        assert_int_equal(fix->fake.status, 0); /* reset before anything was freed */
    assert_true(net_env_clean());
}

void fix_fill(uint8_t *frame, size_t len, unsigned seed)
{
    for (size_t i = 0; i < len; i++) {
        seed = seed * 1664525 + 1013904223;
        frame[i] = (uint8_t)(seed >> 24);
    }
}

bool fix_same(const struct frame_in *frame, size_t len, unsigned seed)
{
    static uint8_t want[FAKE_FRAME_MAX];
    size_t at = 0;

    if (frame->len != len)
        return false;
    fix_fill(want, len, seed);
    for (const struct frag *f = frame->head; f; f = f->next) {
        if (!f->len || at + f->len > len || memcmp(f->data, want + at, f->len))
            return false;
        at += f->len;
    }
    return at == len;
}

bool fix_poll(struct vnet_fixture *fix, struct frame_in *frame)
{
    return fix->nic.net.ops->poll(&fix->nic.net, frame, 1) == 1;
}

int fix_send(struct vnet_fixture *fix, const void *data, uint32_t len, void *cookie)
{
    const struct frame_piece piece = {data, len};
    const struct frame_out frame = {.pieces = &piece, .piece_count = 1, .cookie = cookie};

    return fix->nic.net.ops->send(&fix->nic.net, &frame);
}

void fix_ticks(struct vnet_fixture *fix, unsigned count)
{
    while (count--)
        fix->nic.net.ops->tick(&fix->nic.net);
}

/* Nobody but the rings holds anything, and nothing of what they hold is lost. */
static void check_nothing_lost(const struct vnet_fixture *fix)
{
    struct frag_stats stats;

    frag_stats_get(&stats);
    assert_int_equal(stats.takes - stats.gives, vq_posted_count(&fix->nic.rx.vq));
    assert_int_equal(vq_posted_count(&fix->nic.rx.vq), fix->nic.rx.fill_goal);
    fix_check(fix);
}

void fix_check_runs(struct vnet_fixture *fix)
{
    static uint8_t frame[1514];
    struct frame_in in;
    struct frame_in late[NETDEV_POLL_MAX];

    assert_false(fix->nic.net.broken);
    assert_int_equal(fix->nic.recover.life, VNET_RUNNING);
    assert_true(fix->nic.net.link_up);
    for (size_t i = fix->nic.net.ops->poll(&fix->nic.net, late, NETDEV_POLL_MAX); i > 0; i--)
        frag_give_list(late[i - 1].head);
    check_nothing_lost(fix);
    for (unsigned n = 0; n < 2u * fix->nic.rx.vq.size; n++) {
        fix_fill(frame, sizeof(frame), n);
        assert_true(fake_net_receive(&fix->fake, frame, sizeof(frame), NULL));
        assert_true(fix_poll(fix, &in));
        assert_true(fix_same(&in, sizeof(frame), n));
        frag_give_list(in.head);
        assert_int_equal(fix_send(fix, frame, sizeof(frame), frame), 0);
        assert_true(fake_net_transmit(&fix->fake, 4096, NULL, NULL) >= 1);
    }
    fix->nic.net.ops->tick(&fix->nic.net);
    assert_int_equal(vq_posted_count(&fix->nic.tx.vq), 0);
    check_nothing_lost(fix);
}
