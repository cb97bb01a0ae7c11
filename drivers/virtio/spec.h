/*
 * virtio's devices on the wire: status bits, common feature bits, capabilities and registers of PCI and MMIO; nothing
 * else. virtio 1.2 chapters 2, 4.1, 4.2 and 6.
 */
#ifndef DRIVERS_VIRTIO_SPEC_H
#define DRIVERS_VIRTIO_SPEC_H

#include "lib/types.h"

/* §2.1 */
enum virtio_status {
    VIRTIO_S_ACKNOWLEDGE = 1,
    VIRTIO_S_DRIVER = 2,
    VIRTIO_S_DRIVER_OK = 4,
    VIRTIO_S_FEATURES_OK = 8,
    VIRTIO_S_NEEDS_RESET = 64,
    VIRTIO_S_FAILED = 128,
    VIRTIO_S_GONE = 0xff, /* no device answers: every read gives ones */
};

/* §6 */
enum { VIRTIO_F_VERSION_1 = 32 };
#define VIRTIO_VERSION_1 (1ull << VIRTIO_F_VERSION_1)

/* §4.1.2: device IDs. Transitional devices have their type in the subsystem ID. */
enum {
    VIRTIO_PCI_VENDOR = 0x1af4,
    VIRTIO_PCI_TRANSITIONAL_FIRST = 0x1000,
    VIRTIO_PCI_TRANSITIONAL_LAST = 0x103f,
    VIRTIO_PCI_MODERN_FIRST = 0x1040,
    VIRTIO_PCI_MODERN_LAST = 0x107f,
    VIRTIO_TYPE_NET = 1,
};

/* §4.1.4 */
enum virtio_pci_cfg_type {
    VIRTIO_PCI_CAP_COMMON = 1,
    VIRTIO_PCI_CAP_NOTIFY = 2,
    VIRTIO_PCI_CAP_ISR = 3,
    VIRTIO_PCI_CAP_DEVICE = 4,
    VIRTIO_PCI_CAP_WINDOW = 5, /* "PCI configuration access", §4.1.4.9 */
};

/* §4.1.4: where each field lies behind a vendor capability's start. Read by pci_read*(). */
enum virtio_pci_cap_field {
    VIRTIO_PCI_CAP_LEN = 2,
    VIRTIO_PCI_CAP_TYPE = 3,
    VIRTIO_PCI_CAP_BAR = 4,
    VIRTIO_PCI_CAP_OFFSET = 8,
    VIRTIO_PCI_CAP_LENGTH = 12,
    VIRTIO_PCI_CAP_BYTES = 16,
    VIRTIO_PCI_CAP_MULTIPLIER = 16, /* notify only */
    VIRTIO_PCI_CAP_NOTIFY_BYTES = 20,
    VIRTIO_PCI_CAP_DATA = 16, /* window only */
    VIRTIO_PCI_CAP_WINDOW_BYTES = 20,
};

/* §4.1.4.3. 64-bit fields are written as two 32-bit halves: §4.1.3.1. */
struct virtio_pci_common_cfg {
    le32 device_feature_select; /* RW  which 32 feature bits to look at */
    le32 device_feature;        /* RO  those bits, as offered */
    le32 driver_feature_select; /* RW */
    le32 driver_feature;        /* RW  those bits, as accepted */
    le16 config_msix_vector;    /* RW */
    le16 num_queues;            /* RO */
    uint8_t device_status;      /* RW  enum virtio_status; writing 0 resets */
    uint8_t config_generation;  /* RO  changes whenever device config does */
    le16 queue_select;          /* RW  the queue the fields below speak of */
    le16 queue_size;            /* RW  entries, a power of two; 0 = no such queue */
    le16 queue_msix_vector;     /* RW */
    le16 queue_enable;          /* RW  1 = live */
    le16 queue_notify_off;      /* RO  in units of notify_off_multiplier */
    struct {
        le32 lo, hi;
    } queue_desc, queue_driver, queue_device; /* RW */
};
static_assert(offsetof(struct virtio_pci_common_cfg, device_status) == 0x14, "§4.1.4.3");
static_assert(offsetof(struct virtio_pci_common_cfg, queue_desc) == 0x20, "§4.1.4.3");
static_assert(sizeof(struct virtio_pci_common_cfg) == 0x38, "§4.1.4.3");

/* §4.1.4.10: the legacy interface's registers, from the start of BAR 0. */
enum virtio_legacy_register {
    VIRTIO_LEGACY_DEVICE_FEATURES = 0, /* 32 */
    VIRTIO_LEGACY_DRIVER_FEATURES = 4, /* 32 */
    VIRTIO_LEGACY_QUEUE_ADDRESS = 8,   /* 32, in pages of 4096 bytes */
    VIRTIO_LEGACY_QUEUE_SIZE = 12,     /* 16, read-only */
    VIRTIO_LEGACY_QUEUE_SELECT = 14,   /* 16 */
    VIRTIO_LEGACY_QUEUE_NOTIFY = 16,   /* 16 */
    VIRTIO_LEGACY_STATUS = 18,         /* 8 */
    VIRTIO_LEGACY_ISR = 19,            /* 8, read clears */
    VIRTIO_LEGACY_CONFIG_VECTOR = 20,  /* 16, only while MSI-X is on … */
    VIRTIO_LEGACY_QUEUE_VECTOR = 22,
    VIRTIO_LEGACY_CONFIG = 20, /* … and then the device's own configuration starts at 24 */
    VIRTIO_LEGACY_CONFIG_MSIX = 24,
};

/* §4.1.4.5: what the ISR says. */
enum { VIRTIO_ISR_QUEUE = 1, VIRTIO_ISR_CONFIG = 2 };

/* §4.2.2, and for version 1 §4.2.4: offsets; each register has 32 bits. */
enum virtio_mmio_register {
    VIRTIO_MMIO_MAGIC = 0x000,
    VIRTIO_MMIO_VERSION = 0x004,
    VIRTIO_MMIO_DEVICE_ID = 0x008, /* 0: nothing is there */
    VIRTIO_MMIO_DEVICE_FEATURES = 0x010,
    VIRTIO_MMIO_DEVICE_FEATURES_SEL = 0x014,
    VIRTIO_MMIO_DRIVER_FEATURES = 0x020,
    VIRTIO_MMIO_DRIVER_FEATURES_SEL = 0x024,
    VIRTIO_MMIO_GUEST_PAGE_SIZE = 0x028, /* version 1 */
    VIRTIO_MMIO_QUEUE_SEL = 0x030,
    VIRTIO_MMIO_QUEUE_NUM_MAX = 0x034, /* entries; 0: no such queue */
    VIRTIO_MMIO_QUEUE_NUM = 0x038,
    VIRTIO_MMIO_QUEUE_ALIGN = 0x03c, /* version 1: bytes */
    VIRTIO_MMIO_QUEUE_PFN = 0x040,   /* version 1: in pages; 0: not in use */
    VIRTIO_MMIO_QUEUE_READY = 0x044,
    VIRTIO_MMIO_QUEUE_NOTIFY = 0x050,
    VIRTIO_MMIO_INTERRUPT_STATUS = 0x060, /* VIRTIO_ISR_* */
    VIRTIO_MMIO_INTERRUPT_ACK = 0x064,
    VIRTIO_MMIO_STATUS = 0x070,
    VIRTIO_MMIO_QUEUE_DESC = 0x080, /* and the upper half behind it, each */
    VIRTIO_MMIO_QUEUE_DRIVER = 0x090,
    VIRTIO_MMIO_QUEUE_DEVICE = 0x0a0,
    VIRTIO_MMIO_CONFIG_GENERATION = 0x0fc,
    VIRTIO_MMIO_CONFIG = 0x100, /* the device's own configuration, to the end */
};
enum { VIRTIO_MMIO_MAGIC_VALUE = 0x74726976 }; /* "virt" */

#endif
