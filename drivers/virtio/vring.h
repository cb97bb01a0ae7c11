/*
 * The split ring as it lies in memory: wire structs and bits, nothing else. virtio 1.2 §2.7.
 *
 * One contiguous block holds the three parts, for either layout:
 *
 *   modern (§2.7)     descriptors | avail | used, each on a cache line (more than the 16/2/4 asked for)
 *   legacy (§2.7.2)   descriptors | avail | pad to the next 4096 | used
 */
#ifndef DRIVERS_VIRTIO_VRING_H
#define DRIVERS_VIRTIO_VRING_H

#include "lib/types.h"

enum { VRING_SIZE_MAX = 32768 }; /* §2.7 */
enum { VRING_LEGACY_ALIGN = 4096 };

enum vring_desc_flags {
    VRING_DESC_NEXT = 1,     /* the chain goes on at next */
    VRING_DESC_WRITE = 2,    /* the device writes it (else reads it) */
    VRING_DESC_INDIRECT = 4, /* addr is a table of descriptors, len its bytes */
};

/* §2.7.5. Written by the driver only; a lying device may scribble here, so it is never read back. */
struct vring_desc {
    le64 addr;
    le32 len;
    le16 flags; /* enum vring_desc_flags */
    le16 next;
};
static_assert(sizeof(struct vring_desc) == 16, "§2.7.5");

enum { VRING_AVAIL_NO_INTERRUPT = 1 }; /* §2.7.7, only without EVENT_IDX */

/* §2.7.6. Written by the driver. Behind ring[size] follows le16 used_event. */
struct vring_avail {
    le16 flags;
    le16 idx; /* free-running */
    le16 ring[];
};

enum { VRING_USED_NO_NOTIFY = 1 }; /* §2.7.10, only without EVENT_IDX */

struct vring_used_elem {
    le32 id;  /* head of the chain */
    le32 len; /* bytes written to its writable part */
};

/* §2.7.8. Written by the device. Behind ring[size] follows le16 avail_event. */
struct vring_used {
    le16 flags;
    le16 idx; /* free-running */
    struct vring_used_elem ring[];
};
static_assert(sizeof(struct vring_used_elem) == 8, "§2.7.8");
static_assert(offsetof(struct vring_used, ring) == 4, "§2.7.8");

/* Where the parts lie in the block, and how long it is. All in bytes. */
struct vring_layout {
    size_t avail, used, total;
};

/* size: a power of two, 1 … VRING_SIZE_MAX. */
static inline struct vring_layout vring_layout(uint16_t size, bool legacy)
{
    const size_t desc_bytes = sizeof(struct vring_desc) * size;
    const size_t avail_bytes = sizeof(struct vring_avail) + sizeof(le16) * (size + 1u);
    const size_t used_bytes =
        sizeof(struct vring_used) + sizeof(struct vring_used_elem) * size + sizeof(le16);
    struct vring_layout l;

    l.avail = legacy ? desc_bytes : size_round_up(desc_bytes, 64);
    l.used = size_round_up(l.avail + avail_bytes, legacy ? VRING_LEGACY_ALIGN : 64);
    l.total = l.used + used_bytes;
    return l;
}

#endif
