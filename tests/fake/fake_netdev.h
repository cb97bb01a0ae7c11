/*
 * A NIC for tests of net/: frames are put in by hand, what is sent is kept for inspection.
 *
 * It keeps the promises of drivers/netdev.h: pieces are borrowed until fake_netdev_complete() hands their cookies
 * back, a full ring says -EAGAIN, and on_room() comes from poll() only.
 */
#ifndef TESTS_FAKE_NETDEV_H
#define TESTS_FAKE_NETDEV_H

#include "drivers/netdev.h"

enum { FAKE_NETDEV_FRAMES = 1024, FAKE_NETDEV_FRAME_MAX = 70000 };

struct fake_sent {
    uint8_t *bytes; /* a copy, made when it was sent */
    size_t len;
    size_t piece_count;
    struct frame_offload offload;
    void *cookie;
    bool completed;
};

struct fake_netdev {
    struct netdev dev;
    struct frame_in rx[FAKE_NETDEV_FRAMES];
    size_t rx_count;
    struct fake_sent sent[FAKE_NETDEV_FRAMES];
    size_t sent_count;
    size_t ring_size; /* frames that may be sent and not completed */
    size_t in_ring;
    bool refused;   /* owes an on_room() */
    int send_error; /* what send() returns, when not 0 */
    size_t flushes, ticks, arms, disarms;
    bool work_when_armed; /* what arm() answers */
    size_t filters;       /* set_filter() calls, and the last one's words */
    struct netdev_filter filter;
    uint8_t groups[NETDEV_GROUPS_MAX][6];
};

/* MAC 52:54:00:12:34:56, MTU 1500, link up, room for 256 frames, no offloads. */
void fake_netdev_init(struct fake_netdev *nic);

/* Give back everything still held; then no frag and no pbuf is outstanding because of it. */
void fake_netdev_fini(struct fake_netdev *nic);

/* A frame will be received: its bytes cut into frags of `piece` bytes (0: one frag). */
void fake_netdev_receive(struct fake_netdev *nic, const void *bytes, size_t len, size_t piece,
                         struct frame_offload offload);

/* The device has let go of the oldest `count` frames it holds. */
void fake_netdev_complete(struct fake_netdev *nic, size_t count);

/* Complete what was sent, and forget it. */
void fake_netdev_forget_sent(struct fake_netdev *nic);

/* The last frame sent, or NULL. */
struct fake_sent *fake_netdev_last(struct fake_netdev *nic);

#endif
