/* A virtio-net device's life: start, interrupts, link, end; and the operations that net/ sees. */
#include "drivers/virtio_net/vnet.h"

#include <errno.h>
#include <string.h>

#include "lib/log.h"
#include "port/irq.h"

/* ---- going out of use -------------------------------------------------------------------- */

void vnet_close_queues(struct vnet *nic, bool give_back)
{
    vnet_ctrl_close(nic, give_back);
    vnet_tx_close(nic, give_back);
    vnet_rx_close(nic, give_back);
}

/* Reset first: until then the device may still write to our rings and buffers (§3.3.1). */
void vnet_let_go(struct vnet *nic)
{
    const int err = virtio_reset(nic->dev);
    const bool stopped = err == 0 || err == -ENODEV; /* unplugged: it reaches no memory any more */

    if (!stopped)
        log_error("vnet", "%s: reset never ended: the device keeps its buffers", nic->net.name);
    vnet_close_queues(nic, stopped);
}

static bool queues_broken(const struct vnet *nic)
{
    return nic->rx.vq.broken || nic->tx.vq.broken;
}

/* Config changes: the link and the like, or a device that has given up itself. */
static void follow_config(struct vnet *nic)
{
    nic->config_changed = false;
    if (vnet_recover_look(nic))
        vnet_config_follow(nic);
}

/* ---- what net/ calls --------------------------------------------------------------------- */

static bool running(const struct vnet *nic)
{
    return nic->recover.life == VNET_RUNNING;
}

static void housekeeping(struct vnet *nic)
{
    if (queues_broken(nic))
        vnet_recover(nic, VNET_FAULT_LIE);
    else if (nic->config_changed)
        follow_config(nic);
    if (!running(nic))
        return;
    vnet_tx_wake(nic);
    vnet_config_announce(nic);
    vnet_ctrl_work(nic);
}

static size_t poll(struct netdev *net, struct frame_in *frames, size_t max)
{
    struct vnet *nic = vnet_of(net);

    if (!running(nic))
        return 0;
    if (vq_pending(&nic->tx.vq))
        vnet_tx_reap(nic);
    const size_t count = vnet_rx_poll(nic, frames, max < NETDEV_POLL_MAX ? max : NETDEV_POLL_MAX);
    if (nic->opt.poll == OPT_POLL_IRQ) /* for measuring: the next frame interrupts, always */
        vq_irq_enable(&nic->rx.vq, 1);
    housekeeping(nic);
    return count;
}

static bool arm(struct netdev *net)
{
    struct vnet *nic = vnet_of(net);

    if (!running(nic))
        return false; /* the tick looks */
    if (nic->opt.poll == OPT_POLL_SPIN) {
        vq_kick_overdue(&nic->tx.vq);
        return true; /* never sleep */
    }
    const bool tx_work = vnet_tx_arm(nic);
    const bool ctrl_work = vnet_ctrl_arm(nic);
    /* Last, so that the look at the receive ring is the latest. */
    return vq_irq_enable(&nic->rx.vq, 1) || tx_work || ctrl_work || nic->config_changed ||
           queues_broken(nic);
}

static void disarm(struct netdev *net)
{
    struct vnet *nic = vnet_of(net);

    if (!running(nic) || nic->opt.poll == OPT_POLL_IRQ)
        return;
    vq_irq_disable(&nic->rx.vq);
    vq_irq_disable(&nic->tx.vq);
    vnet_ctrl_disarm(nic);
}

static void tick(struct netdev *net)
{
    struct vnet *nic = vnet_of(net);

    if (vnet_recover_tick(nic)) {
        vnet_tx_reap(nic);
        vnet_rx_tick(nic);
        vnet_recover_watch(nic);
    }
    if (running(nic))
        housekeeping(nic);
    if (running(nic)) {
        vnet_ctrl_tick(nic);
        vnet_config_say_link(nic);
    }
}

static const struct netdev_ops ops = {
    .poll = poll,
    .send = vnet_tx_send,
    .flush = vnet_tx_flush,
    .arm = arm,
    .disarm = disarm,
    .tick = tick,
    .set_filter = vnet_ctrl_set_filter,
};

IRQ_CONTEXT void vnet_interrupt(struct vnet *nic, bool config)
{
    nic->irqs++;
    if (config)
        nic->config_changed = true;
    nic->net.irq_seen = true;
}

/* ---- start and close --------------------------------------------------------------------- */

/* Until net/ puts its own in place. */
static void nobody_sent(void *stack, void *cookie)
{
    (void)stack;
    (void)cookie;
}

static int start_queues(struct vnet *nic)
{
    const struct vnet_vectors *vectors = &nic->vectors;

    int err = vnet_config_read(nic);
    if (!err)
        err = vnet_rx_open(nic, vectors->rx);
    if (!err)
        err = vnet_tx_open(nic, vectors->tx);
    if (!err)
        err = vnet_ctrl_open(nic, vectors->tx); /* rare enough to share a vector */
    if (err)
        return err;
    vq_irq_disable(&nic->rx.vq);
    vq_irq_disable(&nic->tx.vq);
    virtio_start(nic->dev); /* no kick may come before it */
    return vnet_rx_fill(nic);
}

static void introduce(const struct vnet *nic)
{
    const uint8_t *mac = nic->net.mac;
    char names[256];

    vnet_feature_names(nic, names, sizeof(names));
    log_info("vnet",
             "%s: %s virtio %s, %s, rx %u tx %u, mac %02x:%02x:%02x:%02x:%02x:%02x, mtu %u, "
             "rxbuf %u",
             nic->net.name, nic->dev->where, nic->dev->transport->name, nic->dev->irqs,
             (unsigned)nic->rx.vq.size, (unsigned)nic->tx.vq.size, mac[0], mac[1], mac[2], mac[3],
             mac[4], mac[5], (unsigned)nic->net.mtu,
             (unsigned)frag_capacity_for(nic->rx.buf_bytes));
    log_info("vnet", "%s: negotiated: %s", nic->net.name, names);
}

int vnet_bring_up(struct vnet *nic)
{
    const int err = start_queues(nic);

    if (err)
        return err;
    nic->net.features = (struct netdev_features){
        .tx_csum = nic->tx.rules.csum,
        .tx_tso4 = nic->tx.rules.tso4,
        .tx_tso6 = nic->tx.rules.tso6,
        .rx_csum = nic->rx.merge.rules.csum,
        .rx_gso = nic->rx.merge.rules.tso4 || nic->rx.merge.rules.tso6,
    };
    nic->net.pieces_max = (uint16_t)(nic->tx.segs_max - 1); /* the header takes one */
    vnet_config_follow(nic);
    return 0;
}

int vnet_start(struct vnet *nic, const struct vnet_vectors *vectors)
{
    nic->net.ops = &ops;
    nic->net.on_sent = nobody_sent;
    nic->net.link_up = nic->link_said = true;
    nic->vectors = *vectors;
    const int err = vnet_bring_up(nic);
    if (err) {
        vnet_let_go(nic);
        return err;
    }
    vnet_counters_open(nic);
    introduce(nic);
    return 0;
}

void vnet_close(struct vnet *nic)
{
    vnet_counters_close(nic);
    if (nic->recover.life != VNET_DEAD)
        vnet_let_go(nic);
    nic->recover.life = VNET_DEAD;
    nic->net.broken = true;
}
