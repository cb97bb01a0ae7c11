#include "net/vif.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/check.h"
#include "lib/log.h"
#include "lwip/etharp.h"
#include "lwip/ethip6.h"
#include "lwip/ip4.h"
#include "lwip/ip6.h"
#include "lwip/mld6.h"
#include "lwip/priv/tcp_priv.h"
#include "lwip/prot/ethernet.h"
#include "lwip/snmp.h"
#include "net/csum.h"
#include "net/frag_pbuf.h"
#include "net/tso.h"
#include "net/vif_follow.h"
#include "netif/ethernet.h"
#include "port/clock.h"

enum {
    ETHER_BYTES = 14,
    CHECK_L4 = NETIF_CHECKSUM_CHECK_TCP | NETIF_CHECKSUM_CHECK_UDP,
};

/* ---- in ---- */

/* Is the frame for us? The promiscuous tap of a bridge shows us everybody's. Then *flags are the pbuf's for this kind of
 * destination, else the drop has been counted. */
static bool filter_destination(struct vif *vif, const uint8_t *dst, u8_t *flags)
{
    *flags = 0;
    if (memcmp(dst, vif->netif.hwaddr, ETH_HWADDR_LEN) == 0)
        return true;
    if ((dst[0] & 1) == 0) {
        vif->count.in_not_ours++;
        return false;
    }
    if (memcmp(dst, ethbroadcast.addr, ETH_HWADDR_LEN) == 0) {
        *flags = PBUF_FLAG_LLBCAST;
        return true;
    }
    *flags = PBUF_FLAG_LLMCAST;
    if (vif_filter_wants(&vif->filter, dst))
        return true;
    vif->count.in_filtered++;
    return false;
}

/* lwIP checks checksums per interface; what the device vouches for is said per frame. So the
 * interface's word is set for each frame: one store, and no other frame is between. */
static bool set_checks(struct vif *vif, struct pbuf *p, const struct frame_offload *offload)
{
    switch (csum_in(p, offload)) {
    case CSUM_VOUCHED:
        vif->netif.chksum_flags &= (u16_t)~CHECK_L4;
        return true;
    case CSUM_VERIFY:
        vif->netif.chksum_flags |= CHECK_L4;
        return true;
    default:
        return false;
    }
}

static void input_ip(struct vif *vif, struct pbuf *p, const struct frame_offload *offload,
                     err_t (*input)(struct pbuf *p, struct netif *inp))
{
    if (!set_checks(vif, p, offload)) {
        vif->count.in_bad++;
        pbuf_free(p);
        return;
    }
    input(p, &vif->netif); /* takes p, whatever it returns */
}

static void dispatch(struct vif *vif, uint16_t type, struct pbuf *p,
                     const struct frame_offload *offload)
{
    if (type == ETHTYPE_IP && vif->ip4) {
        input_ip(vif, p, offload, ip4_input);
    } else if (type == ETHTYPE_IPV6 && vif->ip6) {
        input_ip(vif, p, offload, ip6_input);
    } else if (type == ETHTYPE_ARP && vif->ip4) {
        vif->arp_heard_us = clock_now_us();
        etharp_input(p, &vif->netif);
    } else {
        vif->count.in_unknown++;
        pbuf_free(p);
    }
}

/* Bytes of Ethernet header, with the tag if there is one; 0 when the frame isn't for us, which has been counted. */
static uint32_t filter_frame(struct vif *vif, const struct frag *head, uint32_t len, u8_t *flags)
{
    const uint32_t l2 = vlan_header_bytes(head->data, len, vif->dev->vlan_id);

    if (!l2) {
        vif->count.in_vlan++;
        return 0;
    }
    if (!filter_destination(vif, head->data, flags))
        return 0;
    if (len - l2 > UINT16_MAX) {
        vif->count.in_bad++;
        return 0;
    }
    return l2;
}

static void input_frame(struct vif *vif, struct frame_in *frame)
{
    struct frag *head = frag_pbuf_gather(frame->head);
    u8_t flags;

    if (!head) {
        vif->count.in_no_memory++;
        return;
    }
    const uint32_t l2 = filter_frame(vif, head, frame->len, &flags);
    if (!l2) {
        frag_give_list(head);
        return;
    }
    const uint16_t type = vlan_get16(head->data + l2 - 2);

    head->data += l2;
    head->len -= l2;
    frame->offload.csum_start -= (uint16_t)(l2 - ETHER_BYTES); /* as if there had been no tag */

    struct pbuf *p = frag_pbuf_wear(head, frame->len - l2);
    p->flags |= flags;
    p->if_idx = netif_get_index(&vif->netif);
    vif->count.in_frames++;
    dispatch(vif, type, p, &frame->offload);
}

/* ---- out ---- */

/* One piece of memory with the whole frame, for a chain that the ring can't take as it is. */
static struct pbuf *copy_chain(struct vif *vif, struct pbuf *p)
{
    struct pbuf *copy = pbuf_clone(PBUF_RAW, PBUF_RAM, p);

    if (copy)
        vif->count.out_copied++;
    return copy;
}

/* Memory that its owner may change once lwIP's output call returns; fragments made by ip4_frag() are
 * PBUF_REF too, but own what they point to. */
static bool is_volatile(const struct pbuf *p)
{
    return PBUF_NEEDS_COPY(p) && (p->flags & PBUF_FLAG_IS_CUSTOM) == 0;
}

/* A tag cuts the first piece in two, and stands between them. */
enum { TAG_PIECES = 2 };

static bool must_copy(const struct vif *vif, const struct pbuf *p)
{
    size_t pieces = vif->dev->vlan_id ? TAG_PIECES : 0;

    for (; p; p = p->next) {
        if (is_volatile(p) || ++pieces > vif->dev->pieces_max)
            return true;
    }
    return false;
}

static size_t list_pieces(const struct pbuf *p, struct frame_piece *pieces)
{
    size_t count = 0;

    for (; p; p = p->next) {
        if (p->len > 0)
            pieces[count++] = (struct frame_piece){p->payload, p->len};
    }
    return count;
}

/* Put the tag behind the addresses: the headers in memory stay as lwIP made them, for it may send them again. */
static void add_tag(struct vif *vif, struct frame_piece *pieces, struct frame_out *frame)
{
    const struct frame_piece first = pieces[0];

    memmove(pieces + 1 + TAG_PIECES, pieces + 1, (frame->piece_count - 1) * sizeof(*pieces));
    pieces[0] = (struct frame_piece){first.addr, VLAN_AT};
    pieces[1] = (struct frame_piece){vif->vlan_tag, VLAN_TAG_BYTES};
    pieces[2] = (struct frame_piece){(const uint8_t *)first.addr + VLAN_AT, first.len - VLAN_AT};
    frame->piece_count += TAG_PIECES;
    if (frame->offload.flags & FRAME_CSUM_PARTIAL)
        frame->offload.csum_start += VLAN_TAG_BYTES;
    if (frame->offload.gso != FRAME_GSO_NONE)
        frame->offload.hdr_len += VLAN_TAG_BYTES;
}

static bool is_long(const struct vif *vif, const struct pbuf *p)
{
    return p->tot_len > vif->netif.mtu + ETHER_BYTES;
}

/* Hand one frame to the device. Takes the caller's reference on success and on a drop; -EAGAIN leaves it. */
static int send_now(struct vif *vif, struct pbuf *p)
{
    struct frame_piece pieces[NETDEV_PIECES_MAX + TAG_PIECES];
    struct frame_out frame = {.pieces = pieces, .cookie = p};
    const uint16_t cut = is_long(vif, p) ? tso_unmark(p) : 0;

    frame.piece_count = list_pieces(p, pieces);
    if (vif->dev->features.tx_csum)
        csum_out(p, &frame.offload);
    if (cut)
        tso_describe(p, cut, &frame.offload);
    if (vif->dev->vlan_id)
        add_tag(vif, pieces, &frame);

    const int err = vif->dev->ops->send(vif->dev, &frame);
    if (err == -EAGAIN) {
        if (cut)
            tso_mark(p, cut);
        return err;
    }
    if (err) {
        vif->count.out_dropped++;
        pbuf_free(p);
    } else {
        vif->count.out_frames++;
        vif->in_device++;
    }
    return 0;
}

static bool backlog_empty(const struct vif *vif)
{
    return vif->backlog_head == vif->backlog_tail;
}

/* Is it a TCP segment? Read from the outgoing frame's first pbuf, which holds the headers. */
static bool is_tcp(const struct pbuf *p)
{
    const uint8_t *frame = p->payload;

    if (p->len < SIZEOF_ETH_HDR + IP6_HLEN)
        return false;
    if (frame[12] == 0x08 && frame[13] == 0x00)
        return frame[SIZEOF_ETH_HDR + 9] == IP_PROTO_TCP;
    return frame[12] == 0x86 && frame[13] == 0xdd && frame[SIZEOF_ETH_HDR + 6] == IP_PROTO_TCP;
}

static bool backlog_takes(struct vif *vif, uint32_t limit)
{
    if (vif->backlog_tail - vif->backlog_head < limit)
        return true;
    vif->count.out_refused++;
    vif->tcp_refused = true;
    return false;
}

/*
 * TCP can wait: it keeps its segments, and is woken when there is room. Everybody else loses what is refused.
 * So TCP gets the first part of the backlog only; a connection that fills it whenever it can would otherwise keep
 * ping replies and datagrams out.
 */
static err_t backlog_put(struct vif *vif, struct pbuf *p)
{
    if (!backlog_takes(vif, is_tcp(p) ? VIF_BACKLOG_TCP_MAX : VIF_BACKLOG_MAX))
        return ERR_MEM;
    vif->backlog[vif->backlog_tail++ % VIF_BACKLOG_MAX] = p;
    return ERR_OK;
}

static void backlog_drain(struct vif *vif)
{
    while (!backlog_empty(vif)) {
        if (send_now(vif, vif->backlog[vif->backlog_head % VIF_BACKLOG_MAX]) == -EAGAIN)
            return;
        vif->backlog_head++;
    }
}

/*
 * The device can't cut it. All of its segments are accepted or none: what TCP believes to be sent may not get lost here. So the
 * backlog may grow by one frame's worth beyond TCP's limit.
 */
static err_t send_cut(struct vif *vif, struct pbuf *p)
{
    struct pbuf *frames[TSO_SEGMENTS_MAX];
    if (!backlog_takes(vif, VIF_BACKLOG_TCP_MAX))
        return ERR_MEM;
    const size_t count = tso_cut(p, !vif->dev->features.tx_csum, frames);

    for (size_t i = 0; i < count; i++) {
        if (!backlog_empty(vif) || send_now(vif, frames[i]) != 0)
            vif->backlog[vif->backlog_tail++ % VIF_BACKLOG_MAX] = frames[i];
    }
    vif->count.out_cut += count;
    return count > 0 ? ERR_OK : ERR_MEM;
}

static bool is_arp(const struct pbuf *p)
{
    const uint8_t *frame = p->payload;

    return frame[12] == 0x08 && frame[13] == 0x06;
}

static err_t link_output(struct netif *netif, struct pbuf *p)
{
    struct vif *vif = netif->state;
    struct pbuf *held = p;

    if (is_arp(p))
        vif->arp_asked_us = clock_now_us();

    if (is_long(vif, p) && !tso_by_device(&vif->dev->features, p))
        return send_cut(vif, p);
    if (must_copy(vif, p)) {
        held = copy_chain(vif, p);
        if (!held)
            return ERR_MEM;
    } else {
        pbuf_ref(p);
    }

    if (backlog_empty(vif) && send_now(vif, held) == 0)
        return ERR_OK;

    const err_t err = backlog_put(vif, held);
    if (err != ERR_OK)
        pbuf_free(held);
    return err;
}

static void on_sent(void *stack, void *cookie)
{
    struct vif *vif = stack;

    vif->in_device--;
    pbuf_free(cookie);
}

/* Others than TCP make their own sums, and would not send again. */
static void backlog_drop_tcp(struct vif *vif)
{
    for (uint32_t left = vif->backlog_tail - vif->backlog_head; left > 0; left--) {
        struct pbuf *p = vif->backlog[vif->backlog_head++ % VIF_BACKLOG_MAX];

        if (is_tcp(p)) {
            pbuf_free(p);
            vif->count.out_dropped++;
        } else {
            vif->backlog[vif->backlog_tail++ % VIF_BACKLOG_MAX] = p;
        }
    }
}

/*
 * A device that was reset may do more than before, or less. lwIP asks for its flags at each segment it sends, also
 * again; but what waits in the backlog was made without a sum, and TCP repairs that better than we.
 */
static void follow_features(struct vif *vif)
{
    if (vif->tx_csum == vif->dev->features.tx_csum)
        return;
    vif->tx_csum = vif->dev->features.tx_csum;
    if (vif->tx_csum) {
        vif->netif.chksum_flags &= (u16_t)~NETIF_CHECKSUM_GEN_TCP;
    } else {
        vif->netif.chksum_flags |= NETIF_CHECKSUM_GEN_TCP;
        backlog_drop_tcp(vif);
    }
}

static bool waits_to_send(const struct tcp_pcb *pcb)
{
    return pcb->unsent != NULL;
}

static bool waits_to_acknowledge(const struct tcp_pcb *pcb)
{
    return (pcb->flags & TF_ACK_NOW) && !pcb->unsent;
}

/* Let those of the connections that wait go, number `from` up to `to` of them, until the backlog is full. */
static void wake_some(struct vif *vif, bool (*waits)(const struct tcp_pcb *pcb), uint32_t from,
                      uint32_t to)
{
    uint32_t number = 0;

    for (struct tcp_pcb *pcb = tcp_active_pcbs; pcb && !vif->tcp_refused; pcb = pcb->next) {
        if (!waits(pcb))
            continue;
        if (number >= from && number < to)
            tcp_output(pcb);
        number++;
    }
}

static uint32_t count_senders(void)
{
    uint32_t count = 0;

    for (const struct tcp_pcb *pcb = tcp_active_pcbs; pcb; pcb = pcb->next)
        count += waits_to_send(pcb);
    return count;
}

/*
 * lwIP retries a refused segment only at its next ACK or timer; a ring that has room again is reason enough.
 * Refused ACKs go first: they are small, whoever waits for one has nothing else to wake it, and a connection
 * that fills the ring whenever it can would keep them out for good. Senders take turns at being first, or the
 * head of lwIP's list would have the ring to itself.
 */
static void wake_tcp(struct vif *vif)
{
    const uint32_t senders = count_senders();
    const uint32_t first = senders ? vif->wake_turn++ % senders : 0;

    vif->tcp_refused = false;
    wake_some(vif, waits_to_acknowledge, 0, UINT32_MAX);
    wake_some(vif, waits_to_send, first, senders);
    wake_some(vif, waits_to_send, 0, first);
}

static void on_room(void *stack)
{
    struct vif *vif = stack;

    follow_features(vif); /* the device may come back from a reset */
    backlog_drain(vif);
    if (vif->tcp_refused && vif->backlog_tail - vif->backlog_head < VIF_BACKLOG_TCP_MAX)
        wake_tcp(vif);
}

static void on_announce(void *stack)
{
    vif_announce(stack);
}

/* ---- life ---- */

static err_t setup_netif(struct netif *netif)
{
    struct vif *vif = netif->state;
    struct netdev *dev = vif->dev;

    memcpy(netif->name, "ne", sizeof(netif->name));
    netif->hwaddr_len = ETH_HWADDR_LEN;
    memcpy(netif->hwaddr, dev->mac, ETH_HWADDR_LEN);
    netif->mtu = dev->mtu;
    netif->output = etharp_output;
    netif->output_ip6 = ethip6_output;
    netif->linkoutput = link_output;
    netif->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET |
                   NETIF_FLAG_IGMP | NETIF_FLAG_MLD6;
    vif_filter_open(vif);
    follow_features(vif);
    return ERR_OK;
}

static void register_counters(struct vif *vif)
{
    struct vif_counters *c = &vif->count;
    const struct counter rows[VIF_COUNTER_COUNT] = {
        {.name = "vif_in_frames_total",
         .help = "Frames given to the stack",
         .value = &c->in_frames},
        {.name = "vif_out_frames_total",
         .help = "Frames given to the device",
         .value = &c->out_frames},
        {.name = "vif_in_not_ours_total",
         .help = "Frames to another address",
         .value = &c->in_not_ours},
        {.name = "vif_in_filtered_total",
         .help = "Multicast frames of groups that nobody is in",
         .value = &c->in_filtered},
        {.name = "vif_in_other_vlan_total", .help = "Frames of another VLAN", .value = &c->in_vlan},
        {.name = "vif_in_unknown_total",
         .help = "Frames of a protocol not in use",
         .value = &c->in_unknown},
        {.name = "vif_in_bad_total", .help = "Frames that can't be accepted", .value = &c->in_bad},
        {.name = "vif_in_no_memory_total",
         .help = "Frames lost for want of memory",
         .value = &c->in_no_memory},
        {.name = "vif_out_copied_total",
         .help = "Frames joined by a copy",
         .value = &c->out_copied},
        {.name = "vif_out_cut_total",
         .help = "Frames cut from longer ones, for want of a device that does",
         .value = &c->out_cut},
        {.name = "vif_out_refused_total",
         .help = "Frames the full backlog refused",
         .value = &c->out_refused},
        {.name = "vif_out_dropped_total",
         .help = "Frames the device refused",
         .value = &c->out_dropped},
    };

    snprintf(vif->labels, sizeof(vif->labels), "nic=\"%s\"", vif->dev->name);
    for (size_t i = 0; i < VIF_COUNTER_COUNT; i++) {
        vif->counters[i] = rows[i];
        vif->counters[i].labels = vif->labels;
        counters_add(&vif->counters[i]);
    }
}

int vif_open(struct vif *vif, struct netdev *dev, bool ip4, bool ip6)
{
    *vif = (struct vif){.dev = dev, .ip4 = ip4, .ip6 = ip6};
    dev->stack = vif;
    dev->on_sent = on_sent;
    dev->on_room = on_room;
    dev->on_announce = on_announce;
    vlan_write_tag(vif->vlan_tag, dev->vlan_id);
    vif->link_changes = dev->link_changes;
    /* netif_input is for frames that lwIP brings itself (loopback); ours go through dispatch(). */
    if (!netif_add(&vif->netif, NULL, NULL, NULL, vif, setup_netif, netif_input))
        return -ENOMEM;
    register_counters(vif);
    netif_set_up(&vif->netif);
    if (dev->link_up)
        netif_set_link_up(&vif->netif);
    return 0;
}

size_t vif_poll(struct vif *vif)
{
    struct frame_in frames[NETDEV_POLL_MAX];
    const size_t count = vif->dev->ops->poll(vif->dev, frames, NETDEV_POLL_MAX);

    follow_features(vif);
    for (size_t i = 0; i < count; i++)
        input_frame(vif, &frames[i]);
    return count;
}

void vif_flush(struct vif *vif)
{
    vif->dev->ops->flush(vif->dev);
}

/* Down, so that other interfaces take over; the driver has said why. Connections end by their own timers. */
static void follow_end(struct vif *vif)
{
    if (!vif->dev->broken || vif->broken_seen)
        return;
    vif->broken_seen = true;
    netif_set_down(&vif->netif);
}

void vif_tick(struct vif *vif)
{
    vif->dev->ops->tick(vif->dev);
    follow_features(vif);
    vif_follow(vif);
    if (!backlog_empty(vif) || vif->tcp_refused)
        on_room(vif);
    follow_end(vif);
}

bool vif_arm(struct vif *vif)
{
    vif->armed = true;
    return vif->dev->ops->arm(vif->dev);
}

void vif_disarm(struct vif *vif)
{
    if (vif->armed)
        vif->dev->ops->disarm(vif->dev);
    vif->armed = false;
}

bool vif_takes_long_packets(const struct netif *netif)
{
    return netif->linkoutput == link_output;
}

const char *vif_name(const struct netif *netif)
{
    return CONTAINER_OF(netif, struct vif, netif)->dev->name;
}
