/* From a fault to a NIC that runs again; see vnet_recover.h. virtio 1.2 §2.1.2, §2.4, §3.1.1. */
#include "drivers/virtio_net/vnet_recover.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "drivers/virtio_net/vnet.h"

static const struct {
    const char *label, *text;
} words[VNET_FAULTS] = {
    [VNET_FAULT_LIE] = {"lie", "a queue can't be trusted any more"},
    [VNET_FAULT_ASKED] = {"needs_reset", "the device asked for it"},
    [VNET_FAULT_LOST] = {"state_lost", "the device had lost its state"},
    [VNET_FAULT_STALL] = {"stall", "the device had stopped sending"},
};

/* ---- the end ----------------------------------------------------------------------------- */

static void link_down(struct vnet *nic)
{
    nic->net.link_changes += nic->net.link_up;
    nic->net.link_up = false;
}

static void die(struct vnet *nic)
{
    nic->recover.life = VNET_DEAD;
    nic->net.broken = true;
    link_down(nic);
    vnet_let_go(nic);
}

static void unplugged(struct vnet *nic)
{
    log_error("vnet", "%s: unplugged: nothing answers at %s any more; it is closed", nic->net.name,
              nic->dev->where);
    die(nic);
}

static void give_up(struct vnet *nic)
{
    log_error("vnet", "%s: out of use: %d resets in a row were no help", nic->net.name,
              VNET_RESETS_MAX);
    die(nic);
}

/* ---- from reset to running --------------------------------------------------------------- */

static void go_on(struct vnet *nic);

static void begin(struct vnet *nic)
{
    nic->recover.life = VNET_RESETTING;
    nic->recover.ticks_left = VNET_RESET_TICKS;
    nic->recover.in_a_row++;
    virtio_reset_begin(nic->dev);
    go_on(nic);
}

/* Ticks between reset and start of the n-th attempt in a row: 0, 1, 2, 4, … */
static unsigned pause_before(unsigned attempt)
{
    return attempt > 1 ? 1u << (attempt - 2) : 0;
}

static void failed(struct vnet *nic, const char *why)
{
    struct vnet_recover *r = &nic->recover;

    r->failures++;
    link_down(nic);
    if (r->in_a_row >= VNET_RESETS_MAX) {
        give_up(nic);
        return;
    }
    log_warn("vnet", "%s: reset %u of %d failed: %s; again in %u ms", nic->net.name, r->in_a_row,
             VNET_RESETS_MAX, why, pause_before(r->in_a_row + 1) * NETDEV_TICK_MS);
    begin(nic);
}

/* Counters of a queue only grow, whatever becomes of the queue. */
struct kept_counts {
    uint64_t kicks, saved, overdue;
};

static struct kept_counts take_counts(struct virtqueue *vq)
{
    const struct kept_counts k = {vq->kicks, vq->kicks_saved, vq->kicks_overdue};

    vq->kicks = vq->kicks_saved = vq->kicks_overdue = 0;
    return k;
}

static void put_counts(struct virtqueue *vq, const struct kept_counts *k)
{
    vq->kicks += k->kicks;
    vq->kicks_saved += k->saved;
    vq->kicks_overdue += k->overdue;
}

static int start_again(struct vnet *nic)
{
    struct virtio_dev *dev = nic->dev;

    int err = vnet_negotiate(nic, dev, &nic->opt);
    /* Vectors are forgotten by a reset (§4.1.5.1.2); entry 0 is always the configuration's. */
    if (!err && dev->msix)
        err = dev->transport->config_vector(dev, 0);
    return err ? err : vnet_bring_up(nic);
}

static void reopen(struct vnet *nic)
{
    struct vnet_recover *r = &nic->recover;
    const struct kept_counts rx = take_counts(&nic->rx.vq), tx = take_counts(&nic->tx.vq);
    uint32_t more;

    const int err = start_again(nic);
    put_counts(&nic->rx.vq, &rx);
    put_counts(&nic->tx.vq, &tx);
    if (err) {
        failed(nic, strerror(-err));
        return;
    }
    r->life = VNET_RUNNING;
    r->running_ticks = r->look_ticks = r->stall_ticks = 0;
    if (!log_limit_pass(&r->log, &more))
        return;
    log_warn("vnet", "%s: reset, because %s; it runs again", nic->net.name, words[r->fault].text);
    if (more)
        log_warn("vnet", "%s: (%u resets more, unsaid)", nic->net.name, (unsigned)more);
}

static void look_at_reset(struct vnet *nic)
{
    struct vnet_recover *r = &nic->recover;

    switch (virtio_reset_ended(nic->dev)) {
    case 0:
        vnet_close_queues(nic, true);
        r->life = VNET_WAITING;
        r->ticks_left = pause_before(r->in_a_row);
        break;
    case -ENODEV:
        unplugged(nic);
        break;
    default:
        if (r->ticks_left-- == 0)
            failed(nic, "it never ended");
        break;
    }
}

static void go_on(struct vnet *nic)
{
    struct vnet_recover *r = &nic->recover;

    if (r->life == VNET_RESETTING)
        look_at_reset(nic);
    else if (r->ticks_left > 0)
        r->ticks_left--;
    if (r->life == VNET_WAITING && r->ticks_left == 0)
        reopen(nic);
}

/* ---- faults ------------------------------------------------------------------------------ */

void vnet_recover(struct vnet *nic, enum vnet_fault fault)
{
    struct vnet_recover *r = &nic->recover;

    r->fault = fault;
    r->faults[fault]++;
    nic->config_changed = false;
    /* A stall is seldom the device's fault, and has a patience of its own. */
    if (r->running_ticks >= VNET_STABLE_TICKS || fault == VNET_FAULT_STALL)
        r->in_a_row = 0;
    if (r->in_a_row >= VNET_RESETS_MAX)
        failed(nic, words[fault].text);
    else
        begin(nic);
}

bool vnet_recover_look(struct vnet *nic)
{
    switch (virtio_look(nic->dev)) {
    case 0:
        return true;
    case -ENODEV:
        unplugged(nic);
        return false;
    case -EIO:
        vnet_recover(nic, VNET_FAULT_ASKED);
        return false;
    default:
        vnet_recover(nic, VNET_FAULT_LOST);
        return false;
    }
}

bool vnet_recover_tick(struct vnet *nic)
{
    struct vnet_recover *r = &nic->recover;

    if (r->life == VNET_RUNNING) {
        if (r->running_ticks < VNET_STABLE_TICKS)
            r->running_ticks++;
        if (++r->look_ticks >= VNET_LOOK_TICKS) {
            r->look_ticks = 0;
            vnet_recover_look(nic);
        }
    } else if (r->life != VNET_DEAD) {
        go_on(nic);
    }
    return r->life == VNET_RUNNING;
}

void vnet_recover_watch(struct vnet *nic)
{
    struct vnet_recover *r = &nic->recover;

    if (r->stall_limit == 0 || nic->tx.done != r->sent_seen)
        r->stall_limit = VNET_STALL_TICKS;
    /* Without a link a device may keep what it has. */
    if (nic->tx.done != r->sent_seen || vq_posted_count(&nic->tx.vq) == 0 || !nic->net.link_up) {
        r->sent_seen = nic->tx.done;
        r->stall_ticks = 0;
        return;
    }
    r->stall_ticks++;
    if (r->stall_ticks >= r->stall_limit) {
        r->stall_limit =
            r->stall_limit * 2 < VNET_STALL_TICKS_MAX ? r->stall_limit * 2 : VNET_STALL_TICKS_MAX;
        vnet_recover(nic, VNET_FAULT_STALL);
    } else if (r->stall_ticks % VNET_STALL_KICK_TICKS == 0) {
        r->kicks_again++;
        vq_kick_again(&nic->tx.vq);
    }
}

const char *vnet_recover_label(struct vnet *nic, enum vnet_fault fault)
{
    char *text = nic->recover.labels[fault];

    snprintf(text, VNET_LABEL_BYTES, "%s,reason=\"%s\"", nic->label, words[fault].label);
    return text;
}
