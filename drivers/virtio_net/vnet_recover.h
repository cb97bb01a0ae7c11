/*
 * What happens to a NIC after its start: a fault ends in a reset of the device, not in the end of the NIC.
 *
 *                 fault                       status reads 0                  time is over:
 *     RUNNING ───────────────▸ RESETTING ─────────────────────▸ WAITING ─────────────────────▸ RUNNING
 *                               ▴   ▴  patience is over            │  negotiated, queues opened, ring filled
 *                               │   └───────┐                      │
 *                               └───────────┴──────────────────────┘  refused, no memory, no queue
 *
 *     DEAD: unplugged, or VNET_RESETS_MAX resets in a row didn't help
 *
 * RESETTING holds everything that the device may still reach; WAITING holds nothing: frames in flight were reported
 * sent, which means lost, and TCP repairs that. Meanwhile send() answers -EAGAIN, so what the stack has to
 * say waits for on_room(). The stack is told of nothing else, unless the first attempt fails: then the link is down
 * until one succeeds, so that other NICs are chosen.
 *
 * Nobody waits in here: the device is looked at once, and then at every tick. Time is counted in ticks, because a
 * machine that was stopped and goes on, or was restored from a snapshot, sees its clock jump.
 *
 * Poll loop only.
 */
#ifndef DRIVERS_VIRTIO_NET_VNET_RECOVER_H
#define DRIVERS_VIRTIO_NET_VNET_RECOVER_H

#include "lib/counters.h"
#include "lib/log.h"
#include "lib/types.h"

struct vnet;

enum vnet_life { VNET_RUNNING, VNET_RESETTING, VNET_WAITING, VNET_DEAD };

/* Why a reset was begun. */
enum vnet_fault {
    VNET_FAULT_LIE,   /* a queue is broken: virtqueue.c has said how */
    VNET_FAULT_ASKED, /* DEVICE_NEEDS_RESET (§2.1.2) */
    VNET_FAULT_LOST,  /* its status has forgotten that it was started */
    VNET_FAULT_STALL, /* it holds frames to send, and sends none */
    VNET_FAULTS
};

/* Ticks of NETDEV_TICK_MS. */
enum {
    VNET_RESET_TICKS = 10, /* patience with one reset, the same second as at boot */
    VNET_RESETS_MAX =
        10, /* in a row; the last one waits 25 seconds: a back end restarts within it */
    VNET_STABLE_TICKS = 100,    /* running for so long ends a row */
    VNET_LOOK_TICKS = 10,       /* between two looks at a status that nobody announces */
    VNET_STALL_KICK_TICKS = 10, /* no frame sent for so long: kick again, and again */
    VNET_STALL_TICKS = 50,      /* … and then reset; Linux' watchdog has the same 5 seconds */
    /* Each reset that didn't help doubles that, up to 5 minutes. There is no end of it: a back end that is merely
     * stopped comes back some time. */
    VNET_STALL_TICKS_MAX = VNET_STALL_TICKS << 6,
    VNET_LABEL_BYTES = 40,
};

struct vnet_recover {
    enum vnet_life life;
    enum vnet_fault fault;  /* the last one */
    unsigned in_a_row;      /* resets begun since it last ran for VNET_STABLE_TICKS */
    unsigned ticks_left;    /* RESETTING: of patience; WAITING: until the next step */
    unsigned running_ticks; /* up to VNET_STABLE_TICKS */
    unsigned look_ticks;

    /* the watchdog: when did the device last send something? */
    uint64_t sent_seen;
    unsigned stall_ticks, stall_limit; /* limit 0: VNET_STALL_TICKS */

    uint64_t faults[VNET_FAULTS], failures, kicks_again;
    struct log_limit log;
    char labels[VNET_FAULTS][VNET_LABEL_BYTES];
};

/* Begin to recover from a fault of a running NIC. Without delay when the device resets at once, and it is
 * the first in a row: then the NIC is RUNNING again on return. Else it is RESETTING, WAITING or DEAD. */
void vnet_recover(struct vnet *nic, enum vnet_fault fault);

/* Look whether a running device is still there and well; recover if not. True when it is. */
bool vnet_recover_look(struct vnet *nic);

/* One tick: go on with a recovery, or look at a running device now and then. True when the NIC is RUNNING. */
bool vnet_recover_tick(struct vnet *nic);

/* One tick of the watchdog, after completions were taken. */
void vnet_recover_watch(struct vnet *nic);

/* Label of the counter of one fault's resets: nic="net0",reason="lie". */
const char *vnet_recover_label(struct vnet *nic, enum vnet_fault fault);

#endif
