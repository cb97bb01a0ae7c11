/* The names under which a NIC's counters are seen: /metrics, the status page, the crash block. */
#include <stdio.h>

#include "drivers/virtio_net/vnet.h"
#include "lib/check.h"

static uint64_t rx_posted(void *arg)
{
    return vq_posted_count(&((const struct vnet *)arg)->rx.vq);
}

static uint64_t tx_posted(void *arg)
{
    return vq_posted_count(&((const struct vnet *)arg)->tx.vq);
}

static uint64_t rx_buf_bytes(void *arg)
{
    return ((const struct vnet *)arg)->rx.buf_bytes;
}

static uint64_t link_up(void *arg)
{
    return ((const struct vnet *)arg)->net.link_up;
}

static uint64_t link_changes(void *arg)
{
    return ((const struct vnet *)arg)->net.link_changes;
}

static uint64_t link_speed(void *arg)
{
    return ((const struct vnet *)arg)->speed_mbps;
}

static uint64_t mtu(void *arg)
{
    return ((const struct vnet *)arg)->net.mtu;
}

static uint64_t queues_broken(void *arg)
{
    const struct vnet *nic = arg;

    return (nic->rx.vq.broken_why ? 1u : 0u) + (nic->tx.vq.broken_why ? 1u : 0u) +
           (nic->ctrl.vq.broken_why ? 1u : 0u);
}

static void add_labelled(struct vnet *nic, const char *name, const char *labels, const char *help,
                         const uint64_t *value)
{
    ASSERT(nic->counter_count < VNET_COUNTERS_MAX);
    struct counter *c = &nic->counters[nic->counter_count++];

    *c = (struct counter){
        .name = name, .labels = labels, .help = help, .type = COUNTER_TOTAL, .value = value};
    counters_add(c);
}

static void add(struct vnet *nic, const char *name, const char *help, const uint64_t *value)
{
    add_labelled(nic, name, nic->label, help, value);
}

static void add_gauge(struct vnet *nic, const char *name, const char *help,
                      uint64_t (*read)(void *arg))
{
    ASSERT(nic->counter_count < VNET_COUNTERS_MAX);
    struct counter *c = &nic->counters[nic->counter_count++];

    *c = (struct counter){.name = name,
                          .labels = nic->label,
                          .help = help,
                          .type = COUNTER_GAUGE,
                          .read = read,
                          .arg = nic};
    counters_add(c);
}

static void add_rx(struct vnet *nic)
{
    struct vnet_rx *rx = &nic->rx;

    add(nic, "vnet_rx_frames_total", "Frames received and handed up", &rx->frames);
    add(nic, "vnet_rx_bytes_total", "Bytes of these, Ethernet header included", &rx->bytes);
    add(nic, "vnet_rx_copied_total", "Pieces copied, their buffer posted again", &rx->copied);
    add(nic, "vnet_rx_merged_total", "Frames joined from several buffers", &rx->merged);
    add(nic, "vnet_rx_csum_partial_total", "Frames with a checksum only begun", &rx->csum_partial);
    add(nic, "vnet_rx_csum_valid_total", "Frames whose checksum the device verified",
        &rx->csum_valid);
    add(nic, "vnet_rx_gso_total", "Frames larger than the MTU", &rx->gso);
    add(nic, "vnet_rx_refill_failures_total", "Times an empty slot found no buffer",
        &rx->refill_failures);
    add(nic, "vnet_rx_kicks_total", "Notifications of new receive buffers", &rx->vq.kicks);
    add(nic, "vnet_rx_kicks_saved_total", "The same, found unwanted", &rx->vq.kicks_saved);
    add_gauge(nic, "vnet_rx_posted", "Receive buffers that the device holds", rx_posted);
    add_gauge(nic, "vnet_rx_buf_bytes", "Size of the next receive buffer", rx_buf_bytes);
}

static void add_rx_drops(struct vnet *nic)
{
    uint64_t *drops = nic->rx.drops;

    add(nic, "vnet_rx_drop_short_total", "Buffers shorter than the header", &drops[RX_DROP_SHORT]);
    add(nic, "vnet_rx_drop_count_total", "Frames with an impossible num_buffers",
        &drops[RX_DROP_COUNT]);
    add(nic, "vnet_rx_drop_offload_total", "Frames with unacceptable offload facts",
        &drops[RX_DROP_OFFLOAD]);
    add(nic, "vnet_rx_drop_piece_total", "Frames of which a piece was missing",
        &drops[RX_DROP_PIECE]);
    add(nic, "vnet_rx_drop_runt_total", "Frames shorter than an Ethernet header",
        &drops[RX_DROP_RUNT]);
    add(nic, "vnet_rx_drop_oversize_total", "Frames longer than any may be",
        &drops[RX_DROP_OVERSIZE]);
    add(nic, "vnet_rx_drop_no_memory_total", "Frames whose buffer could not be replaced",
        &drops[RX_DROP_NO_MEMORY]);
}

static void add_tx(struct vnet *nic)
{
    struct vnet_tx *tx = &nic->tx;

    add(nic, "vnet_tx_frames_total", "Frames given to the device", &tx->frames);
    add(nic, "vnet_tx_bytes_total", "Bytes of these, Ethernet header included", &tx->bytes);
    add(nic, "vnet_tx_csum_total", "Frames whose checksum the device completes", &tx->csum);
    add(nic, "vnet_tx_gso_total", "Frames that the device cuts into segments", &tx->gso);
    add(nic, "vnet_tx_full_total", "Times the ring had no room", &tx->full);
    add(nic, "vnet_tx_refused_total", "Frames that the device can't take", &tx->refused);
    add(nic, "vnet_tx_kicks_total", "Notifications of frames to send", &tx->vq.kicks);
    add(nic, "vnet_tx_kicks_saved_total", "The same, found unwanted", &tx->vq.kicks_saved);
    add_gauge(nic, "vnet_tx_posted", "Frames that the device has not sent yet", tx_posted);
}

static void add_resets(struct vnet *nic)
{
    struct vnet_recover *r = &nic->recover;

    for (unsigned i = 0; i < VNET_FAULTS; i++)
        add_labelled(nic, "vnet_resets_total", vnet_recover_label(nic, (enum vnet_fault)i),
                     "Resets of a running device, by reason", &r->faults[i]);
    add(nic, "vnet_reset_failures_total", "Attempts to reset and restart a device that failed",
        &r->failures);
    add(nic, "vnet_tx_kicks_again_total", "Kicks of a device that had stopped sending",
        &r->kicks_again);
}

static void add_ctrl(struct vnet *nic)
{
    struct vnet_ctrl *ctrl = &nic->ctrl;

    add(nic, "vnet_ctrl_commands_total", "Commands sent by control queue", &ctrl->commands);
    add(nic, "vnet_ctrl_errors_total", "The same, refused by the device", &ctrl->errors);
    add(nic, "vnet_ctrl_timeouts_total", "The same, not answered in time", &ctrl->timeouts);
    add(nic, "vnet_ctrl_late_total", "The same, answered after all", &ctrl->late);
    add(nic, "vnet_announcements_total", "Times the device asked us to make ourselves known",
        &nic->announcements);
    add_gauge(nic, "vnet_link_up", "1 when the link is up", link_up);
    add_gauge(nic, "vnet_link_changes", "Times the link went up or down", link_changes);
    add_gauge(nic, "vnet_link_speed_mbps", "Speed of the link; 0 when unknown", link_speed);
    add_gauge(nic, "vnet_mtu_bytes", "Largest IP packet that the network takes", mtu);
}

void vnet_counters_open(struct vnet *nic)
{
    snprintf(nic->label, sizeof(nic->label), "nic=\"%s\"", nic->net.name);
    add_rx(nic);
    add_rx_drops(nic);
    add_tx(nic);
    add_resets(nic);
    add_ctrl(nic);
    add(nic, "vnet_irqs_total", "Interrupts of this NIC", &nic->irqs);
    add_gauge(nic, "vnet_queues_broken", "Queues on which the device lied", queues_broken);
}

void vnet_counters_close(struct vnet *nic)
{
    while (nic->counter_count)
        counters_remove(&nic->counters[--nic->counter_count]);
}
