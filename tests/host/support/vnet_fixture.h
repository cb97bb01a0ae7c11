/*
 * A started vnet on a fake device, with a stack that remembers: for the vnet tests.
 */
#ifndef TESTS_HOST_SUPPORT_VNET_FIXTURE_H
#define TESTS_HOST_SUPPORT_VNET_FIXTURE_H

#include "drivers/virtio_net/vnet.h"
#include "tests/fake/fake_vdev.h"
#include "tests/host/support/net_env.h"

#define BIT(n) (1ull << (n))

/* Feature sets worth running everything on. */
struct vnet_flavour {
    const char *name;
    uint64_t offered;
    bool legacy;
};
enum { VNET_FLAVOURS = 7 };
extern const struct vnet_flavour vnet_flavours[VNET_FLAVOURS];

enum { FIX_SENT_MAX = 4096, FIX_PAGES = 4096 };

struct vnet_fixture {
    struct fake_vdev fake;
    struct vnet nic;
    struct opt_vnet opt; /* set before fix_open() */
    size_t pages;        /* likewise; 0 = FIX_PAGES */
    uint16_t vlan_id;    /* likewise */

    void *sent[FIX_SENT_MAX]; /* cookies, in order */
    unsigned sent_count;
    unsigned room_calls, announce_calls;
    void (*in_room)(struct vnet_fixture *fix); /* called from on_room(), if set */
};

/* Open; the test fails when that fails. Ring sizes are `size`. */
void fix_open(struct vnet_fixture *fix, uint64_t offered, bool legacy, uint16_t size);

/* The same in steps, for tests of failures. */
void fix_prepare(struct vnet_fixture *fix, uint64_t offered, bool legacy, uint16_t size);
int fix_start(struct vnet_fixture *fix);

/* Close; nothing must be left, and the driver must have broken no rule. */
void fix_close(struct vnet_fixture *fix);

/* posted + free = size, and the ring holds what it should. */
void fix_check(const struct vnet_fixture *fix);

/* A frame of `len` bytes whose content follows from seed; and whether these bytes are that frame. */
void fix_fill(uint8_t *frame, size_t len, unsigned seed);
bool fix_same(const struct frame_in *frame, size_t len, unsigned seed);

/* Poll for one frame. False when there is none. */
bool fix_poll(struct vnet_fixture *fix, struct frame_in *frame);

/* Send one piece of memory. send()'s result. */
int fix_send(struct vnet_fixture *fix, const void *data, uint32_t len, void *cookie);

/* So many ticks go by. */
void fix_ticks(struct vnet_fixture *fix, unsigned count);

/* The NIC runs: its receive ring is full, nothing is missing, and frames pass both ways. */
void fix_check_runs(struct vnet_fixture *fix);

#endif
