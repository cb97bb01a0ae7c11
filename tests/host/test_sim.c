/*
 * The whole stack, twice: two NICs of one lwIP, each a vnet on a fake device, and between them a wire that loses, delays,
 * reorders and doubles frames. TCP runs both ways while the devices lie, stop, forget, ask for resets, and come
 * back with other features. Every byte must arrive, in order, and nothing may be left.
 *
 * Everything follows from a seed; time is what the simulation says. RINGLET_SEED=n repeats one run.
 */
#include "tests/host/support/net_fixture.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "drivers/virtio/spec.h"
#include "drivers/virtio_net/vnet.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "net/csum.h"
#include "net/vif.h"
#include "port/clock.h"
#include "tests/fake/fake_vdev.h"
#include "tests/host/support/clock.h"

#define BIT(n) (1ull << (n))

enum {
    STEP_US = 500,
    TICK_STEPS = NETDEV_TICK_MS * 1000 / STEP_US,
    PATIENCE_STEPS = 15 * 60 * 2000, /* a quarter of an hour: TCP's RTO doubles at every loss */
    WIRE_MAX = 256,
    SERVER_PORT = 7,
    IP_AT = 14,
    TCP_AT = 34,
    STREAM_BYTES = 300000,
    RUNS = 8,
    FAULTS = 40,
    FAULT_STEPS = 1200, /* mean distance between two faults */
};

/* ---- chance ------------------------------------------------------------------------------ */

static uint64_t chance_state;

static uint32_t chance(uint32_t below)
{
    chance_state = chance_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((chance_state >> 33) % below);
}

/* ---- the wire ---------------------------------------------------------------------------- */

struct flying {
    uint8_t *bytes; /* NULL: this place is free */
    size_t len;
    struct fake_net_hdr hdr;
    uint32_t due; /* step */
};

struct host {
    struct fake_vdev fake;
    struct vnet nic;
    struct vif vif;
    struct flying to[WIRE_MAX]; /* on their way to it */
    uint64_t offers;
    bool deaf; /* the device does nothing */
    uint32_t fault_ends;
    bool books_wrong; /* the fake has completed a chain twice, and knows no more what it holds */
};

static struct host hosts[2];
static uint32_t step;
static unsigned loss_percent;
static uint64_t large_frames;

static void drop(struct flying *f)
{
    free(f->bytes);
    f->bytes = NULL;
}

/* What a host does for a guest that wants whole checksums. */
static void complete(struct flying *f)
{
    const size_t start = f->hdr.csum_start, field = start + f->hdr.csum_offset;

    if (!(f->hdr.flags & VNET_HDR_NEEDS_CSUM))
        return;
    assert_true(field + 2 <= f->len);
    const uint16_t sum = (uint16_t)~csum_lwip(f->bytes + start, (int)(f->len - start));
    memcpy(f->bytes + field, &sum, 2);
    f->hdr = (struct fake_net_hdr){0};
}

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static uint32_t get32(const uint8_t *p)
{
    return (uint32_t)get16(p) << 16 | get16(p + 2);
}

/* Both checksums of an IPv4 TCP segment, from nothing. */
static void put_sums(uint8_t *frame, size_t len)
{
    uint8_t *const ip = frame + IP_AT, *const tcp = frame + TCP_AT;
    uint8_t pseudo[12] = {0};
    uint32_t sum;

    put16(ip + 10, 0);
    const uint16_t ip_sum = (uint16_t)~csum_lwip(ip, 20);
    memcpy(ip + 10, &ip_sum, 2);
    memcpy(pseudo, ip + 12, 8);
    pseudo[9] = 6;
    put16(pseudo + 10, (unsigned)(len - TCP_AT));
    put16(tcp + 16, 0);
    sum = (uint32_t)csum_lwip(pseudo, 12) + csum_lwip(tcp, (int)(len - TCP_AT));
    sum = (sum & 0xffff) + (sum >> 16);
    const uint16_t tcp_sum = (uint16_t)~sum;
    memcpy(tcp + 16, &tcp_sum, 2);
}

/* What a host does for a guest that takes no large frames: cut it into segments. */
static void receive_cut(struct host *to, const struct flying *f)
{
    static uint8_t part[2048];
    const size_t head = TCP_AT + (size_t)(f->bytes[TCP_AT + 12] >> 4) * 4;

    assert_true(f->hdr.gso_size > 0 && head + f->hdr.gso_size <= sizeof(part));
    for (size_t at = head; at < f->len; at += f->hdr.gso_size) {
        const bool last = at + f->hdr.gso_size >= f->len;
        const size_t payload = last ? f->len - at : f->hdr.gso_size;
        const uint32_t seq = get32(f->bytes + TCP_AT + 4) + (uint32_t)(at - head);

        memcpy(part, f->bytes, head);
        memcpy(part + head, f->bytes + at, payload);
        put16(part + IP_AT + 2, (unsigned)(head - IP_AT + payload));
        put16(part + TCP_AT + 4, seq >> 16);
        put16(part + TCP_AT + 6, seq & 0xffff);
        if (!last)
            part[TCP_AT + 13] &= (uint8_t)~9u; /* FIN and PSH are the last one's */
        put_sums(part, head + payload);
        fake_net_receive(&to->fake, part, head + payload, NULL);
    }
}

static void put_on_wire(struct host *to, const struct fake_net_hdr *hdr, const uint8_t *frame,
                        size_t len)
{
    for (size_t i = 0; i < WIRE_MAX; i++) {
        struct flying *f = &to->to[i];
        if (f->bytes)
            continue;
        *f = (struct flying){.bytes = malloc(len), .len = len, .hdr = *hdr};
        f->due = step + 1 + chance(chance(20) == 0 ? 40 : 3);
        memcpy(f->bytes, frame, len);
        return;
    } /* full: lost */
}

static void sink(void *arg, const struct fake_net_hdr *hdr, const uint8_t *frame, size_t len)
{
    struct host *from = arg, *to = from == &hosts[0] ? &hosts[1] : &hosts[0];

    assert_true(hdr->gso_type == VNET_GSO_NONE || hdr->gso_type == VNET_GSO_TCPV4);
    large_frames += hdr->gso_type != VNET_GSO_NONE;
    if (chance(100) < loss_percent)
        return;
    put_on_wire(to, hdr, frame, len);
    if (chance(100) == 0)
        put_on_wire(to, hdr, frame, len);
}

static bool works(const struct host *h)
{
    return !h->deaf && (h->fake.status & VIRTIO_S_DRIVER_OK) &&
           !(h->fake.status & VIRTIO_S_NEEDS_RESET);
}

static void receive(struct host *h, struct flying *f)
{
    if (f->hdr.gso_type != VNET_GSO_NONE && !fake_has(&h->fake, VNET_F_GUEST_TSO4)) {
        receive_cut(h, f);
        return;
    }
    if (!fake_has(&h->fake, VNET_F_GUEST_CSUM))
        complete(f);
    fake_net_receive(&h->fake, f->bytes, f->len, &f->hdr);
}

static void device_turn(struct host *h)
{
    if (works(h))
        fake_net_transmit(&h->fake, 1 + chance(32), sink, h);
    for (size_t i = 0; i < WIRE_MAX; i++) {
        struct flying *f = &h->to[i];
        if (!f->bytes || f->due > step)
            continue;
        if (works(h))
            receive(h, f);
        drop(f);
    }
}

/* ---- faults ------------------------------------------------------------------------------ */

static void honest(struct host *h)
{
    h->deaf = false;
    h->fake.fault = FAKE_HONEST;
    h->fake.dev.offered = h->offers;
}

static void lie(struct host *h, uint32_t which)
{
    static const enum fake_fault lies[] = {
        FAKE_USED_ID_OUT_OF_RANGE, FAKE_USED_ID_NOT_POSTED,   FAKE_COMPLETED_TWICE,
        FAKE_LEN_PAST_CHAIN,       FAKE_LEN_ALL_ONES,         FAKE_USED_IDX_JUMPS,
        FAKE_USED_IDX_JUMPS_BY_1,  FAKE_USED_IDX_BACKWARDS,   FAKE_LEN_ZERO,
        FAKE_LEN_SHORT_OF_HEADER,  FAKE_NUM_BUFFERS_HUGE,     FAKE_NUM_BUFFERS_ONE_MORE,
        FAKE_RESET_NEVER_ENDS,     FAKE_FEATURES_REFUSED,     FAKE_QUEUE_REFUSED,
        FAKE_QUEUE_SIZE_ODD,       FAKE_CONFIG_NEVER_SETTLES, FAKE_QUEUE_SIZE_ZERO,
    };

    h->fake.fault = lies[which % ARRAY_COUNT(lies)];
    h->books_wrong |= h->fake.fault == FAKE_COMPLETED_TWICE;
    h->fake.fault_told = false;
    h->fake.fault_after = chance(20);
}

static void ask_for_reset(struct host *h)
{
    if (!(h->fake.status & VIRTIO_S_DRIVER_OK))
        return;
    h->fake.status |= VIRTIO_S_NEEDS_RESET;
    if (chance(2))
        vnet_interrupt(&h->nic, true);
}

static void misbehave(struct host *h)
{
    static const uint64_t offload[] = {BIT(VNET_F_CSUM) | BIT(VNET_F_GUEST_CSUM),
                                       BIT(VNET_F_HOST_TSO4) | BIT(VNET_F_GUEST_TSO4), 0};
    static const uint64_t missing[] = {BIT(VNET_F_EVENT_IDX), BIT(VNET_F_MRG_RXBUF),
                                       BIT(VNET_F_INDIRECT_DESC), 0};

    h->fault_ends = step + 200 + chance(2000);
    h->fake.reset_reads = chance(3) ? 0 : chance(VNET_RESET_TICKS);
    switch (chance(6)) {
    case 0:
        h->deaf = true; /* the watchdog's turn */
        h->fault_ends = step + chance(2 * VNET_STALL_TICKS * TICK_STEPS);
        break;
    case 1:
        fake_lose_state(&h->fake);
        break;
    case 2:
        h->fake.dev.offered = h->offers & ~offload[chance(ARRAY_COUNT(offload))] &
                              ~missing[chance(ARRAY_COUNT(missing))];
        for (unsigned q = 0; q < 2; q++)
            h->fake.queue[q].offered_size = (uint16_t)(4u << chance(6));
        ask_for_reset(h);
        break;
    case 3:
        ask_for_reset(h);
        break;
    default:
        lie(h, chance(1000));
        if (chance(2))
            ask_for_reset(h);
        break;
    }
}

/* ---- TCP --------------------------------------------------------------------------------- */

struct side {
    struct tcp_pcb *pcb;
    uint32_t sent, received;
    uint8_t key; /* of the stream it sends */
    bool closed;
};

static struct side sides[2];
static struct tcp_pcb *listener;

static uint8_t byte_at(uint8_t key, uint32_t offset)
{
    return (uint8_t)((offset * 2654435761u >> 24) ^ offset ^ key);
}

static void send_more(struct side *s)
{
    uint8_t chunk[1000];

    while (s->sent < STREAM_BYTES && tcp_sndbuf(s->pcb) >= sizeof(chunk)) {
        const uint32_t len = STREAM_BYTES - s->sent < sizeof(chunk) ? STREAM_BYTES - s->sent
                                                                    : (uint32_t)sizeof(chunk);
        for (uint32_t i = 0; i < len; i++)
            chunk[i] = byte_at(s->key, s->sent + i);
        if (tcp_write(s->pcb, chunk, (u16_t)len, TCP_WRITE_FLAG_COPY) != ERR_OK)
            break;
        s->sent += len;
    }
    tcp_output(s->pcb);
}

static err_t on_tcp_poll(void *arg, struct tcp_pcb *pcb)
{
    (void)pcb;
    send_more(arg);
    return ERR_OK;
}

static err_t on_tcp_sent(void *arg, struct tcp_pcb *pcb, u16_t len)
{
    (void)len;
    return on_tcp_poll(arg, pcb);
}

static err_t on_tcp_recv(void *arg, struct tcp_pcb *pcb, struct pbuf *p, err_t err)
{
    struct side *s = arg;
    const uint8_t key = s == &sides[0] ? sides[1].key : sides[0].key;

    assert_int_equal(err, ERR_OK);
    if (!p) {
        s->closed = true;
        return ERR_OK;
    }
    for (const struct pbuf *q = p; q; q = q->next)
        for (u16_t i = 0; i < q->len; i++)
            if (((const uint8_t *)q->payload)[i] != byte_at(key, s->received++))
                fail_msg("byte %u is wrong", s->received - 1);
    tcp_recved(pcb, p->tot_len);
    pbuf_free(p);
    return ERR_OK;
}

static void on_tcp_err(void *arg, err_t err)
{
    (void)arg;
    fail_msg("a connection ended with %d in step %u", err, step);
}

static void adopt(struct side *s, struct tcp_pcb *pcb)
{
    s->pcb = pcb;
    tcp_arg(pcb, s);
    tcp_recv(pcb, on_tcp_recv);
    tcp_sent(pcb, on_tcp_sent);
    tcp_poll(pcb, on_tcp_poll, 1);
    tcp_err(pcb, on_tcp_err);
}

static err_t on_accept(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)arg;
    assert_int_equal(err, ERR_OK);
    adopt(&sides[1], pcb);
    send_more(&sides[1]);
    return ERR_OK;
}

static err_t on_connected(void *arg, struct tcp_pcb *pcb, err_t err)
{
    (void)pcb;
    assert_int_equal(err, ERR_OK);
    send_more(arg);
    return ERR_OK;
}

static void connect_hosts(void)
{
    ip_addr_t server;
    struct tcp_pcb *pcb = tcp_new();

    IP_ADDR4(&server, 10, 99, 0, 3);
    /* Each by its own NIC, also while that one's link is down: else lwIP would find the short way. */
    listener = tcp_new();
    tcp_bind_netif(listener, &hosts[1].vif.netif);
    assert_int_equal(tcp_bind(listener, &server, SERVER_PORT), ERR_OK);
    listener = tcp_listen(listener);
    tcp_accept(listener, on_accept);

    ip_addr_t client;
    IP_ADDR4(&client, 10, 99, 0, 2);
    tcp_bind(pcb, &client, 0);
    tcp_bind_netif(pcb, &hosts[0].vif.netif);
    adopt(&sides[0], pcb);
    assert_int_equal(tcp_connect(pcb, &server, SERVER_PORT, on_connected), ERR_OK);
}

/* ---- the run ----------------------------------------------------------------------------- */

static void open_host(unsigned n)
{
    struct host *h = &hosts[n];
    const struct vnet_vectors none = {VIRTIO_NO_VECTOR, VIRTIO_NO_VECTOR};
    const struct opt_vnet opt = {.poll = OPT_POLL_ADAPTIVE};
    ip4_addr_t addr, mask;

    h->offers = BIT(VNET_F_VERSION_1) | BIT(VNET_F_MAC) | BIT(VNET_F_CSUM) |
                BIT(VNET_F_GUEST_CSUM) | BIT(VNET_F_MRG_RXBUF) | BIT(VNET_F_EVENT_IDX) |
                BIT(VNET_F_INDIRECT_DESC) | BIT(VNET_F_HOST_TSO4) | BIT(VNET_F_GUEST_TSO4);
    fake_vdev_init(&h->fake, h->offers, 64, false);
    h->fake.config[5] = (uint8_t)(0x10 + n);
    h->nic = (struct vnet){.net = {.name = "net0"}};
    h->nic.net.name[3] = (char)('0' + n);
    assert_int_equal(vnet_negotiate(&h->nic, &h->fake.dev, &opt), 0);
    assert_int_equal(vnet_start(&h->nic, &none), 0);
    assert_int_equal(vif_open(&h->vif, &h->nic.net, true, false), 0);
    IP4_ADDR(&addr, 10, 99, 0, (u8_t)(2 + n));
    IP4_ADDR(&mask, 255, 255, 255, 0);
    netif_set_addr(&h->vif.netif, &addr, &mask, NULL);
}

static void close_host(struct host *h)
{
    for (size_t i = 0; i < WIRE_MAX; i++)
        drop(&h->to[i]);
    if (h->fake.violations && !h->books_wrong)
        fail_msg("driver: %s", h->fake.violation);
    vnet_close(&h->nic);
    vif_tick(&h->vif); /* what waits is dropped */
    netif_remove(&h->vif.netif);
    for (size_t i = 0; i < VIF_COUNTER_COUNT; i++)
        counters_remove(&h->vif.counters[i]);
}

static void turn(void)
{
    step++;
    host_clock_advance(STEP_US);
    netif_poll_all();
    for (unsigned n = 0; n < 2; n++) {
        struct host *h = &hosts[n];
        if (step == h->fault_ends)
            honest(h);
        device_turn(h);
        vif_poll(&h->vif);
        sys_check_timeouts();
        if (step % TICK_STEPS == 0)
            vif_tick(&h->vif);
        vif_flush(&h->vif);
        if (chance(4) == 0) {
            vif_arm(&h->vif);
            vif_disarm(&h->vif);
        }
    }
}

static bool arrived(void)
{
    return sides[0].received == STREAM_BYTES && sides[1].received == STREAM_BYTES;
}

static void transfer(void)
{
    unsigned faults = 0;

    for (; !arrived() || faults < FAULTS; turn()) {
        if (step >= PATIENCE_STEPS)
            fail_msg("stalled: %u and %u bytes of %u arrived", sides[0].received, sides[1].received,
                     STREAM_BYTES);
        if (arrived()) /* more to do, until all faults have been met */
            for (unsigned n = 0; n < 2; n++)
                sides[n].sent = sides[n].received = 0;
        if (sides[1].pcb && sides[1].sent == 0)
            for (unsigned n = 0; n < 2; n++)
                send_more(&sides[n]);
        if (faults < FAULTS && chance(FAULT_STEPS) == 0) {
            misbehave(&hosts[chance(2)]);
            faults++;
        }
    }
}

static void end_connections(void)
{
    for (unsigned n = 0; n < 2; n++) {
        tcp_err(sides[n].pcb, NULL);
        tcp_abort(sides[n].pcb);
    }
    tcp_close(listener);
    for (unsigned n = 0; n < 4 * 2000; n++)
        turn();
    assert_null(tcp_active_pcbs);
}

static uint64_t resets(const struct vnet_recover *r)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < VNET_FAULTS; i++)
        sum += r->faults[i];
    return sum;
}

static void run(uint64_t seed)
{
    chance_state = seed;
    step = 0;
    memset(sides, 0, sizeof(sides));
    memset(hosts, 0, sizeof(hosts));
    sides[0].key = (uint8_t)seed;
    sides[1].key = (uint8_t)~seed;
    loss_percent = chance(4);
    open_host(0);
    open_host(1);
    connect_hosts();
    transfer();
    end_connections();
    if (!hosts[0].nic.net.broken && !hosts[1].nic.net.broken)
        assert_true(resets(&hosts[0].nic.recover) + resets(&hosts[1].nic.recover) > FAULTS / 8);
    assert_true(large_frames > 0);
    printf("seed %llu: %u ms, %llu and %llu resets, %llu attempts failed\n",
           (unsigned long long)seed, step * STEP_US / 1000,
           (unsigned long long)resets(&hosts[0].nic.recover),
           (unsigned long long)resets(&hosts[1].nic.recover),
           (unsigned long long)(hosts[0].nic.recover.failures + hosts[1].nic.recover.failures));
    close_host(&hosts[0]);
    close_host(&hosts[1]);
}

static void every_byte_arrives_across_resets(void **state)
{
    const char *chosen = getenv("RINGLET_SEED");
    const uint64_t first = chosen ? strtoull(chosen, NULL, 0) : 1;

    (void)state;
    run(first); /* lwIP keeps what its first connection took: a timer */
    const uint64_t kept = net_fixture_outstanding();
    for (uint64_t seed = first + 1; seed < first + RUNS; seed++) {
        run(seed);
        assert_int_equal(net_fixture_outstanding(), kept);
    }
}

static int start(void **state)
{
    host_clock_stop();
    return net_fixture_start(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_byte_arrives_across_resets),
    };

    return cmocka_run_group_tests(tests, start, NULL);
}
