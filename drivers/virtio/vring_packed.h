/*
 * The packed ring as it lies in memory: wire structs and bits, nothing else. virtio 1.2 §2.8.
 *
 * One ring of descriptors that both sides write, of any size from 1 to VRING_SIZE_MAX, and two words that say when
 * each side wants to hear of the other. A place in the ring is a slot and a wrap counter, which starts at 1 and flips
 * each time the ring has been gone through.
 */
#ifndef DRIVERS_VIRTIO_VRING_PACKED_H
#define DRIVERS_VIRTIO_VRING_PACKED_H

#include "drivers/virtio/vring.h" /* NEXT and WRITE are the split ring's */
#include "lib/types.h"

/* §2.8.1. Available: AVAIL is the driver's wrap counter, USED isn't. Used: both are the device's. */
enum vring_packed_flags {
    VRING_PACKED_AVAIL = 1 << 7,
    VRING_PACKED_USED = 1 << 15,
};

/* §2.8.13. The driver makes it available; the device writes id, len and flags when a buffer is used. */
struct vring_packed_desc {
    le64 addr;
    le32 len; /* used: bytes written */
    le16 id;  /* of the buffer; counts in a chain's last descriptor only (§2.8.6) */
    le16 flags;
};
static_assert(sizeof(struct vring_packed_desc) == 16, "§2.8.13");

/* §2.8.14: one such word by the driver (about used buffers), one by the device (about available ones). */
union vring_packed_event {
    struct {
        le16 off_wrap; /* with DESC: slot, and the wrap counter in bit 15 */
        le16 flags;    /* enum vring_packed_event_flags; the other 14 bits are reserved */
    };
    le32 both; /* off_wrap below, flags above: for one look at both */
};
static_assert(sizeof(union vring_packed_event) == 4, "§2.8.14");

enum vring_packed_event_flags {
    VRING_PACKED_EVENT_ENABLE = 0,
    VRING_PACKED_EVENT_DISABLE = 1,
    VRING_PACKED_EVENT_DESC = 2, /* only with EVENT_IDX */
};
enum { VRING_PACKED_WRAP = 1 << 15 };

/* Where the two words lie behind the ring, a cache line each, and where all ends. All in bytes. */
struct vring_packed_layout {
    size_t driver, device, total;
};

/* size: 1 … VRING_SIZE_MAX. */
static inline struct vring_packed_layout vring_packed_layout(uint16_t size)
{
    struct vring_packed_layout l;

    l.driver = size_round_up(sizeof(struct vring_packed_desc) * size, 64);
    l.device = l.driver + 64;
    l.total = l.device + 64;
    return l;
}

#endif
