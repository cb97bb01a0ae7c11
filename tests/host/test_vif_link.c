/*
 * An interface and the link below it: VLANs, multicast filters, and what changes while it runs (net/vif.c, vif_filter.c,
 * vif_follow.c, net_route.c).
 */
#include "tests/host/support/net_fixture.h"

#include <string.h>

#include "lwip/etharp.h"
#include "lwip/igmp.h"
#include "lwip/ip6.h"
#include "lwip/mld6.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/udp.h"
#include "net/csum.h"
#include "net/lwip_hooks.h"
#include "net/vif.h"
#include "net/vif_follow.h"
#include "tests/fake/fake_netdev.h"

enum { ETHER = 14, TAG = 4 };

static const uint8_t guest_mac[6] = {0x52, 0x54, 0, 0x12, 0x34, 0x56};
static const uint8_t peer_mac[6] = {2, 0, 0, 0, 0, 1};
static const uint8_t guest_ip[4] = {10, 99, 0, 2}, peer_ip[4] = {10, 99, 0, 1};

static struct fake_netdev nic, second_nic;
static struct vif vif, second;
static uint16_t vlan_id;
static bool tx_csum;

static void open_one(struct vif *v, struct fake_netdev *n, const char *name, uint8_t net)
{
    ip4_addr_t addr, mask, gw;

    fake_netdev_init(n);
    memcpy(n->dev.name, name, strlen(name) + 1);
    n->dev.mac[5] = (uint8_t)(n->dev.mac[5] + net - 99);
    n->dev.features.tx_csum = tx_csum;
    n->dev.vlan_id = vlan_id;
    assert_int_equal(vif_open(v, &n->dev, true, true), 0);
    IP4_ADDR(&addr, 10, net, 0, 2);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&gw, 0, 0, 0, 0);
    netif_set_addr(&v->netif, &addr, &mask, &gw);
    fake_netdev_forget_sent(n); /* the gratuitous ARP */
}

static void close_one(struct vif *v, struct fake_netdev *n)
{
    fake_netdev_complete(n, n->in_ring);
    netif_remove(&v->netif);
    for (size_t i = 0; i < VIF_COUNTER_COUNT; i++)
        counters_remove(&v->counters[i]);
    fake_netdev_fini(n);
}

static int open_vif(void **state)
{
    net_fixture_before(state);
    vlan_id = 0;
    tx_csum = false;
    open_one(&vif, &nic, "net0", 99);
    return 0;
}

static int open_in_vlan(void **state)
{
    net_fixture_before(state);
    vlan_id = 0x123;
    tx_csum = true;
    open_one(&vif, &nic, "net0", 99);
    return 0;
}

static int close_vif(void **state)
{
    close_one(&vif, &nic);
    return net_fixture_after(state);
}

#define LINK_TEST(name) cmocka_unit_test_setup_teardown(name, open_vif, close_vif)
#define VLAN_TEST(name) cmocka_unit_test_setup_teardown(name, open_in_vlan, close_vif)

/* ---- frames ---- */

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

/* The Ethernet header, tagged unless tci is negative. Returns its length. */
static size_t ether(uint8_t *f, const uint8_t *dst, int tci, unsigned type)
{
    size_t at = 12;

    memcpy(f, dst, 6);
    memcpy(f + 6, peer_mac, 6);
    if (tci >= 0) {
        put16(f + at, 0x8100);
        put16(f + at + 2, (unsigned)tci);
        at += TAG;
    }
    put16(f + at, type);
    return at + 2;
}

static size_t arp_request(uint8_t *f, int tci)
{
    static const uint8_t everyone[6] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
    const size_t l2 = ether(f, everyone, tci, 0x0806);
    uint8_t *arp = f + l2;

    memcpy(arp, (const uint8_t[8]){0, 1, 8, 0, 6, 4, 0, 1}, 8);
    memcpy(arp + 8, peer_mac, 6);
    memcpy(arp + 14, peer_ip, 4);
    memset(arp + 18, 0, 6);
    memcpy(arp + 24, guest_ip, 4);
    return l2 + 28;
}

/* A UDP datagram whose checksum is the pseudo header's only, as a host leaves it; *start is where it begins. */
static size_t udp_partial(uint8_t *f, int tci, uint16_t *start)
{
    const size_t l2 = ether(f, guest_mac, tci, 0x0800);
    uint8_t *ip = f + l2, *udp = ip + 20;

    memset(ip, 0, 28);
    ip[0] = 0x45;
    put16(ip + 2, 20 + 12);
    ip[8] = 64;
    ip[9] = 17;
    memcpy(ip + 12, peer_ip, 4);
    memcpy(ip + 16, guest_ip, 4);
    const uint16_t sum = (uint16_t)~csum_lwip(ip, 20);
    memcpy(ip + 10, &sum, 2);
    put16(udp, 4000);
    put16(udp + 2, 7777);
    put16(udp + 4, 12);
    put16(udp + 6, 0xbeef);
    memcpy(udp + 8, "data", 4);
    *start = (uint16_t)(l2 + 20);
    return l2 + 32;
}

static void receive(const uint8_t *frame, size_t len, struct frame_offload offload)
{
    fake_netdev_receive(&nic, frame, len, 0, offload);
    vif_poll(&vif);
}

static size_t answers_to_arp(int tci)
{
    uint8_t frame[64];
    const size_t before = nic.sent_count;

    receive(frame, arp_request(frame, tci), (struct frame_offload){0});
    fake_netdev_complete(&nic, nic.in_ring);
    return nic.sent_count - before;
}

static size_t datagrams;

static void count_datagram(void *arg, struct udp_pcb *pcb, struct pbuf *p, const ip_addr_t *addr,
                           u16_t port)
{
    (void)arg, (void)pcb, (void)addr, (void)port;
    datagrams++;
    pbuf_free(p);
}

static void send_datagram(void)
{
    struct udp_pcb *pcb = udp_new();
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, 4, PBUF_RAM);
    ip_addr_t to;

    memcpy(p->payload, "data", 4);
    IP_ADDR4(&to, 10, 99, 0, 1);
    assert_int_equal(udp_sendto(pcb, p, &to, 9), ERR_OK);
    pbuf_free(p);
    udp_remove(pcb);
}

/* ---- VLANs ---- */

static void without_a_vlan_only_untagged_and_priority_frames_are_taken(void **state)
{
    (void)state;
    assert_int_equal(answers_to_arp(-1), 1);
    assert_int_equal(nic.sent[0].len, ETHER + 28); /* untagged */
    assert_int_equal(answers_to_arp(0), 1);
    assert_int_equal(answers_to_arp(5 << 13), 1); /* VLAN 0, priority 5 */
    assert_int_equal(nic.sent[2].len, ETHER + 28);
    assert_int_equal(vif.count.in_vlan, 0);
    assert_int_equal(answers_to_arp(1), 0);
    assert_int_equal(answers_to_arp(4095), 0);
    assert_int_equal(vif.count.in_vlan, 2);
}

static void in_a_vlan_only_its_frames_are_taken(void **state)
{
    (void)state;
    assert_int_equal(answers_to_arp(0x123), 1);
    assert_int_equal(answers_to_arp(7 << 13 | 1 << 12 | 0x123), 1); /* any priority */
    assert_int_equal(answers_to_arp(-1), 0);
    assert_int_equal(answers_to_arp(0), 0);
    assert_int_equal(answers_to_arp(0x124), 0);
    assert_int_equal(vif.count.in_vlan, 3);
}

static void a_tag_that_is_cut_off_is_none(void **state)
{
    uint8_t frame[64];

    (void)state;
    ether(frame, guest_mac, 0x123, 0x0806);
    for (size_t len = 14; len < 18; len++)
        receive(frame, len, (struct frame_offload){0});
    assert_int_equal(vif.count.in_vlan, 4);
    receive(frame, 18, (struct frame_offload){0}); /* nothing behind the tag: ARP drops it */
    assert_int_equal(vif.count.in_frames, 1);
}

static void a_second_tag_is_an_unknown_protocol(void **state)
{
    uint8_t frame[64];

    (void)state;
    ether(frame, guest_mac, 0x123, 0x8100);
    receive(frame, 60, (struct frame_offload){0});
    assert_int_equal(vif.count.in_unknown, 1);
}

static void what_is_sent_carries_the_tag_behind_the_addresses(void **state)
{
    (void)state;
    assert_int_equal(answers_to_arp(0x123), 1);
    const struct fake_sent *reply = fake_netdev_last(&nic);
    assert_int_equal(reply->len, ETHER + TAG + 28);
    assert_memory_equal(reply->bytes, peer_mac, 6);
    assert_memory_equal(reply->bytes + 6, guest_mac, 6);
    assert_memory_equal(reply->bytes + 12, "\x81\x00\x01\x23\x08\x06", 6);
    send_datagram();
    const struct fake_sent *udp = fake_netdev_last(&nic);
    assert_memory_equal(udp->bytes + 12, "\x81\x00\x01\x23\x08\x00\x45", 7);
    assert_int_equal(udp->len, ETHER + TAG + 28 + 4);
    assert_memory_equal(udp->bytes + udp->len - 4, "data", 4);
}

static void a_partial_checksum_is_found_behind_the_tag(void **state)
{
    struct udp_pcb *pcb = udp_new();
    struct frame_offload offload = {.flags = FRAME_CSUM_PARTIAL, .csum_offset = 6};
    uint8_t frame[128];

    (void)state;
    datagrams = 0;
    assert_int_equal(udp_bind(pcb, IP_ADDR_ANY, 7777), ERR_OK);
    udp_recv(pcb, count_datagram, NULL);
    const size_t len = udp_partial(frame, 0x123, &offload.csum_start);
    receive(frame, len, offload);
    assert_int_equal(datagrams, 1);
    receive(frame, len, (struct frame_offload){0}); /* nobody vouches: the checksum is wrong */
    assert_int_equal(datagrams, 1);
    udp_remove(pcb);
}

/* ICMP is no protocol whose checksum lwIP may skip: it is completed, and only the right place gives a right sum. */
static void a_checksum_completed_for_the_stack_is_the_right_field(void **state)
{
    uint8_t frame[128];
    struct frame_offload offload = {.flags = FRAME_CSUM_PARTIAL, .csum_offset = 2};

    (void)state;
    assert_int_equal(answers_to_arp(0x123), 1);
    const size_t len = udp_partial(frame, 0x123, &offload.csum_start);
    uint8_t *ip = frame + ETHER + TAG, *icmp = ip + 20;
    ip[9] = 1;
    memset(ip + 10, 0, 2);
    const uint16_t sum = (uint16_t)~csum_lwip(ip, 20);
    memcpy(ip + 10, &sum, 2);
    memset(icmp, 0, 12);
    icmp[0] = 8;
    const size_t before = nic.sent_count;
    receive(frame, len, offload);
    const size_t answered = nic.sent_count;
    assert_int_equal(answered, before + 1);
    assert_int_equal(fake_netdev_last(&nic)->bytes[ETHER + TAG + 20], 0); /* an echo reply */
    offload.csum_start = 3; /* nonsense: no underflow */
    receive(frame, len, offload);
    assert_int_equal(vif.count.in_bad, 1);
    assert_int_equal(nic.sent_count, answered);
}

static void a_checksum_left_to_the_device_starts_behind_the_tag(void **state)
{
    struct tcp_pcb *pcb = tcp_new();
    ip_addr_t to;

    (void)state;
    assert_int_equal(answers_to_arp(0x123), 1);
    IP_ADDR4(&to, 10, 99, 0, 1);
    assert_int_equal(tcp_connect(pcb, &to, 9, NULL), ERR_OK);
    const struct fake_sent *syn = fake_netdev_last(&nic);
    assert_int_equal(syn->bytes[ETHER + TAG + 9], 6);
    assert_int_equal(syn->offload.flags, FRAME_CSUM_PARTIAL);
    assert_int_equal(syn->offload.csum_start, ETHER + TAG + 20);
    assert_int_equal(syn->offload.csum_offset, 16);
    tcp_abort(pcb);
}

static void a_frame_with_a_tag_takes_no_more_pieces_than_the_ring_does(void **state)
{
    struct udp_pcb *pcb = udp_new();
    ip_addr_t to;

    (void)state;
    assert_int_equal(answers_to_arp(0x123), 1);
    IP_ADDR4(&to, 10, 99, 0, 1);
    for (int pieces = NETDEV_PIECES_MAX - 3; pieces <= NETDEV_PIECES_MAX; pieces++) {
        struct pbuf *head = pbuf_alloc(PBUF_TRANSPORT, 1, PBUF_RAM);

        for (int i = 1; i < pieces; i++)
            pbuf_cat(head, pbuf_alloc(PBUF_RAW, 1, PBUF_RAM));
        assert_int_equal(udp_sendto(pcb, head, &to, 9), ERR_OK); /* the fake refuses too many */
        assert_int_equal(fake_netdev_last(&nic)->len, ETHER + TAG + 28 + pieces);
        pbuf_free(head);
        fake_netdev_complete(&nic, nic.in_ring);
    }
    udp_remove(pcb);
}

/* ---- multicast ---- */

static bool takes(const uint8_t *mac)
{
    uint8_t frame[60] = {0};
    const uint64_t filtered = vif.count.in_filtered;

    ether(frame, mac, -1, 0x88cc); /* no protocol of ours: only the filter is asked */
    receive(frame, sizeof(frame), (struct frame_offload){0});
    return vif.count.in_filtered == filtered;
}

static bool device_was_told(const uint8_t *mac)
{
    for (size_t i = 0; i < nic.filter.group_count; i++)
        if (memcmp(nic.filter.groups[i], mac, 6) == 0)
            return true;
    return false;
}

static void an_interface_begins_with_the_groups_of_every_host(void **state)
{
    static const uint8_t all_hosts[6] = {1, 0, 0x5e, 0, 0, 1},
                         all_nodes[6] = {0x33, 0x33, 0, 0, 0, 1};
    static const uint8_t foreign[6] = {1, 0, 0x5e, 0, 0, 0xfb},
                         lldp[6] = {1, 0x80, 0xc2, 0, 0, 0xe};

    (void)state;
    assert_true(nic.filters > 0);
    assert_int_equal(nic.filter.group_count, 2);
    assert_true(device_was_told(all_hosts) && device_was_told(all_nodes));
    assert_true(nic.filter.broadcast && !nic.filter.all_groups);
    assert_true(takes(all_hosts) && takes(all_nodes));
    assert_false(takes(foreign) || takes(lldp));
    assert_int_equal(vif.count.in_filtered, 2);
}

static void groups_come_and_go(void **state)
{
    static const uint8_t mac4[6] = {1, 0, 0x5e, 0x7f, 2, 3}, mac6[6] = {0x33, 0x33, 0, 0, 0, 0xfb};
    ip4_addr_t a, b;
    ip6_addr_t g6;

    (void)state;
    IP4_ADDR(&a, 239, 255, 2, 3);
    IP4_ADDR(&b, 224, 127, 2, 3); /* another group, the same address */
    IP6_ADDR(&g6, PP_HTONL(0xff020000), 0, 0, PP_HTONL(0xfb));
    igmp_joingroup_netif(&vif.netif, &a);
    igmp_joingroup_netif(&vif.netif, &b);
    mld6_joingroup_netif(&vif.netif, &g6);
    assert_true(takes(mac4) && takes(mac6));
    assert_true(device_was_told(mac4) && device_was_told(mac6));
    assert_int_equal(nic.filter.group_count, 4);
    igmp_leavegroup_netif(&vif.netif, &a);
    assert_true(takes(mac4) && device_was_told(mac4));
    igmp_leavegroup_netif(&vif.netif, &b);
    mld6_leavegroup_netif(&vif.netif, &g6);
    assert_false(takes(mac4) || takes(mac6));
    assert_int_equal(nic.filter.group_count, 2);
}

static void more_groups_than_fit_open_the_filter_and_fewer_close_it(void **state)
{
    static const uint8_t foreign[6] = {1, 0, 0x5e, 0x11, 0x11, 0x11};
    ip4_addr_t group;

    (void)state;
    for (unsigned i = 0; i < NETDEV_GROUPS_MAX + 4; i++) {
        IP4_ADDR(&group, 239, 1, 0, i);
        igmp_joingroup_netif(&vif.netif, &group);
        assert_int_equal(nic.filter.all_groups, i + 1 + 2 > NETDEV_GROUPS_MAX);
        assert_int_equal(takes(foreign), nic.filter.all_groups);
    }
    for (unsigned i = 0; i < NETDEV_GROUPS_MAX + 4; i++) {
        IP4_ADDR(&group, 239, 1, 0, i);
        igmp_leavegroup_netif(&vif.netif, &group);
    }
    assert_false(nic.filter.all_groups || takes(foreign));
    assert_int_equal(nic.filter.group_count, 2);
}

/* ---- what changes ---- */

static void a_flap_between_two_looks_is_seen(void **state)
{
    (void)state;
    vif_tick(&vif);
    const size_t before = nic.sent_count;
    nic.dev.link_changes += 2;
    vif_tick(&vif);
    assert_true(netif_is_link_up(&vif.netif));
    assert_true(nic.sent_count > before); /* gratuitous ARP, group reports */
    const size_t after = nic.sent_count;
    vif_tick(&vif);
    assert_int_equal(nic.sent_count, after);
}

/* An established connection to the peer, which has been learnt. */
static struct tcp_pcb *connection(void)
{
    struct tcp_pcb *pcb = tcp_new();

    assert_int_equal(answers_to_arp(-1), 1);
    IP_ADDR4(&pcb->local_ip, 10, 99, 0, 2);
    IP_ADDR4(&pcb->remote_ip, 10, 99, 0, 1);
    pcb->local_port = 7;
    pcb->remote_port = 9;
    pcb->state = ESTABLISHED;
    pcb->mss = 1448;
    pcb->cwnd = pcb->snd_wnd = pcb->snd_wnd_max = 65536;
    TCP_REG(&tcp_active_pcbs, pcb);
    return pcb;
}

static bool was_sent(const char *text)
{
    const size_t len = strlen(text);

    for (size_t i = 0; i < nic.sent_count; i++) {
        const struct fake_sent *sent = &nic.sent[i];

        if (sent->len > len && memcmp(sent->bytes + sent->len - len, text, len) == 0)
            return true;
    }
    return false;
}

static void set_link(bool up)
{
    nic.dev.link_up = up;
    vif_tick(&vif);
}

static void what_was_on_its_way_when_the_link_went_is_sent_again(void **state)
{
    struct tcp_pcb *pcb = connection();

    (void)state;
    tcp_write(pcb, "before", 6, 0);
    tcp_output(pcb);
    fake_netdev_forget_sent(&nic);
    set_link(false);
    set_link(true);
    assert_true(was_sent("before"));
    tcp_abandon(pcb, 0);
}

/* lwIP has no timer for a segment that never left. */
static void what_was_written_without_a_link_leaves_when_it_is_back(void **state)
{
    struct tcp_pcb *pcb = connection();

    (void)state;
    set_link(false);
    tcp_write(pcb, "without", 7, 0);
    tcp_output(pcb);
    assert_false(was_sent("without"));
    set_link(true);
    assert_true(was_sent("without"));
    tcp_abandon(pcb, 0);
}

static const struct fake_sent *find_sent(unsigned type)
{
    for (size_t i = nic.sent_count; i > 0; i--)
        if (nic.sent[i - 1].bytes[12] == type >> 8 && nic.sent[i - 1].bytes[13] == (type & 0xff))
            return &nic.sent[i - 1];
    return NULL;
}

static void an_announcement_names_every_address(void **state)
{
    (void)state;
    netif_create_ip6_linklocal_address(&vif.netif, 1);
    netif_ip6_addr_set_state(&vif.netif, 0, IP6_ADDR_PREFERRED);
    fake_netdev_forget_sent(&nic);
    nic.dev.on_announce(nic.dev.stack);

    const struct fake_sent *arp = find_sent(0x0806);
    assert_non_null(arp);
    assert_memory_equal(arp->bytes, "\xff\xff\xff\xff\xff\xff", 6);
    assert_memory_equal(arp->bytes + ETHER + 14, guest_ip, 4); /* sender and target alike */
    assert_memory_equal(arp->bytes + ETHER + 24, guest_ip, 4);

    const struct fake_sent *na = NULL;
    for (size_t i = 0; i < nic.sent_count; i++)
        if (nic.sent[i].len == ETHER + 40 + 32 && nic.sent[i].bytes[ETHER + 40] == 136)
            na = &nic.sent[i];
    assert_non_null(na);
    const uint8_t *ip = na->bytes + ETHER, *icmp = ip + 40;
    assert_memory_equal(na->bytes, "\x33\x33\x00\x00\x00\x01", 6);
    assert_int_equal(ip[7], 255);
    assert_int_equal(icmp[4], 0x20); /* override, not solicited */
    assert_memory_equal(icmp + 8, ip + 8, 16);
    assert_memory_equal(icmp + 24, "\x02\x01", 2);
    assert_memory_equal(icmp + 26, guest_mac, 6);
    const uint32_t sum = csum_lwip(ip + 8, 32 + 32) + 0x3a00u + (32u << 8); /* pseudo header */
    assert_int_equal((sum & 0xffff) + (sum >> 16), 0xffff);
    netif_ip6_addr_set_state(&vif.netif, 0, IP6_ADDR_INVALID);
}

static void nothing_is_announced_on_a_link_that_is_down(void **state)
{
    (void)state;
    nic.dev.link_up = false;
    vif_tick(&vif);
    fake_netdev_forget_sent(&nic);
    nic.dev.on_announce(nic.dev.stack);
    assert_int_equal(nic.sent_count, 0);
    nic.dev.link_up = true;
    vif_tick(&vif);
}

static void a_new_address_of_the_nic_is_taken_over_and_told(void **state)
{
    (void)state;
    nic.dev.mac[5] = 0x99;
    vif_tick(&vif);
    assert_memory_equal(vif.netif.hwaddr, nic.dev.mac, 6);
    const struct fake_sent *arp = find_sent(0x0806);
    assert_non_null(arp);
    assert_memory_equal(arp->bytes + 6, nic.dev.mac, 6);
    assert_int_equal(answers_to_arp(-1), 1);
}

static void a_smaller_mtu_makes_smaller_segments(void **state)
{
    struct tcp_pcb *pcb = connection();

    (void)state;
    nic.dev.mtu = 1400;
    vif_tick(&vif);
    assert_int_equal(vif.netif.mtu, 1400);
    assert_int_equal(vif.netif.mtu6, 1400);
    assert_true(pcb->mss <= 1360);
    nic.dev.mtu = 9000;
    vif_tick(&vif);
    assert_int_equal(vif.netif.mtu, 9000);
    assert_int_equal(vif.netif.mtu6, 9000);
    assert_true(pcb->mss <= 1360); /* what was agreed when it began could be less than this */
    tcp_abandon(pcb, 0);
}

static void a_routers_smaller_mtu_stays(void **state)
{
    (void)state;
    vif.netif.mtu6 = 1280;
    nic.dev.mtu = 1400;
    vif_tick(&vif);
    assert_int_equal(vif.netif.mtu6, 1280);
    nic.dev.mtu = 1500;
    vif_tick(&vif);
    assert_int_equal(vif.netif.mtu6, 1280);
}

/* ---- several NICs ---- */

static void a_packet_leaves_by_the_nic_its_source_belongs_to(void **state)
{
    ip4_addr_t first, other, far;
    ip6_addr_t src6, far6, near6;

    (void)state;
    open_one(&second, &second_nic, "net1", 98);
    IP4_ADDR(&first, 10, 99, 0, 2);
    IP4_ADDR(&other, 10, 98, 0, 2);
    IP4_ADDR(&far, 192, 0, 2, 1);
    assert_ptr_equal(net_route4_by_source(&other, &far), &second.netif);
    assert_ptr_equal(net_route4_by_source(&first, &far), &vif.netif);
    assert_ptr_equal(net_route4_by_source(&first, &other), &second.netif); /* to ourselves */
    assert_null(net_route4_by_source(&far, &far));
    assert_null(net_route4_by_source(IP4_ADDR_ANY4, &far));

    IP6_ADDR(&src6, PP_HTONL(0xfd000098), 0, 0, PP_HTONL(2));
    IP6_ADDR(&far6, PP_HTONL(0x20010db8), 0, 0, PP_HTONL(1));
    netif_ip6_addr_set(&second.netif, 1, &src6);
    netif_ip6_addr_set_state(&second.netif, 1, IP6_ADDR_PREFERRED);
    assert_ptr_equal(ip6_route(&src6, &far6), &second.netif);
    /* Also when the first NIC's network is where it goes. */
    IP6_ADDR(&near6, PP_HTONL(0xfd000099), 0, 0, PP_HTONL(2));
    netif_ip6_addr_set(&vif.netif, 1, &near6);
    netif_ip6_addr_set_state(&vif.netif, 1, IP6_ADDR_PREFERRED);
    assert_ptr_equal(ip6_route(&src6, &near6), &vif.netif); /* to ourselves */
    near6.addr[3] = PP_HTONL(1);
    assert_ptr_equal(ip6_route(&src6, &near6), &second.netif);
    netif_ip6_addr_set_state(&vif.netif, 1, IP6_ADDR_INVALID);
    assert_null(net_route6_by_source(&far6, &far6));
    netif_set_link_down(&second.netif);
    assert_null(net_route4_by_source(&other, &far));
    assert_null(net_route6_by_source(&src6, &far6));
    netif_ip6_addr_set_state(&second.netif, 1, IP6_ADDR_INVALID);
    close_one(&second, &second_nic);
}

/* lwIP takes a timer with its first connection and keeps it: not a leak of the test that comes first. */
static int start(void **state)
{
    net_fixture_start(state);
    struct tcp_pcb *pcb = tcp_new();

    assert_non_null(pcb);
    pcb->state = ESTABLISHED;
    TCP_REG(&tcp_active_pcbs, pcb);
    tcp_abandon(pcb, 0);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        LINK_TEST(without_a_vlan_only_untagged_and_priority_frames_are_taken),
        VLAN_TEST(in_a_vlan_only_its_frames_are_taken),
        VLAN_TEST(a_tag_that_is_cut_off_is_none),
        VLAN_TEST(a_second_tag_is_an_unknown_protocol),
        VLAN_TEST(what_is_sent_carries_the_tag_behind_the_addresses),
        VLAN_TEST(a_partial_checksum_is_found_behind_the_tag),
        VLAN_TEST(a_checksum_completed_for_the_stack_is_the_right_field),
        VLAN_TEST(a_checksum_left_to_the_device_starts_behind_the_tag),
        VLAN_TEST(a_frame_with_a_tag_takes_no_more_pieces_than_the_ring_does),
        LINK_TEST(an_interface_begins_with_the_groups_of_every_host),
        LINK_TEST(groups_come_and_go),
        LINK_TEST(more_groups_than_fit_open_the_filter_and_fewer_close_it),
        LINK_TEST(a_flap_between_two_looks_is_seen),
        LINK_TEST(what_was_on_its_way_when_the_link_went_is_sent_again),
        LINK_TEST(what_was_written_without_a_link_leaves_when_it_is_back),
        LINK_TEST(an_announcement_names_every_address),
        LINK_TEST(nothing_is_announced_on_a_link_that_is_down),
        LINK_TEST(a_new_address_of_the_nic_is_taken_over_and_told),
        LINK_TEST(a_smaller_mtu_makes_smaller_segments),
        LINK_TEST(a_routers_smaller_mtu_stays),
        LINK_TEST(a_packet_leaves_by_the_nic_its_source_belongs_to),
    };
    return cmocka_run_group_tests(tests, start, NULL);
}
