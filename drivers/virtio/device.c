#include "drivers/virtio/device.h"

#include <errno.h>
#include <string.h>

#include "drivers/virtio/spec.h"
#include "lib/log.h"
#include "port/clock.h"

enum {
    RESET_STEP_US = 10,
    CONFIG_TRIES = 16, /* a device that changes its configuration faster than we read it lies */
};

/* From our own record, so that nonsense read from the device isn't written back; but never is a bit cleared that it
 * may have set itself (§2.1.1). */
static void add_status(struct virtio_dev *dev, uint8_t bits)
{
    dev->status |= bits;
    dev->is_reset = false;
    const uint8_t theirs = dev->transport->get_status(dev) & VIRTIO_S_NEEDS_RESET;
    dev->transport->set_status(dev, dev->status | theirs);
}

void virtio_reset_begin(struct virtio_dev *dev)
{
    dev->status = 0;
    dev->is_reset = false;
    dev->transport->set_status(dev, 0);
}

/*
 * Where nothing is, a PC's bus answers with ones. QEMU's answers 0 in memory, which would pass for a device that was just
 * reset; so who has been started once is looked for.
 */
static bool is_gone(struct virtio_dev *dev, uint8_t status)
{
    if (status == VIRTIO_S_GONE)
        return true;
    return status == 0 && dev->was_started && dev->transport->is_present &&
           !dev->transport->is_present(dev);
}

/* Status reads 0 once the device has let go of everything (§4.1.4.3.2). */
int virtio_reset_ended(struct virtio_dev *dev)
{
    const uint8_t status = dev->transport->get_status(dev);

    dev->is_reset = false;
    if (is_gone(dev, status))
        return -ENODEV;
    dev->is_reset = status == 0;
    return status == 0 ? 0 : -EBUSY;
}

int virtio_reset(struct virtio_dev *dev)
{
    const unsigned limit_ms = dev->was_started ? VIRTIO_RESET_SPIN_MS : VIRTIO_RESET_TIMEOUT_MS;

    virtio_reset_begin(dev);
    /* Looks are counted, not time: a hypervisor that doesn't let us run mustn't use up our patience. */
    for (unsigned looks = 0; looks <= limit_ms * 1000 / RESET_STEP_US; looks++) {
        const int err = virtio_reset_ended(dev);
        if (err != -EBUSY)
            return err;
        clock_spin_us(RESET_STEP_US);
    }
    return -ETIMEDOUT;
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

/* Which of what is offered to accept. */
static uint64_t choose(const struct virtio_dev *dev, uint64_t wanted,
                       const struct virtio_depend *depends)
{
    /* The legacy interface has 32 bits only (§2.2.3); on the modern one VERSION_1 is a must (§6.1). */
    const uint64_t carried = dev->transport->legacy ? UINT32_MAX : UINT64_MAX;

    return close_dependencies(dev->offered & (wanted | VIRTIO_VERSION_1) & carried, depends);
}

static int give_up(struct virtio_dev *dev, const char *why, uint64_t bits)
{
    log_error("virtio", "%s: %s %#llx", dev->where, why, (unsigned long long)bits);
    add_status(dev, VIRTIO_S_FAILED);
    return -ENOTSUP;
}

/* §3.1.1 steps 5 and 6. Legacy devices know no FEATURES_OK (§3.1.2). */
static bool features_stick(struct virtio_dev *dev, uint64_t bits)
{
    dev->transport->set_features(dev, bits);
    if (dev->transport->legacy)
        return true;
    add_status(dev, VIRTIO_S_FEATURES_OK);
    const uint8_t status = dev->transport->get_status(dev);
    return status != VIRTIO_S_GONE && (status & VIRTIO_S_FEATURES_OK) != 0;
}

int virtio_negotiate(struct virtio_dev *dev, uint64_t wanted, uint64_t required,
                     const struct virtio_depend *depends)
{
    dev->accepted = 0;
    const int err = dev->is_reset ? 0 : virtio_reset(dev);
    if (err) {
        log_error("virtio", "%s: %s", dev->where,
                  err == -ENODEV ? "nothing answers any more" : "its reset never ends");
        return err;
    }
    add_status(dev, VIRTIO_S_ACKNOWLEDGE);
    add_status(dev, VIRTIO_S_DRIVER);

    if (!dev->transport->legacy)
        required |= VIRTIO_VERSION_1;
    dev->offered = dev->transport->get_features(dev);
    const uint64_t bits = choose(dev, wanted, depends);
    if (required & ~bits)
        return give_up(dev, "it doesn't offer the features that it can't be driven without:",
                       required & ~bits);
    if (!features_stick(dev, bits))
        return give_up(dev, "it refuses features that it offered:", bits);
    dev->accepted = bits;
    return 0;
}

void virtio_start(struct virtio_dev *dev)
{
    dev->was_started = true;
    add_status(dev, VIRTIO_S_DRIVER_OK);
}

int virtio_look(struct virtio_dev *dev)
{
    const uint8_t status = dev->transport->get_status(dev);

    if (is_gone(dev, status))
        return -ENODEV;
    if (status & VIRTIO_S_NEEDS_RESET)
        return -EIO;
    return status & VIRTIO_S_DRIVER_OK ? 0 : -ESTALE;
}

/* ---- configuration ---- */

static int read_with_generation(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len)
{
    for (int i = 0; i < CONFIG_TRIES; i++) {
        const uint32_t before = dev->transport->config_generation(dev);
        const int err = dev->transport->config_read(dev, offset, buf, len);

        if (err)
            return err;
        if (dev->transport->config_generation(dev) == before)
            return 0;
    }
    return -EAGAIN;
}

static int read_until_same(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len)
{
    uint8_t again[VIRTIO_CONFIG_READ_MAX];

    int err = dev->transport->config_read(dev, offset, buf, len);
    for (int i = 0; !err && i < CONFIG_TRIES; i++) {
        err = dev->transport->config_read(dev, offset, again, len);
        if (err)
            return err;
        if (memcmp(buf, again, len) == 0)
            return 0;
        memcpy(buf, again, len);
    }
    return err ? err : -EAGAIN;
}

int virtio_config_read(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len)
{
    if (len == 0 || len > VIRTIO_CONFIG_READ_MAX)
        return -ERANGE;
    const int err = dev->transport->legacy ? read_until_same(dev, offset, buf, len)
                                           : read_with_generation(dev, offset, buf, len);
    if (err == -EAGAIN)
        log_once(LOG_ERROR, "virtio", "%s: its configuration never settles", dev->where);
    return err;
}

void virtio_read_fields(uint32_t (*read)(void *arg, uint32_t offset, unsigned bytes), void *arg,
                        uint32_t offset, void *buf, uint32_t len)
{
    uint8_t *to = buf;
    const unsigned width = len == 2 && offset % 2 == 0                 ? 2
                           : (len == 4 || len == 8) && offset % 4 == 0 ? 4
                                                                       : 1;

    /* A 64-bit field is read as two halves. */
    for (uint32_t i = 0; i < len; i += width) {
        const uint32_t v = read(arg, offset + i, width);

        memcpy(to + i, &v, width);
    }
}
