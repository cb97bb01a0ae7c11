/*
 * A device that answers commands and changes its configuration as it likes: acks of any value, early, late, twice or never,
 * bytes written anywhere in the control queue's used ring, any configuration, also in the middle of a call. The NIC
 * may lose its control queue; it may not crash, hang, or lose memory, and what it says of itself must make sense.
 */
#include <stdint.h>
#include <string.h>

#include "drivers/virtio_net/vnet.h"
#include "lib/check.h"
#include "port/shared.h"
#include "tests/fake/fake_vdev.h"
#include "tests/host/support/clock.h"
#include "tests/host/support/net_env.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { RING = 8, PAGES = 192, KEPT = 4, CONFIG_BYTES = 20 };

static struct fake_vdev fake;
static struct vnet nic;
static struct fake_chain kept[KEPT]; /* popped, not answered */
static unsigned kept_count;

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

static void scribble(void)
{
    struct virtqueue *vq = &nic.ctrl.vq;
    const unsigned where = next_byte(), value = next_byte();

    if (!vq->mem)
        return;
    if (vq->packed)
        ((uint8_t *)vq->ring.desc)[where % (vq->size * sizeof(*vq->ring.desc))] = (uint8_t)value;
    else if (where & 1)
        vq->used->idx.raw = (uint16_t)(vq->used_idx + value % 3);
    else
        vq->used->ring[(where >> 1) % vq->size] = (struct vring_used_elem){{value % 6}, {value}};
}

static void on_access(enum shared_op op, const void *addr, uint32_t value)
{
    (void)op;
    (void)addr;
    (void)value;
    if (until_write && --until_write == 0)
        scribble();
}

static void keep_command(void)
{
    struct fake_chain c;

    if (nic.ctrl.vq.mem && !nic.ctrl.vq.broken && fake_pop(&fake, fake_ctrl_queue(&fake), &c))
        kept[kept_count++ % KEPT] = c;
}

/* Answer a kept command, whether or not that was done before. */
static void answer_kept(unsigned how)
{
    if (!kept_count || !nic.ctrl.mem)
        return;
    const struct fake_chain *c = &kept[how % (kept_count < KEPT ? kept_count : KEPT)];

    if (c->count)
        *c->iov[c->count - 1].base = (uint8_t)next_byte();
    fake_push(&fake, fake_ctrl_queue(&fake), c->head, how >> 4);
}

static void change_config(void)
{
    unsigned at = next_byte() % CONFIG_BYTES;

    if (at == 8 || at == 9) /* the number of pairs: the fake goes by it, too */
        at -= 2;
    fake.config[at] = (uint8_t)next_byte();
    fake.generation++;
    vnet_interrupt(&nic, true);
}

static void set_filter(unsigned how)
{
    static uint8_t groups[NETDEV_GROUPS_MAX][6];
    const struct netdev_filter f = {.groups = (const uint8_t(*)[6])groups,
                                    .group_count = how % (NETDEV_GROUPS_MAX + 1),
                                    .all_groups = how & 128,
                                    .broadcast = how & 64};

    nic.net.ops->set_filter(&nic.net, &f);
}

static void check(void)
{
    const struct vnet_ctrl *ctrl = &nic.ctrl;

    ASSERT(nic.net.mtu >= VNET_MTU_MIN);
    ASSERT((nic.net.mac[0] & 1) == 0);
    ASSERT(nic.speed_mbps <= INT32_MAX);
    ASSERT(ctrl->in_flight <= CTRL_ITEMS && ctrl->due < 1u << CTRL_ITEMS);
    ASSERT(!ctrl->wish.allmulti ==
           !(ctrl->wants_all_groups || (ctrl->refused & 1u << CTRL_MAC_TABLE)));
}

static void turn(void)
{
    struct frame_in frames[NETDEV_POLL_MAX];
    const size_t count = nic.net.ops->poll(&nic.net, frames, NETDEV_POLL_MAX);

    for (size_t i = 0; i < count; i++)
        frag_give_list(frames[i].head);
}

static void one_step(void)
{
    const unsigned op = next_byte(), how = next_byte();

    switch (op % 12) {
    case 0:
        set_filter(how);
        break;
    case 1:
        if (!nic.ctrl.vq.broken && nic.ctrl.vq.mem)
            fake_ctrl_work(&fake);
        break;
    case 2:
        keep_command();
        break;
    case 3:
        answer_kept(how);
        break;
    case 4:
        change_config();
        break;
    case 5:
    case 6:
        turn();
        break;
    case 7:
        host_clock_advance(how * 100000ull);
        nic.net.ops->tick(&nic.net);
        break;
    case 8:
        nic.net.ops->arm(&nic.net);
        nic.net.ops->disarm(&nic.net);
        break;
    case 9:
        scribble();
        break;
    case 10:
        fake_ctrl_refuse(&fake, (uint8_t)(how & 7), (uint8_t)(how >> 3 & 1));
        fake.ctrl.refuse_count %= FAKE_CTRL_REFUSALS;
        break;
    default:
        until_write = 1 + how % 32;
    }
    check();
}

static void nobody_sent(void *stack, void *cookie)
{
    (void)stack;
    (void)cookie;
}

static void announce(void *stack)
{
    ASSERT(stack == &nic);
}

static bool open_nic(unsigned how)
{
    const struct vnet_vectors none = {VIRTIO_NO_VECTOR, VIRTIO_NO_VECTOR};
    const uint64_t without[4] = {0, 1ull << VNET_F_ANY_LAYOUT, 1ull << VNET_F_MAC,
                                 1ull << VNET_F_EVENT_IDX};
    struct opt_vnet opt = {0};

    for (size_t i = 0; i < OPT_F_COUNT; i++)
        opt.feature[i] = OPT_ON;
    fake_vdev_init(&fake, ~without[how & 3], RING, how & 4);
    nic = (struct vnet){.net = {.name = "net0", .vlan_id = how & 8 ? 5 : 0}};
    if (vnet_negotiate(&nic, &fake.dev, &opt) || vnet_start(&nic, &none))
        return false;
    nic.net.stack = &nic;
    nic.net.on_sent = nobody_sent;
    nic.net.on_announce = announce;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    script = data;
    left = size;
    until_write = kept_count = 0;
    net_env_init(PAGES);
    if (open_nic(next_byte())) {
        shared_hook = on_access;
        while (left)
            one_step();
        shared_hook = NULL;
        vnet_close(&nic);
    }
    ASSERT(net_env_clean());
    return 0;
}
