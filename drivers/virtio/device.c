#include "drivers/virtio/device.h"

#include <errno.h>

#include "drivers/virtio/spec.h"
#include "lib/log.h"
#include "port/clock.h"

enum {
    RESET_STEP_US = 10,
    CONFIG_TRIES = 16, /* a device that changes its configuration faster than we read it lies */
};

static void add_status(struct virtio_dev *dev, uint8_t bits)
{
    dev->transport->set_status(dev, (uint8_t)(dev->transport->get_status(dev) | bits));
}

int virtio_reset(struct virtio_dev *dev)
{
    const uint64_t deadline_us = clock_now_us() + VIRTIO_RESET_TIMEOUT_MS * 1000ull;

    dev->transport->set_status(dev, 0);
    /* Status reads 0 once the device has let go of everything (§4.1.4.3.2). */
    while (dev->transport->get_status(dev) != 0) {
        if (clock_now_us() >= deadline_us)
            return -ETIMEDOUT;
        clock_spin_us(RESET_STEP_US);
    }
    return 0;
}

static int give_up(struct virtio_dev *dev, int err, const char *why)
{
    log_error("virtio", "%s: %s", dev->where, why);
    add_status(dev, VIRTIO_S_FAILED);
    dev->accepted = 0;
    return err;
}

/* Drop bits whose prerequisite is missing, until none is. */
static uint64_t close_dependencies(uint64_t bits, const struct virtio_depend *depends)
{
    uint64_t before;

    do {
        before = bits;
        for (const struct virtio_depend *d = depends; d && d->bit; d++) {
            if ((bits & d->needs_any) == 0)
                bits &= ~d->bit;
        }
    } while (bits != before);
    return bits;
}

static bool features_ok(struct virtio_dev *dev)
{
    add_status(dev, VIRTIO_S_FEATURES_OK);
    return (dev->transport->get_status(dev) & VIRTIO_S_FEATURES_OK) != 0;
}

int virtio_negotiate(struct virtio_dev *dev, uint64_t wanted, uint64_t required,
                     const struct virtio_depend *depends)
{
    int err = virtio_reset(dev);

    if (err) {
        log_error("virtio", "%s: reset never ends", dev->where);
        return err;
    }
    add_status(dev, VIRTIO_S_ACKNOWLEDGE);
    add_status(dev, VIRTIO_S_DRIVER);

    dev->offered = dev->transport->get_features(dev);
    uint64_t bits = dev->offered & wanted;
    /* The legacy interface has 32 bits only (§2.2.3); on the modern one VERSION_1 is a must (§6.1). */
    if (dev->transport->legacy)
        bits &= UINT32_MAX;
    else if ((dev->offered >> VIRTIO_F_VERSION_1 & 1) == 0)
        return give_up(dev, -ENOTSUP, "a modern device that doesn't offer VERSION_1");
    else
        bits |= 1ull << VIRTIO_F_VERSION_1;
    bits = close_dependencies(bits, depends);
    if ((bits & required) != required)
        return give_up(dev, -ENOTSUP, "the device doesn't offer what the driver needs");

    dev->transport->set_features(dev, bits);
    if (!dev->transport->legacy && !features_ok(dev))
        return give_up(dev, -ENOTSUP, "the device refuses the features that it offered");
    dev->accepted = bits;
    return 0;
}

void virtio_start(struct virtio_dev *dev)
{
    add_status(dev, VIRTIO_S_DRIVER_OK);
}

bool virtio_needs_reset(struct virtio_dev *dev)
{
    const uint8_t status = dev->transport->get_status(dev);

    return status == VIRTIO_S_GONE || (status & VIRTIO_S_NEEDS_RESET) != 0;
}

int virtio_config_read(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len)
{
    for (int i = 0; i < CONFIG_TRIES; i++) {
        const uint8_t before = dev->transport->config_generation(dev);
        const int err = dev->transport->config_read(dev, offset, buf, len);

        if (err)
            return err;
        if (dev->transport->config_generation(dev) == before)
            return 0;
    }
    return -EAGAIN;
}
