/*
 * A connection that sends a known stream over a vif and a fake NIC, and a peer who acknowledges what the test says.
 *
 * Every frame looked at is checked: its bytes against the stream, its checksums, its length, and what the device is asked to do.
 */
#ifndef TESTS_SEND_FIXTURE_H
#define TESTS_SEND_FIXTURE_H

#include "tests/host/support/net_fixture.h"

#include "lwip/priv/tcp_priv.h"
#include "tests/fake/fake_netdev.h"

enum {
    ETHER = 14,
    HEADERS = ETHER + IP_HLEN + TCP_HLEN,
    MSS = 1460,
    PORT = 5001,
    ISN = 0xfffff000, /* the stream wraps soon */
    STREAM_MAX = 400 * 1024,
};

extern struct fake_netdev nic;
extern struct tcp_pcb *pcb;        /* established, one MSS of 1460, wide windows, Nagle off */
extern uint8_t stream[STREAM_MAX]; /* what it sends, from its first byte on */

/* What the device does; set before a group of tests runs. */
extern enum offload { NONE, CSUM, TSO } offload;

int send_fixture_open(void **state);
int send_fixture_close(void **state);

#define SEND_TEST(name) cmocka_unit_test_setup_teardown(name, send_fixture_open, send_fixture_close)

void write_stream(size_t from, size_t len, u8_t flags);

/* The peer acknowledges up to byte `acked` of the stream, with a window of `window` bytes (a multiple of 128). */
void peer_acks(uint32_t acked, uint32_t window);

/* The same with SACK blocks, 4 at most. */
struct sacked {
    uint32_t from, to;
};
void peer_sacks(uint32_t acked, uint32_t window, const struct sacked *blocks, size_t count);

/* The device has let go of all it holds. */
void device_is_done(void);

/* After a full ring: on_room(). */
void there_is_room(void);

struct sight {
    uint32_t from, len; /* in the stream */
    uint16_t cut;       /* by the device; 0: not */
    uint8_t flags;
};

/* Frame number i of those sent. */
struct sight see(size_t i);

/* Frames from number `first` on follow each other from byte `from` on; returns the byte behind. */
uint32_t see_stream(size_t first, uint32_t from);

#endif
