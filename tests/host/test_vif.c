/* net/vif.c over a fake NIC: what comes in, what goes out, and what happens when the ring is full. */
#include "tests/host/support/net_fixture.h"

#include <errno.h>
#include <string.h>

#include "lwip/etharp.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/stats.h"
#include "lwip/udp.h"
#include "net/csum.h"
#include "net/tso.h"
#include "net/vif.h"
#include "tests/fake/fake_netdev.h"

enum { ETHER = 14, FRAME_SPACE = 70000 };

static const uint8_t guest_mac[6] = {0x52, 0x54, 0, 0x12, 0x34, 0x56};
static const uint8_t peer_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t peer_ip[4] = {10, 99, 0, 1};
static const uint8_t guest_ip[4] = {10, 99, 0, 2};

static struct fake_netdev nic;
static struct vif vif;
static bool tx_csum;
static const uint8_t zeros[32768];

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

static void remove_counters(void)
{
    for (size_t i = 0; i < VIF_COUNTER_COUNT; i++)
        counters_remove(&vif.counters[i]);
}

static int open_vif(void **state)
{
    ip4_addr_t addr, mask, gw;

    net_fixture_before(state);
    fake_netdev_init(&nic);
    nic.dev.features.tx_csum = tx_csum;
    assert_int_equal(vif_open(&vif, &nic.dev, true, true), 0);
    IP4_ADDR(&addr, 10, 99, 0, 2);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&gw, 0, 0, 0, 0);
    netif_set_addr(&vif.netif, &addr, &mask, &gw);
    fake_netdev_forget_sent(&nic); /* the gratuitous ARP */
    return 0;
}

static int close_vif(void **state)
{
    fake_netdev_complete(&nic, nic.in_ring);
    nic.send_error = -EIO; /* whatever waits is dropped, not sent */
    nic.refused = true;
    vif_poll(&vif);
    netif_remove(&vif.netif);
    remove_counters();
    fake_netdev_fini(&nic);
    return net_fixture_after(state);
}

#define VIF_TEST(name) cmocka_unit_test_setup_teardown(name, open_vif, close_vif)

static size_t ether(uint8_t *f, const uint8_t *dst, unsigned type)
{
    memcpy(f, dst, 6);
    memcpy(f + 6, peer_mac, 6);
    put16(f + 12, type);
    return ETHER;
}

static size_t ip4(uint8_t *f, uint8_t proto, size_t l4_len)
{
    uint8_t *ip = f + ether(f, guest_mac, 0x0800);

    memset(ip, 0, 20);
    ip[0] = 0x45;
    put16(ip + 2, (unsigned)(20 + l4_len));
    ip[8] = 64;
    ip[9] = proto;
    memcpy(ip + 12, peer_ip, 4);
    memcpy(ip + 16, guest_ip, 4);
    const uint16_t sum = (uint16_t)~csum_lwip(ip, 20);
    memcpy(ip + 10, &sum, 2);
    return ETHER + 20 + l4_len;
}

static size_t echo_request(uint8_t *f, size_t payload)
{
    uint8_t *icmp = f + ETHER + 20;

    memset(icmp, 0, 8);
    icmp[0] = 8;
    for (size_t i = 0; i < payload; i++)
        icmp[8 + i] = (uint8_t)i;
    const uint16_t sum = (uint16_t)~csum_lwip(icmp, (int)(8 + payload));
    memcpy(icmp + 2, &sum, 2);
    return ip4(f, 1, 8 + payload);
}

static size_t arp_request(uint8_t *f)
{
    static const uint8_t fixed[8] = {0, 1, 8, 0, 6, 4, 0, 1};
    static const uint8_t everyone[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    uint8_t *arp = f + ether(f, everyone, 0x0806);

    memcpy(arp, fixed, 8);
    memcpy(arp + 8, peer_mac, 6);
    memcpy(arp + 14, peer_ip, 4);
    memset(arp + 18, 0, 6);
    memcpy(arp + 24, guest_ip, 4);
    return ETHER + 28;
}

/* A UDP datagram with a wrong checksum: what the field holds while a host has not finished it. */
static size_t udp_unfinished(uint8_t *f)
{
    uint8_t *udp = f + ETHER + 20;

    put16(udp, 4000);
    put16(udp + 2, 7777);
    put16(udp + 4, 8 + 4);
    put16(udp + 6, 0xbeef);
    memcpy(udp + 8, "data", 4);
    return ip4(f, 17, 8 + 4);
}

static void receive(const uint8_t *frame, size_t len, size_t piece, uint8_t flags)
{
    fake_netdev_receive(&nic, frame, len, piece, (struct frame_offload){.flags = flags});
    vif_poll(&vif);
}

static void learn_peer(void)
{
    uint8_t frame[64];

    receive(frame, arp_request(frame), 0, 0);
    fake_netdev_complete(&nic, nic.in_ring);
}

/* ---- in ---- */

static void an_arp_request_is_answered(void **state)
{
    (void)state;
    learn_peer();
    const struct fake_sent *reply = fake_netdev_last(&nic);
    assert_non_null(reply);
    assert_memory_equal(reply->bytes, peer_mac, 6);
    assert_int_equal(reply->bytes[21], 2); /* ARP reply */
    assert_memory_equal(reply->bytes + 22, guest_mac, 6);
}

static void check_ping(size_t payload, size_t piece)
{
    static uint8_t frame[FRAME_SPACE];
    const size_t len = echo_request(frame, payload);
    const size_t before = nic.sent_count;

    receive(frame, len, piece, 0);
    assert_int_equal(nic.sent_count, before + 1);
    const struct fake_sent *reply = fake_netdev_last(&nic);
    assert_int_equal(reply->len, len);
    assert_int_equal(reply->bytes[ETHER + 20], 0); /* echo reply */
    assert_memory_equal(reply->bytes + ETHER + 28, frame + ETHER + 28, payload);
    assert_int_equal(csum_lwip(reply->bytes + ETHER + 20, (int)(8 + payload)), 0xffff);
    fake_netdev_complete(&nic, 1);
}

static void a_ping_is_answered_however_the_device_cut_it(void **state)
{
    (void)state;
    learn_peer();
    check_ping(56, 0);
    check_ping(1472, 0);
    check_ping(1472, 64);
    check_ping(1472, 1000);
    check_ping(0, 20);
}

static void a_frame_for_somebody_else_is_counted_and_dropped(void **state)
{
    uint8_t frame[64];
    const size_t len = arp_request(frame);

    (void)state;
    memcpy(frame, "\x52\x54\x00\x12\x34\x57", 6);
    receive(frame, len, 0, 0);
    assert_int_equal(vif.count.in_not_ours, 1);
    assert_int_equal(nic.sent_count, 0);
}

static void an_unknown_protocol_is_counted_and_dropped(void **state)
{
    uint8_t frame[64] = {0};

    (void)state;
    ether(frame, guest_mac, 0x88cc);
    receive(frame, 60, 0, 0);
    receive(frame, ETHER, 0, 0); /* nothing behind the header */
    assert_int_equal(vif.count.in_unknown, 2);
}

static void a_family_that_is_off_is_not_answered(void **state)
{
    uint8_t frame[64];

    (void)state;
    vif.ip4 = false;
    receive(frame, arp_request(frame), 0, 0);
    assert_int_equal(vif.count.in_unknown, 1);
    assert_int_equal(nic.sent_count, 0);
}

static void a_frame_longer_than_lwip_can_say_is_dropped(void **state)
{
    static uint8_t frame[FRAME_SPACE];

    (void)state;
    ether(frame, guest_mac, 0x0800);
    receive(frame, ETHER + 65536, 4096, 0);
    assert_int_equal(vif.count.in_bad, 1);
    receive(frame, ETHER + 65535, 4096,
            0); /* the largest that fits: reaches IP, which finds it malformed */
    assert_int_equal(vif.count.in_bad, 1);
    assert_int_equal(vif.count.in_frames, 1);
}

static size_t datagrams;

static void count_datagram(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *addr,
                           u16_t port)
{
    (void)arg, (void)pcb, (void)addr, (void)port;
    datagrams++;
    pbuf_free(p);
}

static void a_device_vouches_for_one_frame_and_not_for_the_next(void **state)
{
    struct udp_pcb *pcb = udp_new();
    uint8_t frame[128];

    (void)state;
    datagrams = 0;
    assert_int_equal(udp_bind(pcb, IP_ADDR_ANY, 7777), ERR_OK);
    udp_recv(pcb, count_datagram, NULL);
    const size_t len = udp_unfinished(frame);
    receive(frame, len, 0, FRAME_CSUM_PARTIAL);
    assert_int_equal(datagrams, 1);
    receive(frame, len, 0, 0);
    assert_int_equal(datagrams, 1);
    receive(frame, len, 0, FRAME_CSUM_VALID);
    assert_int_equal(datagrams, 2);
    udp_remove(pcb);
}

static void a_scattered_header_without_memory_is_a_counted_drop(void **state)
{
    uint8_t frame[600];
    const size_t len = echo_request(frame, 500);

    (void)state;
    fake_netdev_receive(&nic, frame, len, 20, (struct frame_offload){0});
    net_fixture_exhaust(FRAG_CONTROL);
    vif_poll(&vif);
    assert_int_equal(vif.count.in_no_memory, 1);
}

/* ---- out ---- */

static void send_datagram(struct udp_pcb *pcb, const char *text, size_t len, pbuf_type type,
                          err_t want)
{
    ip_addr_t to;
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, (u16_t)len, type);

    assert_non_null(p);
    if (type == PBUF_RAM)
        memcpy(p->payload, text, len);
    else
        p->payload = (void *)(uintptr_t)text;
    IP_ADDR4(&to, 10, 99, 0, 1);
    assert_int_equal(udp_sendto(pcb, p, &to, 9), want);
    pbuf_free(p);
}

static void constant_memory_is_sent_in_place_and_volatile_memory_as_a_copy(void **state)
{
    struct udp_pcb *pcb = udp_new();
    char text[] = "constant";

    (void)state;
    learn_peer();
    send_datagram(pcb, text, 8, PBUF_ROM, ERR_OK);
    assert_int_equal(fake_netdev_last(&nic)->piece_count, 2);
    send_datagram(pcb, text, 8, PBUF_REF, ERR_OK);
    assert_int_equal(fake_netdev_last(&nic)->piece_count, 1);
    assert_int_equal(vif.count.out_copied, 1);
    assert_memory_equal(fake_netdev_last(&nic)->bytes + ETHER + 28, "constant", 8);
    udp_remove(pcb);
}

static void a_frame_in_more_pieces_than_the_ring_takes_is_joined(void **state)
{
    struct udp_pcb *pcb = udp_new();
    struct pbuf *head = pbuf_alloc(PBUF_TRANSPORT, 1, PBUF_RAM);
    ip_addr_t to;

    (void)state;
    learn_peer();
    *(char *)head->payload = 'a';
    for (int i = 0; i < NETDEV_PIECES_MAX; i++) {
        struct pbuf *p = pbuf_alloc(PBUF_RAW, 1, PBUF_RAM);

        *(char *)p->payload = 'b';
        pbuf_cat(head, p);
    }
    IP_ADDR4(&to, 10, 99, 0, 1);
    assert_int_equal(udp_sendto(pcb, head, &to, 9), ERR_OK);
    assert_int_equal(fake_netdev_last(&nic)->piece_count, 1);
    assert_int_equal(fake_netdev_last(&nic)->len, ETHER + 28 + 1 + NETDEV_PIECES_MAX);
    pbuf_free(head);
    udp_remove(pcb);
}

static void a_full_ring_delays_frames_and_keeps_their_order(void **state)
{
    struct udp_pcb *pcb = udp_new();
    char text[] = "0";

    (void)state;
    learn_peer();
    nic.ring_size = 2;
    for (int i = 0; i < 9; i++) {
        text[0] = (char)('0' + i);
        send_datagram(pcb, text, 1, PBUF_RAM, ERR_OK);
    }
    assert_int_equal(nic.sent_count, 1 + 2);
    for (int i = 0; i < 4; i++) {
        fake_netdev_complete(&nic, 2);
        vif_poll(&vif);
    }
    assert_int_equal(nic.sent_count, 1 + 9);
    for (int i = 0; i < 9; i++)
        assert_int_equal(nic.sent[1 + i].bytes[ETHER + 28], '0' + i);
    udp_remove(pcb);
}

static void a_full_backlog_tells_the_sender(void **state)
{
    struct udp_pcb *pcb = udp_new();

    (void)state;
    learn_peer();
    nic.ring_size = 0;
    for (int i = 0; i < VIF_BACKLOG_MAX; i++)
        send_datagram(pcb, "x", 1, PBUF_RAM, ERR_OK);
    send_datagram(pcb, "x", 1, PBUF_RAM, ERR_MEM);
    assert_int_equal(vif.count.out_refused, 1);
    nic.ring_size = 256;
    nic.refused = true;
    vif_poll(&vif);
    assert_int_equal(nic.sent_count, 1 + 256);
    udp_remove(pcb);
}

/* A TCP segment as lwIP would hand it over: only the protocol number is looked at. */
static err_t send_segment(void)
{
    struct pbuf *p = pbuf_alloc(PBUF_LINK, 54, PBUF_RAM);
    memset(p->payload, 0, p->len);
    memcpy((uint8_t *)p->payload + 12, "\x08\x00", 2);
    ((uint8_t *)p->payload)[ETHER + 9] = 6;
    const err_t err = vif.netif.linkoutput(&vif.netif, p);
    pbuf_free(p);
    return err;
}

static void tcp_leaves_room_in_the_backlog_for_those_who_cannot_wait(void **state)
{
    struct udp_pcb *pcb = udp_new();

    (void)state;
    learn_peer();
    nic.ring_size = 0;
    for (int i = 0; i < VIF_BACKLOG_TCP_MAX; i++)
        assert_int_equal(send_segment(), ERR_OK);
    assert_int_equal(send_segment(), ERR_MEM);
    send_datagram(pcb, "x", 1, PBUF_RAM, ERR_OK);
    nic.ring_size = 256;
    nic.refused = true;
    vif_poll(&vif);
    assert_int_equal(nic.sent_count, 1 + VIF_BACKLOG_TCP_MAX + 1);
    udp_remove(pcb);
}

/* An established connection to the peer with much to send and a wide window. */
static struct tcp_pcb *sender(u16_t port)
{
    struct tcp_pcb *pcb = tcp_new();

    assert_non_null(pcb);
    IP_ADDR4(&pcb->local_ip, 10, 99, 0, 2);
    IP_ADDR4(&pcb->remote_ip, 10, 99, 0, 1);
    pcb->local_port = port;
    pcb->remote_port = 9;
    pcb->state = ESTABLISHED;
    pcb->mss = 1448;
    pcb->cwnd = pcb->snd_wnd = pcb->snd_wnd_max = 1024 * 1024;
    pcb->snd_buf = 1024 * 1024;
    TCP_REG(&tcp_active_pcbs, pcb);
    for (int i = 0; i < 24; i++)
        assert_int_equal(tcp_write(pcb, zeros, sizeof(zeros), 0), ERR_OK);
    return pcb;
}

static size_t frames_from(u16_t port)
{
    size_t count = 0;

    for (size_t i = 0; i < nic.sent_count; i++)
        count += nic.sent[i].len > ETHER + 40 && nic.sent[i].bytes[ETHER + 20] == port >> 8 &&
                 nic.sent[i].bytes[ETHER + 21] == (port & 0xff);
    return count;
}

static void senders_take_turns_at_a_scarce_ring(void **state)
{
    struct tcp_pcb *first = sender(1001), *second = sender(1002);

    (void)state;
    learn_peer();
    nic.ring_size = 0;
    tcp_output(first);
    tcp_output(second);
    for (int round = 0; round < 4; round++) {
        nic.ring_size = nic.in_ring + VIF_BACKLOG_TCP_MAX;
        nic.refused = true;
        vif_poll(&vif);
    }
    /* A turn ends with the segment that fills TCP's part of the backlog: that much the one may be ahead of the other. */
    const size_t turn = VIF_BACKLOG_TCP_MAX + TSO_SEGMENTS_MAX;
    const size_t a = frames_from(1001), b = frames_from(1002);

    assert_true(a > 0 && b > 0);
    assert_true(a <= b + turn && b <= a + turn);
    tcp_abandon(first, 0);
    tcp_abandon(second, 0);
}

static void a_broken_device_costs_frames_but_no_memory(void **state)
{
    struct udp_pcb *pcb = udp_new();

    (void)state;
    learn_peer();
    nic.send_error = -EIO;
    send_datagram(pcb, "x", 1, PBUF_RAM, ERR_OK);
    assert_int_equal(vif.count.out_dropped, 1);
    nic.dev.broken = true;
    nic.dev.link_up = false;
    vif_tick(&vif);
    assert_false(netif_is_link_up(&vif.netif));
    assert_false(netif_is_up(&vif.netif));
    udp_remove(pcb);
}

static bool tcp_sum_is_right(const uint8_t *frame, size_t len)
{
    static uint8_t bytes[12 + FRAME_SPACE];
    const size_t l4 = len - ETHER - 20;

    memcpy(bytes, frame + ETHER + 12, 8);
    put16(bytes + 8, 6);
    put16(bytes + 10, (unsigned)l4);
    memcpy(bytes + 12, frame + ETHER + 20, l4);
    return csum_lwip(bytes, (int)(12 + l4)) == 0xffff;
}

/* A reset may take a promise back. What lwIP made without a checksum, relying on it, is not sent without. */
static void a_device_that_no_longer_sums_gets_finished_checksums(void **state)
{
    struct udp_pcb *udp = udp_new();

    (void)state;
    nic.dev.features.tx_csum = true;
    vif_poll(&vif);
    struct tcp_pcb *pcb = sender(1001);
    learn_peer();
    nic.ring_size = 0;
    tcp_output(pcb);
    const uint32_t segments = vif.backlog_tail - vif.backlog_head;

    assert_true(segments >= VIF_BACKLOG_TCP_MAX);
    send_datagram(udp, "x", 1, PBUF_RAM, ERR_OK);
    fake_netdev_forget_sent(&nic);
    nic.dev.features.tx_csum = false;
    nic.refused = true;
    nic.ring_size = 64;
    vif_poll(&vif);
    assert_int_equal(vif.count.out_dropped, segments);
    assert_true(nic.sent_count > 1);
    assert_int_equal(nic.sent[0].bytes[ETHER + 9], 17); /* can't be repaired, and needs no help */
    for (size_t i = 1; i < nic.sent_count; i++) {
        assert_int_equal(nic.sent[i].offload.flags, 0);
        assert_true(tcp_sum_is_right(nic.sent[i].bytes, nic.sent[i].len));
    }
    tcp_abandon(pcb, 0);
    udp_remove(udp);
}

/* ---- link and interrupts ---- */

static void the_stack_follows_the_link(void **state)
{
    (void)state;
    assert_true(netif_is_link_up(&vif.netif));
    nic.dev.link_up = false;
    vif_tick(&vif);
    assert_false(netif_is_link_up(&vif.netif));
    nic.dev.link_up = true;
    vif_tick(&vif);
    assert_true(netif_is_link_up(&vif.netif));
}

static void interrupts_are_turned_off_once_only(void **state)
{
    (void)state;
    vif_disarm(&vif);
    assert_int_equal(nic.disarms, 0);
    nic.work_when_armed = true;
    assert_true(vif_arm(&vif));
    vif_disarm(&vif);
    vif_disarm(&vif);
    assert_int_equal(nic.disarms, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        VIF_TEST(an_arp_request_is_answered),
        VIF_TEST(a_ping_is_answered_however_the_device_cut_it),
        VIF_TEST(a_frame_for_somebody_else_is_counted_and_dropped),
        VIF_TEST(an_unknown_protocol_is_counted_and_dropped),
        VIF_TEST(a_family_that_is_off_is_not_answered),
        VIF_TEST(a_frame_longer_than_lwip_can_say_is_dropped),
        VIF_TEST(a_device_vouches_for_one_frame_and_not_for_the_next),
        VIF_TEST(a_scattered_header_without_memory_is_a_counted_drop),
        VIF_TEST(constant_memory_is_sent_in_place_and_volatile_memory_as_a_copy),
        VIF_TEST(a_frame_in_more_pieces_than_the_ring_takes_is_joined),
        VIF_TEST(a_full_ring_delays_frames_and_keeps_their_order),
        VIF_TEST(a_full_backlog_tells_the_sender),
        VIF_TEST(tcp_leaves_room_in_the_backlog_for_those_who_cannot_wait),
        VIF_TEST(senders_take_turns_at_a_scarce_ring),
        VIF_TEST(a_broken_device_costs_frames_but_no_memory),
        VIF_TEST(a_device_that_no_longer_sums_gets_finished_checksums),
        VIF_TEST(the_stack_follows_the_link),
        VIF_TEST(interrupts_are_turned_off_once_only),
    };
    int failed =
        cmocka_run_group_tests_name("without tx checksum", tests, net_fixture_start_tcp, NULL);

    tx_csum = true;
    failed += cmocka_run_group_tests_name("with tx checksum", tests, NULL, NULL);
    return failed;
}
