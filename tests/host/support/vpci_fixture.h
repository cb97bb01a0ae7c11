/* A virtio device on a fake PCI bus, opened by the driver: for the tests of the PCI transports. */
#ifndef TESTS_HOST_SUPPORT_VPCI_FIXTURE_H
#define TESTS_HOST_SUPPORT_VPCI_FIXTURE_H

#include "drivers/virtio/virtio_pci.h"
#include "drivers/virtio/virtqueue.h"
#include "tests/fake/fake_vpci.h"
#include "tests/host/support/net_env.h"

struct vpci_fixture {
    struct fake_pci machine;
    struct fake_vpci fake;
    struct virtio_pci vp;
    struct virtqueue vq[FAKE_QUEUES];
    unsigned queue_events, config_events;
};

/* What most tests start from: VERSION_1, 256 entries, three vectors. */
extern const struct fake_vpci_setup vpci_modern, vpci_legacy, vpci_transitional;

/* A fresh machine with that device; found and opened. virtio_pci_open()'s result. */
int vpci_open(struct vpci_fixture *fix, const struct fake_vpci_setup *setup);

/* The same up to what must succeed: open, negotiate all that is offered. */
void vpci_negotiate(struct vpci_fixture *fix, const struct fake_vpci_setup *setup);

/* virtio_pci_irqs() for two queues, counting events into the fixture. */
int vpci_irqs(struct vpci_fixture *fix, enum virtio_irqs kind, uint16_t vectors[2]);

/* Open queue idx. vq_open()'s result. */
int vpci_queue(struct vpci_fixture *fix, uint16_t idx, uint16_t max_size, uint16_t vector);

/* Reset and close everything; the test fails if the driver broke a rule or left something behind. */
void vpci_close(struct vpci_fixture *fix);

#endif
