/* The network half of the fake device: frames into receive buffers, frames out of transmit chains. */
#include "tests/fake/fake_vdev.h"

#include <string.h>

#include "drivers/virtio_net/spec.h"

size_t fake_net_hdr_len(const struct fake_vdev *v)
{
    const bool wide = fake_has(v, VNET_F_VERSION_1) || fake_has(v, VNET_F_MRG_RXBUF);

    return wide ? VNET_HDR_BYTES : VNET_HDR_BYTES_LEGACY;
}

/* §5.1.6, legacy framing: without ANY_LAYOUT the header has a descriptor of its own. */
static void check_framing(struct fake_vdev *v, const struct fake_chain *c)
{
    if (v->transport.legacy && !fake_has(v, VNET_F_ANY_LAYOUT) &&
        (c->count < 2 || c->iov[0].len != fake_net_hdr_len(v)))
        fake_violation(v, "legacy framing: the header wants a descriptor of its own");
}

/* §5.1.6.3.1 */
static void check_rx_buffer(struct fake_vdev *v, const struct fake_chain *c)
{
    const bool big = fake_has(v, VNET_F_GUEST_TSO4) || fake_has(v, VNET_F_GUEST_TSO6);
    size_t least = big ? 65562 : 1526;

    if (fake_has(v, VNET_F_MRG_RXBUF))
        least = fake_net_hdr_len(v);
    if (c->in_len < least)
        fake_violation(v, "receive buffer too small (§5.1.6.3.1)");
    if (c->out_count)
        fake_violation(v, "receive buffer with a readable part");
    check_framing(v, c);
}

/* Copy as much of src as the chain takes. Returns bytes written. */
static size_t scatter(const struct fake_chain *c, const uint8_t *src, size_t len)
{
    size_t done = 0;

    for (unsigned i = 0; i < c->count && done < len; i++) {
        const size_t n = size_min(c->iov[i].len, len - done);
        memcpy(c->iov[i].base, src + done, n);
        done += n;
    }
    return done;
}

/* How many buffers would take `len` bytes; 0 = not enough are posted. Looks only. */
static unsigned buffers_needed(struct fake_vdev *v, size_t len)
{
    struct fake_queue *q = &v->queue[VNET_RXQ];
    const struct fake_queue before = *q;
    const unsigned violations = v->violations;
    struct fake_chain c;
    size_t room = 0;
    unsigned count = 0;

    while (room < len && fake_pop(v, VNET_RXQ, &c)) {
        room += c.in_len;
        count++;
        if (!fake_has(v, VNET_F_MRG_RXBUF))
            break;
    }
    *q = before;
    v->violations = violations;
    return room < len ? 0 : count;
}

static void write_hdr(struct fake_vdev *v, uint8_t *at, const struct fake_net_hdr *hdr,
                      unsigned buffers)
{
    struct virtio_net_hdr h = {0};

    if (hdr) {
        h.flags = hdr->flags;
        h.gso_type = hdr->gso_type;
        h.hdr_len = le16_make(hdr->hdr_len);
        h.gso_size = le16_make(hdr->gso_size);
        h.csum_start = le16_make(hdr->csum_start);
        h.csum_offset = le16_make(hdr->csum_offset);
    }
    h.num_buffers = le16_make((uint16_t)buffers);
    if (fake_lie(v, FAKE_NUM_BUFFERS_ZERO))
        h.num_buffers = le16_make(0);
    if (fake_lie(v, FAKE_NUM_BUFFERS_HUGE))
        h.num_buffers = le16_make(0xffff);
    if (fake_lie(v, FAKE_NUM_BUFFERS_ONE_MORE))
        h.num_buffers = le16_make((uint16_t)(buffers + 1));
    memcpy(at, &h, fake_net_hdr_len(v));
}

bool fake_net_receive(struct fake_vdev *v, const void *frame, size_t len,
                      const struct fake_net_hdr *hdr)
{
    static uint8_t packet[FAKE_FRAME_MAX + VNET_HDR_BYTES];
    const size_t total = fake_net_hdr_len(v) + len;
    const unsigned buffers = buffers_needed(v, total);
    size_t done = 0;

    if (!buffers) {
        v->rx_no_buffer++;
        return false;
    }
    write_hdr(v, packet, hdr, buffers);
    if (len)
        memcpy(packet + fake_net_hdr_len(v), frame, len);
    for (unsigned i = 0; i < buffers; i++) {
        struct fake_chain c;

        fake_pop(v, VNET_RXQ, &c);
        check_rx_buffer(v, &c);
        size_t n = scatter(&c, packet + done, total - done);
        done += n;
        if (fake_lie(v, FAKE_LEN_ZERO))
            n = 0;
        if (fake_lie(v, FAKE_LEN_SHORT_OF_HEADER))
            n = 9;
        if (i && fake_lie(v, FAKE_LATER_PIECE_EMPTY))
            n = 0;
        fake_push_silent(v, VNET_RXQ, c.head, (uint32_t)n);
    }
    /* All pieces of a frame appear together (§5.1.6.3.2, device). */
    fake_publish(v, VNET_RXQ);
    return true;
}

/* Bytes up to the payload of a TCP frame, as its own header says. */
static size_t tcp_headers(const struct virtio_net_hdr *h, const uint8_t *frame, size_t frame_len)
{
    const size_t at = (size_t)le16_get(h->csum_start) + 12;

    return at < frame_len ? (size_t)le16_get(h->csum_start) + (size_t)(frame[at] >> 4) * 4 : 0;
}

/* What §5.1.6.2 asks of a driver that sends. */
static void check_tx_hdr(struct fake_vdev *v, const struct virtio_net_hdr *h, const uint8_t *frame,
                         size_t frame_len)
{
    const uint8_t gso = h->gso_type & (uint8_t)~VNET_GSO_ECN;
    const unsigned start = le16_get(h->csum_start), offset = le16_get(h->csum_offset);

    if (fake_net_hdr_len(v) == VNET_HDR_BYTES && le16_get(h->num_buffers))
        fake_violation(v, "num_buffers is not 0 on transmit (§5.1.6.2.1)");
    if (h->flags & ~VNET_HDR_NEEDS_CSUM)
        fake_violation(v, "flags other than NEEDS_CSUM on transmit (§5.1.6.2.1)");
    if (h->flags && !fake_has(v, VNET_F_CSUM))
        fake_violation(v, "NEEDS_CSUM without CSUM negotiated (§5.1.6.2.1)");
    if ((h->flags & VNET_HDR_NEEDS_CSUM) && (start < 14 || start + offset + 2 > frame_len))
        fake_violation(v, "checksum field outside the frame");
    if (gso != VNET_GSO_NONE && !(h->flags & VNET_HDR_NEEDS_CSUM))
        fake_violation(v, "segmentation without NEEDS_CSUM (§5.1.6.2.1)");
    if (gso != VNET_GSO_NONE && !le16_get(h->gso_size))
        fake_violation(v, "segmentation without gso_size (§5.1.6.2.1)");
    if ((gso == VNET_GSO_TCPV4 && !fake_has(v, VNET_F_HOST_TSO4)) ||
        (gso == VNET_GSO_TCPV6 && !fake_has(v, VNET_F_HOST_TSO6)) ||
        (gso != VNET_GSO_NONE && gso != VNET_GSO_TCPV4 && gso != VNET_GSO_TCPV6))
        fake_violation(v, "segmentation that was not negotiated (§5.1.6.2.1)");
    if ((h->gso_type & VNET_GSO_ECN) && (gso == VNET_GSO_NONE || !fake_has(v, VNET_F_HOST_ECN)))
        fake_violation(v, "the ECN bit without HOST_ECN (§5.1.6.2.1)");
    if (gso != VNET_GSO_NONE && le16_get(h->hdr_len) < 14 + 20 + 20)
        fake_violation(v, "hdr_len smaller than the headers (§5.1.6.2.1)");
    if (gso != VNET_GSO_NONE && fake_has(v, VNET_F_GUEST_HDRLEN) &&
        le16_get(h->hdr_len) != tcp_headers(h, frame, frame_len))
        fake_violation(v, "hdr_len isn't exact, though GUEST_HDRLEN was negotiated (§5.1.6.2.1)");
}

void fake_net_read(struct fake_vdev *v, const struct fake_chain *c, fake_net_sink *sink, void *arg)
{
    static uint8_t packet[FAKE_FRAME_MAX + VNET_HDR_BYTES];
    const size_t hdr_len = fake_net_hdr_len(v);
    struct virtio_net_hdr h = {0};
    size_t len = 0;

    if (c->out_count != c->count)
        fake_violation(v, "transmit chain with a writable part");
    if (c->out_len <= hdr_len + 13 || c->out_len > sizeof(packet)) {
        fake_violation(v, "transmit chain shorter than a frame, or longer than any");
        return;
    }
    check_framing(v, c);
    for (unsigned i = 0; i < c->count; i++) {
        memcpy(packet + len, c->iov[i].base, c->iov[i].len);
        len += c->iov[i].len;
    }
    memcpy(&h, packet, hdr_len);
    check_tx_hdr(v, &h, packet + hdr_len, len - hdr_len);
    if (!sink)
        return;
    const struct fake_net_hdr out = {h.flags,
                                     h.gso_type,
                                     le16_get(h.hdr_len),
                                     le16_get(h.gso_size),
                                     le16_get(h.csum_start),
                                     le16_get(h.csum_offset),
                                     le16_get(h.num_buffers)};
    sink(arg, &out, packet + hdr_len, len - hdr_len);
}

unsigned fake_net_transmit(struct fake_vdev *v, unsigned max, fake_net_sink *sink, void *arg)
{
    struct fake_chain c;
    unsigned count = 0;

    while (count < max && fake_pop(v, VNET_TXQ, &c)) {
        fake_net_read(v, &c, sink, arg);
        fake_push_silent(v, VNET_TXQ, c.head, 0);
        count++;
    }
    if (count)
        fake_publish(v, VNET_TXQ);
    return count;
}
