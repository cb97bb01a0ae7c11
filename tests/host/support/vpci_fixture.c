#include "tests/host/support/vpci_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <cmocka.h>

#include "drivers/virtio/spec.h"

enum { PAGES = 1024 };

const struct fake_vpci_setup vpci_modern = {.features = VIRTIO_VERSION_1,
                                            .queue_size = 256,
                                            .modern = true,
                                            .vectors = 3,
                                            .notify_multiplier = 4,
                                            .slot = 3};
const struct fake_vpci_setup vpci_legacy = {
    .features = 1u << 5, .queue_size = 256, .legacy = true, .vectors = 3, .slot = 3};
const struct fake_vpci_setup vpci_transitional = {.features = VIRTIO_VERSION_1 | 1u << 5,
                                                  .queue_size = 256,
                                                  .modern = true,
                                                  .legacy = true,
                                                  .vectors = 3,
                                                  .notify_multiplier = 4,
                                                  .slot = 3};

struct opening {
    struct virtio_pci *vp;
    int err;
};

static void found(void *arg, const struct pci_function *fn)
{
    struct opening *o = arg;

    if (virtio_pci_match(fn, VIRTIO_TYPE_NET))
        o->err = virtio_pci_open(o->vp, fn);
}

int vpci_open(struct vpci_fixture *fix, const struct fake_vpci_setup *setup)
{
    struct opening o = {&fix->vp, -1};

    net_env_init(PAGES);
    *fix = (struct vpci_fixture){0};
    fake_pci_init(&fix->machine);
    fake_vpci_init(&fix->fake, &fix->machine, setup);
    pci_scan(&pci_ports, found, &o);
    return o.err;
}

void vpci_negotiate(struct vpci_fixture *fix, const struct fake_vpci_setup *setup)
{
    assert_int_equal(vpci_open(fix, setup), 0);
    assert_int_equal(virtio_negotiate(&fix->vp.dev, UINT64_MAX, 0, NULL), 0);
}

static void count_event(void *arg, bool config)
{
    struct vpci_fixture *fix = arg;

    if (config)
        fix->config_events++;
    else
        fix->queue_events++;
}

int vpci_irqs(struct vpci_fixture *fix, enum virtio_irqs kind, uint16_t vectors[2])
{
    fix->queue_events = fix->config_events = 0;
    return virtio_pci_irqs(&fix->vp.dev, kind, count_event, fix, 2, vectors);
}

int vpci_queue(struct vpci_fixture *fix, uint16_t idx, uint16_t max_size, uint16_t vector)
{
    return vq_open(&fix->vq[idx], &fix->vp.dev, idx, max_size, 1, vector);
}

static void forget(void *arg, void *cookie)
{
    (void)arg;
    (void)cookie;
}

void vpci_close(struct vpci_fixture *fix)
{
    if (fix->vp.dev.transport)
        virtio_reset(&fix->vp.dev);
    for (unsigned i = 0; i < FAKE_QUEUES; i++)
        vq_close(&fix->vq[i], forget, NULL);
    virtio_pci_close(&fix->vp.dev);
    if (fix->fake.vdev.violations)
        fail_msg("driver: %s", fix->fake.vdev.violation);
    if (fix->machine.violations)
        fail_msg("driver: %s", fix->machine.violation);
    assert_true(net_env_clean());
    assert_int_equal(host_bus_misaligned(), 0);
}
