#include "tests/host/support/send_fixture.h"

#include <errno.h>
#include <string.h>

#include "lib/page_frag.h"
#include "lwip/etharp.h"
#include "lwip/netif.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/prot/ip4.h"
#include "net/csum.h"
#include "net/tcp_seg.h"
#include "net/tcp_send.h"
#include "net/tso.h"
#include "net/vif.h"
#include "tests/fake/fake_netdev.h"

static const uint8_t guest_mac[6] = {0x52, 0x54, 0, 0x12, 0x34, 0x56};
static const uint8_t peer_mac[6] = {2, 0, 0, 0, 0, 1};
struct fake_netdev nic;
struct tcp_pcb *pcb;
uint8_t stream[STREAM_MAX];
enum offload offload;
static struct vif vif;

/* ---- the connection ---- */

static void open_pcb(void)
{
    pcb = tcp_new();
    assert_non_null(pcb);
    IP_ADDR4(&pcb->local_ip, 10, 99, 0, 2);
    IP_ADDR4(&pcb->remote_ip, 10, 99, 0, 1);
    pcb->local_port = PORT;
    pcb->remote_port = 9;
    pcb->state = ESTABLISHED;
    pcb->mss = MSS;
    pcb->cwnd = pcb->ssthresh = pcb->snd_wnd = pcb->snd_wnd_max = 1024 * 1024;
    pcb->snd_buf = STREAM_MAX;
    pcb->snd_nxt = pcb->snd_lbb = pcb->lastack = pcb->snd_wl2 = ISN;
    pcb->snd_wl1 = pcb->rcv_nxt = 77;
    pcb->flags |= TF_WND_SCALE | TF_NODELAY;
    pcb->snd_scale = 7;
    TCP_REG(&tcp_active_pcbs, pcb);
}

int send_fixture_open(void **state)
{
    ip4_addr_t addr, mask, gw;

    net_fixture_before(state);
    fake_netdev_init(&nic);
    nic.dev.features.tx_csum = offload >= CSUM;
    nic.dev.features.tx_tso4 = nic.dev.features.tx_tso6 = offload >= TSO;
    assert_int_equal(vif_open(&vif, &nic.dev, true, true), 0);
    IP4_ADDR(&addr, 10, 99, 0, 2);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&gw, 0, 0, 0, 0);
    netif_set_addr(&vif.netif, &addr, &mask, &gw);
    IP4_ADDR(&addr, 10, 99, 0, 1);
    assert_int_equal(etharp_add_static_entry(&addr, (struct eth_addr *)(void *)(uintptr_t)peer_mac),
                     ERR_OK);
    for (size_t i = 0; i < sizeof(stream); i++)
        stream[i] = (uint8_t)(i * 7 + (i >> 8) * 13 + (i >> 16));
    open_pcb();
    fake_netdev_forget_sent(&nic);
    return 0;
}

int send_fixture_close(void **state)
{
    ip4_addr_t addr;

    if (pcb)
        tcp_abandon(pcb, 0);
    pcb = NULL;
    IP4_ADDR(&addr, 10, 99, 0, 1);
    etharp_remove_static_entry(&addr);
    fake_netdev_complete(&nic, nic.in_ring);
    nic.send_error = -EIO;
    nic.refused = true;
    vif_poll(&vif);
    netif_remove(&vif.netif);
    for (size_t i = 0; i < VIF_COUNTER_COUNT; i++)
        counters_remove(&vif.counters[i]);
    fake_netdev_fini(&nic);
    return net_fixture_after(state);
}

static void put_sack(uint8_t *opt, const struct sacked *blocks, size_t count)
{
    opt[0] = opt[1] = 1;
    opt[2] = 5;
    opt[3] = (uint8_t)(2 + 8 * count);
    for (size_t i = 0; i < count; i++) {
        const uint32_t left = lwip_htonl(ISN + blocks[i].from),
                       right = lwip_htonl(ISN + blocks[i].to);

        memcpy(opt + 4 + 8 * i, &left, 4);
        memcpy(opt + 8 + 8 * i, &right, 4);
    }
}

void peer_sacks(uint32_t acked, uint32_t window, const struct sacked *blocks, size_t count)
{
    uint8_t f[HEADERS + 40] = {0};
    struct tcp_hdr *tcp = (struct tcp_hdr *)(void *)(f + ETHER + IP_HLEN);
    uint8_t *ip = f + ETHER;
    const size_t options = count ? 4 + 8 * count : 0;

    memcpy(f, guest_mac, 6);
    memcpy(f + 6, peer_mac, 6);
    f[12] = 8;
    ip[0] = 0x45;
    ip[3] = (uint8_t)(IP_HLEN + TCP_HLEN + options);
    ip[8] = 64;
    ip[9] = 6;
    memcpy(ip + 12, "\x0a\x63\x00\x01\x0a\x63\x00\x02", 8);
    const uint16_t sum = (uint16_t)~csum_lwip(ip, IP_HLEN);
    memcpy(ip + 10, &sum, 2);
    tcp->src = lwip_htons(9);
    tcp->dest = lwip_htons(PORT);
    tcp->seqno = lwip_htonl(77);
    tcp->ackno = lwip_htonl(ISN + acked);
    tcp->wnd = lwip_htons((u16_t)(window >> 7));
    TCPH_HDRLEN_FLAGS_SET(tcp, (u16_t)(5 + options / 4), TCP_ACK);
    if (count)
        put_sack((uint8_t *)(tcp + 1), blocks, count);
    fake_netdev_receive(&nic, f, HEADERS + options, 0,
                        (struct frame_offload){.flags = FRAME_CSUM_VALID});
    vif_poll(&vif);
}

void peer_acks(uint32_t acked, uint32_t window)
{
    peer_sacks(acked, window, NULL, 0);
}

void there_is_room(void)
{
    nic.refused = true;
    vif_poll(&vif);
}

void write_stream(size_t from, size_t len, u8_t flags)
{
    while (len > 0) {
        const u16_t part = (u16_t)LWIP_MIN(len, 60000);

        assert_int_equal(tcp_write(pcb, stream + from, part, flags), ERR_OK);
        from += part;
        len -= part;
    }
}

/* ---- what left ---- */

static const struct tcp_hdr *tcp_in(const struct fake_sent *s)
{
    return (const struct tcp_hdr *)(const void *)(s->bytes + ETHER + IP_HLEN);
}

static uint16_t tcp_sum(const struct fake_sent *s)
{
    const uint8_t *ip = s->bytes + ETHER;
    const size_t len = s->len - ETHER - IP_HLEN;
    uint32_t sum = csum_lwip(ip + 12, 8) + (6u << 8) + lwip_htons((u16_t)len) +
                   csum_lwip(ip + IP_HLEN, (int)len);

    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

/* Frame number i, with everything checked that must be right in each. */
struct sight see(size_t i)
{
    const struct fake_sent *s = &nic.sent[i];
    const struct tcp_hdr *tcp = tcp_in(s);
    struct sight seen = {.from = lwip_ntohl(tcp->seqno) - ISN,
                         .len = (uint32_t)s->len - HEADERS,
                         .cut = s->offload.gso ? s->offload.gso_size : 0,
                         .flags = TCPH_FLAGS(tcp)};

    assert_true(i < nic.sent_count && s->len >= HEADERS);
    assert_int_equal(tcp->urgp, 0);
    assert_true(seen.flags & TCP_ACK);
    assert_int_equal(csum_lwip(s->bytes + ETHER, IP_HLEN), 0xffff);
    assert_int_equal(s->bytes[ETHER + 2] << 8 | s->bytes[ETHER + 3], s->len - ETHER);
    assert_true(seen.from + seen.len <= STREAM_MAX);
    assert_memory_equal(s->bytes + HEADERS, stream + seen.from, seen.len);
    assert_true(seen.cut || s->len <= 1514);
    if (seen.cut) {
        assert_int_equal(s->offload.gso, FRAME_GSO_TCP4);
        assert_int_equal(s->offload.hdr_len, HEADERS);
    }
    if (offload >= CSUM && seen.len > 0) {
        assert_int_equal(s->offload.flags, FRAME_CSUM_PARTIAL);
        assert_int_equal(s->offload.csum_start, ETHER + IP_HLEN);
    } else {
        assert_true(offload >= CSUM || tcp_sum(s) == 0xffff);
    }
    return seen;
}

/* Frames from number `first` on follow each other from byte `from` on; returns the byte behind. */
uint32_t see_stream(size_t first, uint32_t from)
{
    for (size_t i = first; i < nic.sent_count; i++) {
        const struct sight s = see(i);

        assert_int_equal(s.from, from);
        from += s.len;
    }
    return from;
}

void device_is_done(void)
{
    fake_netdev_complete(&nic, nic.in_ring);
}
