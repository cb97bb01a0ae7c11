/*
 * A virtio device as its driver sees it: reset, negotiate, set up queues, start.
 *
 * virtio 1.2, chapters 2, 3 and 4. What differs between modern PCI, legacy PCI and MMIO hides
 * behind struct virtio_transport; what is common (the order of §3.1.1, time limits, the status
 * bits) is written once, in device.c.
 *
 * Poll loop or boot only. Every wait is bounded by VIRTIO_RESET_TIMEOUT_MS, or, once the device has been in
 * service, by VIRTIO_RESET_SPIN_MS.
 */
#ifndef DRIVERS_VIRTIO_DEVICE_H
#define DRIVERS_VIRTIO_DEVICE_H

#include "lib/types.h"

enum {
    VIRTIO_RESET_TIMEOUT_MS = 1000, /* QEMU's takes microseconds, hardware's up to some 100 ms */
    VIRTIO_RESET_SPIN_MS = 10,      /* the same for a device in service: others wait with us */
    VIRTIO_NO_VECTOR = 0xffff,
    VIRTIO_CONFIG_READ_MAX = 64, /* bytes of one virtio_config_read() */
};

struct virtio_dev;
struct virtqueue;

/* Where a queue's three parts lie, as the device sees them. Legacy wants one contiguous block. */
struct virtio_queue_mem {
    dma_addr desc, driver, device; /* descriptor table, avail ring, used ring */
    uint16_t size;                 /* entries */
};

/* How a device's events reach us; each next one works with less. */
enum virtio_irqs {
    VIRTIO_IRQ_PER_QUEUE, /* MSI-X: configuration, and each queue its own */
    VIRTIO_IRQ_TWO,       /* MSI-X: configuration, and one for all queues */
    VIRTIO_IRQ_SHARED,    /* MSI-X: one for everything */
    VIRTIO_IRQ_LINE,      /* INTx, or an MMIO device's line */
    VIRTIO_IRQ_NONE,      /* nothing works: the poll loop's tick looks */
    VIRTIO_IRQ_KINDS
};

/* Called in interrupt context for every event; config: the configuration may have changed, too. */
typedef void virtio_event(void *arg, bool config);

struct virtio_transport {
    const char *name; /* "modern", "legacy", "mmio", "mmio legacy" */
    bool legacy; /* 10-byte header without MRG, legacy ring layout (§2.7.2), ≤ 32 feature bits */

    uint8_t (*get_status)(struct virtio_dev *dev);
    void (*set_status)(struct virtio_dev *dev, uint8_t status);
    uint64_t (*get_features)(struct virtio_dev *dev);
    void (*set_features)(struct virtio_dev *dev, uint64_t features);
    uint32_t (*config_generation)(struct virtio_dev *dev); /* legacy: constant */
    /* Read len bytes of device config at offset. Aligned 2, 4 or 8 bytes are taken for one field and read in its
     * natural width, all else byte by byte (§4.1.3.1). -ERANGE past its end. */
    int (*config_read)(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len);
    /* Entries that the device offers for queue idx; 0 = no such queue. May be any value: it is checked. */
    uint16_t (*queue_max_size)(struct virtio_dev *dev, uint16_t idx);
    /* Publish the rings, vector included, and enable. vector VIRTIO_NO_VECTOR = INTx or none.
     * -EIO when the device refuses the vector (read back) or the queue; -ENOMEM when the rings lie where it
     * can't reach them (legacy: above 16 TiB). */
    int (*queue_setup)(struct virtio_dev *dev, uint16_t idx, const struct virtio_queue_mem *mem,
                       uint16_t vector);
    /* Tell the device that queue idx, which has been set up, holds new buffers. Hot: one register write. */
    void (*notify)(struct virtio_dev *dev, uint16_t idx);
    /* INTx only: read (and clear) ISR. Returns its bits: 1 queue, 2 config. */
    uint8_t (*read_isr)(struct virtio_dev *dev);
    int (*config_vector)(struct virtio_dev *dev, uint16_t vector);
    /*
     * Set up interrupts of one kind, before queue_setup(), and after virtio_reset() or virtio_negotiate(): a reset
     * forgets vectors. vectors receives what queue_setup() wants for each of queue_count queues.
     *
     * Returns 0; -ENOENT or -EINVAL when the device has no such kind; -ENOSPC, -EIO when the device or the processor
     * refuses it. After an error, or when queue_setup() refuses a vector, try the next kind: what was taken is used
     * again. Boot or poll loop.
     */
    int (*irqs)(struct virtio_dev *dev, enum virtio_irqs kind, virtio_event *on_event, void *arg,
                uint16_t queue_count, uint16_t *vectors);
    /* No more interrupts, no more access to memory. The device should have been reset. */
    void (*close)(struct virtio_dev *dev);
    /* Does anything stand where the device stood? Asked when its registers read oddly; NULL: nobody can tell. */
    bool (*is_present)(struct virtio_dev *dev);
};

struct virtio_dev {
    const struct virtio_transport *transport;
    uint16_t device_id; /* virtio device type: 1 = network */
    uint64_t offered;   /* feature bits as offered */
    uint64_t accepted;  /* as negotiated; 0 before virtio_negotiate */
    uint8_t status;     /* the status bits we have set (§2.1) */
    bool msix;          /* vectors are in use; ISR must not be read (§4.1.5.4) */
    bool is_reset;      /* a reset has ended, and nothing was said to the device since */
    bool was_started;   /* virtio_start() has been called once: long waits are over */
    const char *irqs;   /* "msi-x 3", "intx", …: how its events arrive, for log lines */
    char where[16];     /* "00:03.0", likewise */
};

/*
 * Reset, unless that has just been done, ACKNOWLEDGE, DRIVER, then accept (offered & wanted) less every bit whose prerequisite is missing
 * (§5.1.3.1 dependencies are the caller's, given by `depends`), FEATURES_OK and its re-read (§3.1.1).
 *
 *   wanted    bits this driver implements
 *   required  subset of wanted without which it can't work
 *   depends   list of {bit, needs_mask}: bit is dropped unless any of needs_mask was accepted; repeated
 *             until nothing changes; ends with {0, 0}
 *
 * VERSION_1 is required on a modern transport whether or not the caller says so (§6.1); legacy transports carry 32
 * bits. Every failure has been logged, in one line.
 *
 * Returns 0 with dev->accepted set; virtio_reset()'s errors; -ENOTSUP when a required bit is not offered or
 * FEATURES_OK doesn't stick (the device is then FAILED).
 */
struct virtio_depend {
    uint64_t bit, needs_any;
};
int virtio_negotiate(struct virtio_dev *dev, uint64_t wanted, uint64_t required,
                     const struct virtio_depend *depends);

/* DRIVER_OK (§3.1.1 step 8). No notification may precede it. */
void virtio_start(struct virtio_dev *dev);

/*
 * Look at a started device's status. Returns 0 when all is well; -EIO once it has set DEVICE_NEEDS_RESET (§2.1.2);
 * -ESTALE when it knows nothing of DRIVER_OK any more (somebody reset it behind our back); -ENODEV when the
 * status reads as all ones, or the transport misses the device: it was unplugged.
 */
int virtio_look(struct virtio_dev *dev);

/* Reset and wait until status reads 0 (bounded). After it the device no longer touches our memory
 * (§2.4.2). Returns 0; -ETIMEDOUT; -ENODEV at once when nothing answers any more. */
int virtio_reset(struct virtio_dev *dev);

/* The same for a caller who has other things to do than to wait: begin, then ask until it has ended. Returns 0 when
 * it has; -EBUSY; -ENODEV. */
void virtio_reset_begin(struct virtio_dev *dev);
int virtio_reset_ended(struct virtio_dev *dev);

/*
 * Read device config consistently, a bounded number of times: again while config_generation changes (§2.5.3),
 * on legacy, which has none, until two reads agree (§2.5.4).
 * Returns 0; -ERANGE past its end or with len other than 1 … VIRTIO_CONFIG_READ_MAX; -EAGAIN when it never settles.
 */
int virtio_config_read(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len);

/*
 * For transports' config_read(): fill buf with len bytes from offset on, by reads of natural width (§4.1.3.1, §4.2.2.2).
 * read's `bytes` is 1, 2 or 4, and its offset a multiple of that.
 */
void virtio_read_fields(uint32_t (*read)(void *arg, uint32_t offset, unsigned bytes), void *arg,
                        uint32_t offset, void *buf, uint32_t len);

static inline bool virtio_has(const struct virtio_dev *dev, unsigned bit)
{
    return (dev->accepted >> bit) & 1;
}

#endif
