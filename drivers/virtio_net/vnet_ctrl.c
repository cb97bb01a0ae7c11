#include "drivers/virtio_net/vnet_ctrl.h"

#include <errno.h>
#include <string.h>

#include "drivers/virtio_net/vnet.h"
#include "lib/check.h"
#include "lib/log.h"
#include "lib/page_alloc.h"
#include "port/clock.h"
#include "port/dma.h"

enum {
    ACK_OFFSET = 1024,      /* in a cache line of its own */
    ACK_UNWRITTEN = 0x5aff, /* its low byte is no answer that there is */
};

/* What the device reads and writes. The answer has 16 bits so that port/shared.h can read it; the device gets one byte. */
struct ctrl_mem {
    struct ctrl_cmd cmd;
    uint8_t pad[ACK_OFFSET - sizeof(struct ctrl_cmd)];
    le16 ack;
};
static_assert(offsetof(struct ctrl_mem, ack) == ACK_OFFSET, "the pad fits");
static_assert(sizeof(struct ctrl_mem) <= PAGE_BYTES, "one page");

#define ITEM(item) (1u << (item))

static const uint32_t filter_items =
    ITEM(CTRL_MAC_TABLE) | ITEM(CTRL_ALLMULTI) | ITEM(CTRL_NOBCAST) | ITEM(CTRL_PROMISC);

static bool is_open(const struct vnet_ctrl *ctrl)
{
    return ctrl->mem && !ctrl->vq.broken;
}

static bool is_busy(const struct vnet_ctrl *ctrl)
{
    return ctrl->in_flight != CTRL_ITEMS;
}

/* ---- what to tell ------------------------------------------------------------------------ */

void vnet_ctrl_tell(struct vnet *nic, enum ctrl_item item)
{
    if (nic->ctrl.mem && virtio_has(nic->dev, ctrl_cmd_feature(item)))
        nic->ctrl.due |= ITEM(item);
}

static void tell_all(struct vnet *nic, uint32_t items)
{
    for (unsigned i = 0; i < CTRL_ITEMS; i++) {
        if (items & ITEM(i))
            vnet_ctrl_tell(nic, (enum ctrl_item)i);
    }
}

/*
 * The widest of what is asked for and what the device left us with: where it refuses a table, all multicast; where it
 * refuses even that, or our VLAN, everything.
 */
static void widen(struct vnet_ctrl *ctrl)
{
    const bool table_fails = ctrl->refused & ITEM(CTRL_MAC_TABLE);

    ctrl->wish.allmulti = ctrl->wants_all_groups || table_fails;
    ctrl->wish.promisc = (ctrl->refused & ITEM(CTRL_VLAN_ADD)) ||
                         (ctrl->wish.allmulti && (ctrl->refused & ITEM(CTRL_ALLMULTI)));
}

void vnet_ctrl_set_filter(struct netdev *net, const struct netdev_filter *filter)
{
    struct vnet *nic = vnet_of(net);
    struct vnet_ctrl *ctrl = &nic->ctrl;

    ASSERT(filter->group_count <= NETDEV_GROUPS_MAX);
    ctrl->filtered = true;
    ctrl->wants_all_groups = filter->all_groups;
    ctrl->wish.nobcast = !filter->broadcast;
    ctrl->wish.group_count = (uint16_t)filter->group_count;
    for (size_t i = 0; i < filter->group_count; i++)
        memcpy(ctrl->wish.groups[i], filter->groups[i], sizeof(*filter->groups));
    widen(ctrl);
    tell_all(nic, filter_items);
}

/* Everything that differs from a device just reset: only one pair is in use then, no VLAN is let through (§5.1.6.5). */
static void tell_after_reset(struct vnet *nic)
{
    struct ctrl_wish *wish = &nic->ctrl.wish;

    wish->pairs = 1;
    wish->vlan_id = nic->net.vlan_id;
    wish->unicast = nic->own_mac;
    memcpy(wish->mac, nic->net.mac, sizeof(wish->mac));
    wish->offloads = nic->dev->accepted & VNET_GUEST_OFFLOADS;
    wish->coal_rx_packets = VNET_COAL_RX_PACKETS;
    wish->coal_rx_us = VNET_COAL_RX_US;
    wish->coal_tx_packets = VNET_COAL_TX_PACKETS;
    wish->coal_tx_us = VNET_COAL_TX_US;
    tell_all(nic,
             ITEM(CTRL_MQ_PAIRS) | ITEM(CTRL_OFFLOADS) | ITEM(CTRL_COAL_TX) | ITEM(CTRL_COAL_RX));
    if (nic->own_mac)
        vnet_ctrl_tell(nic, CTRL_MAC_ADDR);
    if (wish->vlan_id)
        vnet_ctrl_tell(nic, CTRL_VLAN_ADD);
    if (nic->ctrl.filtered)
        tell_all(nic, filter_items);
}

/* ---- answers ----------------------------------------------------------------------------- */

static void on_refusal(struct vnet *nic, enum ctrl_item item, uint8_t ack)
{
    struct vnet_ctrl *ctrl = &nic->ctrl;

    ctrl->errors++;
    ctrl->refused |= ITEM(item);
    if (!(ctrl->complained & ITEM(item)))
        log_warn("vnet", "%s: the device refuses to be told %s (answer %u)", nic->net.name,
                 ctrl_cmd_name(item), (unsigned)ack);
    ctrl->complained |= ITEM(item);
}

/* A filter that the device refuses makes it deliver more, one that it takes after all less: what depends on that is
 * told again. */
static void adjust(struct vnet *nic)
{
    struct vnet_ctrl *ctrl = &nic->ctrl;
    const bool allmulti = ctrl->wish.allmulti, promisc = ctrl->wish.promisc;

    widen(ctrl);
    if (ctrl->wish.allmulti != allmulti)
        vnet_ctrl_tell(nic, CTRL_ALLMULTI);
    if (ctrl->wish.promisc != promisc)
        vnet_ctrl_tell(nic, CTRL_PROMISC);
}

static void take_answer(struct vnet *nic)
{
    struct vnet_ctrl *ctrl = &nic->ctrl;
    const enum ctrl_item item = ctrl->in_flight;
    struct vq_done done;

    if (vq_take(&ctrl->vq, &done))
        return; /* not yet; or a lie, of which the queue has told */
    /* Read after the used index, which vq_take() reads with acquire: the answer is as old at most. */
    const uint8_t ack = (uint8_t)shared_load16(&ctrl->mem->ack);
    ctrl->in_flight = CTRL_ITEMS;
    ctrl->late += ctrl->overdue;
    ctrl->overdue = false;
    if (ack == VNET_CTRL_OK)
        ctrl->refused &= ~ITEM(item);
    else
        on_refusal(nic, item, ack);
    adjust(nic);
}

static void look_at_clock(struct vnet *nic)
{
    struct vnet_ctrl *ctrl = &nic->ctrl;

    if (ctrl->overdue || clock_now_us() < ctrl->deadline_us)
        return;
    ctrl->overdue = true;
    if (ctrl->timeouts++ == 0)
        log_warn("vnet", "%s: told %s, the device hasn't answered within %d ms; going on without",
                 nic->net.name, ctrl_cmd_name(ctrl->in_flight), VNET_CTRL_TIMEOUT_MS);
}

/* ---- commands ---------------------------------------------------------------------------- */

/* Any framing will do where header and data may share a descriptor; else each part has its own (§5.1.6.6). */
static unsigned list_segs(const struct vnet *nic, size_t len, size_t first, struct vq_seg *segs)
{
    const struct ctrl_mem *mem = nic->ctrl.mem;
    const dma_addr hdr = dma_of(&mem->cmd), data = hdr + sizeof(mem->cmd.hdr);
    unsigned count = 0;

    segs[count++] = (struct vq_seg){hdr, sizeof(mem->cmd.hdr)};
    if (!nic->split_hdr) {
        segs[0].len += (uint32_t)len;
    } else {
        if (first)
            segs[count++] = (struct vq_seg){data, (uint32_t)first};
        if (len > first)
            segs[count++] = (struct vq_seg){data + first, (uint32_t)(len - first)};
    }
    segs[count] = (struct vq_seg){dma_of(&mem->ack), 1};
    return count;
}

static void send(struct vnet *nic, enum ctrl_item item)
{
    struct vnet_ctrl *ctrl = &nic->ctrl;
    struct vq_seg segs[VNET_CTRL_SEGS_MAX];
    size_t first;
    const size_t len = ctrl_cmd_write(item, &ctrl->wish, &ctrl->mem->cmd, &first);

    shared_store16(&ctrl->mem->ack, ACK_UNWRITTEN);
    if (vq_post(&ctrl->vq, segs, list_segs(nic, len, first, segs), 1, ctrl->mem))
        return; /* the queue is empty, so it broke: vq_take() will say nothing more */
    ctrl->due &= ~ITEM(item);
    ctrl->in_flight = item;
    ctrl->deadline_us = clock_now_us() + VNET_CTRL_TIMEOUT_MS * 1000ull;
    ctrl->commands++;
    vq_kick(&ctrl->vq);
}

void vnet_ctrl_work(struct vnet *nic)
{
    struct vnet_ctrl *ctrl = &nic->ctrl;

    if (!is_open(ctrl))
        return;
    if (is_busy(ctrl) && vq_pending(&ctrl->vq))
        take_answer(nic);
    if (!is_busy(ctrl) && ctrl->due && !ctrl->vq.broken)
        send(nic, (enum ctrl_item)__builtin_ctz(ctrl->due));
}

void vnet_ctrl_tick(struct vnet *nic)
{
    vnet_ctrl_work(nic);
    if (is_open(&nic->ctrl) && is_busy(&nic->ctrl)) {
        look_at_clock(nic);
        vq_kick_overdue(&nic->ctrl.vq);
    }
}

bool vnet_ctrl_arm(struct vnet *nic)
{
    struct vnet_ctrl *ctrl = &nic->ctrl;

    if (!is_open(ctrl) || !is_busy(ctrl))
        return false;
    vq_kick_overdue(&ctrl->vq);
    return vq_irq_enable(&ctrl->vq, 1);
}

void vnet_ctrl_disarm(struct vnet *nic)
{
    if (is_open(&nic->ctrl))
        vq_irq_disable(&nic->ctrl.vq);
}

/* ---- life -------------------------------------------------------------------------------- */

uint16_t vnet_ctrl_queue(uint64_t accepted, uint16_t max_pairs)
{
    return (accepted >> VNET_F_MQ) & 1 ? (uint16_t)(2 * max_pairs) : (uint16_t)VNET_CTRLQ;
}

static unsigned segs_needed(const struct vnet *nic)
{
    return nic->split_hdr ? VNET_CTRL_SEGS_MAX : 2;
}

/* A queue too short for one command isn't even set up: the device would look at it. */
static int open_queue(struct vnet *nic, uint16_t vector)
{
    struct vnet_ctrl *ctrl = &nic->ctrl;
    const uint16_t idx = vnet_ctrl_queue(nic->dev->accepted, nic->max_pairs);
    const unsigned segs = segs_needed(nic);

    if (nic->dev->transport->queue_max_size(nic->dev, idx) < segs)
        return -ENOENT;
    const int err = vq_open(&ctrl->vq, nic->dev, idx, VNET_CTRL_RING_MAX, (uint16_t)segs, vector);
    if (!err && ctrl->vq.chain_max < segs)
        return -ENOMEM; /* it shrank, for want of memory; vnet_ctrl_close() gives it back */
    return err;
}

int vnet_ctrl_open(struct vnet *nic, uint16_t vector)
{
    struct vnet_ctrl *ctrl = &nic->ctrl;

    ctrl->in_flight = CTRL_ITEMS;
    ctrl->due = ctrl->refused = 0;
    ctrl->overdue = false;
    if (!virtio_has(nic->dev, VNET_F_CTRL_VQ))
        return 0;
    const int err = open_queue(nic, vector);
    if (err == -ENOENT || err == -EPROTO) {
        log_warn("vnet", "%s: its control queue can't be used; going on without", nic->net.name);
        return 0;
    }
    if (err)
        return err;
    ctrl->mem = page_take(1);
    if (!ctrl->mem)
        return -ENOMEM; /* vnet_ctrl_close() gives the rings back */
    vq_irq_disable(&ctrl->vq);
    widen(ctrl);
    tell_after_reset(nic);
    return 0;
}

void vnet_ctrl_close(struct vnet *nic, bool give_back)
{
    struct vnet_ctrl *ctrl = &nic->ctrl;

    if (give_back)
        vq_close(&ctrl->vq, NULL, NULL);
    else
        vq_abandon(&ctrl->vq, NULL, NULL);
    if (ctrl->mem && give_back)
        page_give(ctrl->mem, 1);
    ctrl->mem = NULL;
    ctrl->in_flight = CTRL_ITEMS;
    ctrl->due = 0;
}
