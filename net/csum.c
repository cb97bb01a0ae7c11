#include "net/csum.h"

#include <string.h>

#include "lwip/pbuf.h"
#include "lwip/prot/ip.h"
#include "lwip/prot/ip4.h"
#include "lwip/prot/ip6.h"
#include "lwip/prot/tcp.h"

enum { ETHER_BYTES = 14, IP4_FRAGMENT_MASK = 0x3fff /* MF and offset, host order */ };

/* ---- the sum itself ---- */

static uint64_t add_carry(uint64_t sum, uint64_t word)
{
    sum += word;
    return sum + (sum < word);
}

static uint16_t fold(uint64_t sum)
{
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffffffff) + (sum >> 32);
    sum = (sum & 0xffff) + (sum >> 16);
    sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

static uint64_t load_tail(const uint8_t *p, size_t len)
{
    uint64_t word = 0;

    memcpy(&word, p, len);
    return word;
}

uint16_t csum_lwip(const void *data, int len)
{
    const uint8_t *p = data;
    size_t left = (size_t)len;
    uint64_t sum = 0;

    /* x86 loads at any alignment, so words are summed from the first byte on and no swap is needed. */
    for (; left >= 32; left -= 32, p += 32) {
        uint64_t w[4];

        memcpy(w, p, sizeof(w));
        sum = add_carry(sum, w[0]);
        sum = add_carry(sum, w[1]);
        sum = add_carry(sum, w[2]);
        sum = add_carry(sum, w[3]);
    }
    for (; left >= 8; left -= 8, p += 8)
        sum = add_carry(sum, load_tail(p, 8));
    if (left > 0)
        sum = add_carry(sum, load_tail(p, left));
    return fold(sum);
}

/* Sum of `len` bytes of a pbuf chain from `offset`; the chain holds them. */
static uint16_t sum_chain(const struct pbuf *p, size_t offset, size_t len)
{
    uint64_t sum = 0;
    bool odd = false;

    for (; p && len > 0; p = p->next) {
        if (offset >= p->len) {
            offset -= p->len;
            continue;
        }
        const size_t part = size_min(p->len - offset, len);
        const uint16_t s = csum_lwip((const uint8_t *)p->payload + offset, (int)part);

        sum += odd ? __builtin_bswap16(s) : s;
        odd ^= part & 1;
        len -= part;
        offset = 0;
    }
    return fold(sum);
}

/* ---- where the transport header is ---- */

struct l4_place {
    uint8_t
        proto; /* IP protocol; 0 = not an unfragmented packet with its L4 header right behind IP's */
    uint16_t offset;      /* of the L4 header in the IP packet */
    uint16_t len;         /* L4 bytes, by the IP header's word */
    const uint8_t *addrs; /* source and destination address, one behind the other */
    uint8_t addrs_len;
};

static uint16_t get16(const uint8_t *p)
{
    return (uint16_t)(p[0] << 8 | p[1]);
}

static struct l4_place find_l4_ip4(const uint8_t *ip)
{
    const uint16_t header = (uint16_t)((ip[0] & 0xf) * 4);
    const uint16_t total = get16(ip + 2);

    if (header < IP_HLEN || total < header || (get16(ip + 6) & IP4_FRAGMENT_MASK) != 0)
        return (struct l4_place){0};
    return (struct l4_place){ip[9], header, (uint16_t)(total - header), ip + 12, 8};
}

static struct l4_place find_l4_ip6(const uint8_t *ip)
{
    return (struct l4_place){ip[6], IP6_HLEN, get16(ip + 4), ip + 8, 32};
}

/* ip: the first `len` bytes of an IP packet, in one piece. */
static struct l4_place find_l4(const uint8_t *ip, size_t len)
{
    if (len >= IP_HLEN && ip[0] >> 4 == 4)
        return find_l4_ip4(ip);
    if (len >= IP6_HLEN && ip[0] >> 4 == 6)
        return find_l4_ip6(ip);
    return (struct l4_place){0};
}

/* ---- in ---- */

static bool chain_put16(struct pbuf *p, size_t offset, uint16_t value)
{
    return pbuf_take_at(p, &value, sizeof(value), (u16_t)offset) == ERR_OK;
}

/* Finish what the sender left to a device: the sum from csum_start to the end goes where it says. */
static bool complete(struct pbuf *p, const struct frame_offload *offload)
{
    if (offload->csum_start < ETHER_BYTES)
        return false;
    const size_t start = (size_t)offload->csum_start - ETHER_BYTES;
    const size_t field = start + offload->csum_offset;

    if (field + 2 > p->tot_len)
        return false;
    const uint16_t inverted = (uint16_t)~sum_chain(p, start, p->tot_len - start);

    /* RFC 768: a computed 0 is sent as all ones, for 0 means "none". Harmless for others. */
    return chain_put16(p, field, inverted ? inverted : 0xffff);
}

enum csum_trust csum_in(struct pbuf *p, const struct frame_offload *offload)
{
    if ((offload->flags & (FRAME_CSUM_PARTIAL | FRAME_CSUM_VALID)) == 0)
        return CSUM_VERIFY;

    const struct l4_place at = find_l4(p->payload, p->len);
    if (at.proto == IP_PROTO_TCP || at.proto == IP_PROTO_UDP)
        return CSUM_VOUCHED;
    if ((offload->flags & FRAME_CSUM_PARTIAL) == 0)
        return CSUM_VERIFY;
    return complete(p, offload) ? CSUM_VERIFY : CSUM_BAD;
}

/* ---- out ---- */

/* RFC 9293 §3.1, RFC 8200 §8.1: addresses, protocol and length, not inverted. */
static uint16_t pseudo_sum(const struct l4_place *at)
{
    uint64_t sum = csum_lwip(at->addrs, at->addrs_len);

    sum += __builtin_bswap16(at->proto);
    sum += __builtin_bswap16(at->len);
    return fold(sum);
}

/* Where TCP's header begins in a frame, with the pseudo-header sum put into its checksum field. 0: it isn't TCP. */
static uint16_t put_pseudo_sum(struct pbuf *p)
{
    uint8_t *ip = (uint8_t *)p->payload + ETHER_BYTES;

    if (p->len < ETHER_BYTES + IP_HLEN + TCP_HLEN)
        return 0;
    const struct l4_place at = find_l4(ip, p->len - (size_t)ETHER_BYTES);

    if (at.proto != IP_PROTO_TCP || (size_t)ETHER_BYTES + at.offset + TCP_HLEN > p->len)
        return 0;
    const uint16_t sum = pseudo_sum(&at);

    memcpy(ip + at.offset + offsetof(struct tcp_hdr, chksum), &sum, sizeof(sum));
    return (uint16_t)(ETHER_BYTES + at.offset);
}

void csum_out(struct pbuf *p, struct frame_offload *offload)
{
    const uint16_t start = put_pseudo_sum(p);

    if (!start)
        return;
    offload->flags |= FRAME_CSUM_PARTIAL;
    offload->csum_start = start;
    offload->csum_offset = offsetof(struct tcp_hdr, chksum);
}

void csum_complete_tcp(struct pbuf *p)
{
    const uint16_t start = put_pseudo_sum(p);
    if (!start)
        return;
    const uint16_t sum = (uint16_t)~sum_chain(p, start, p->tot_len - (size_t)start);

    memcpy((uint8_t *)p->payload + start + offsetof(struct tcp_hdr, chksum), &sum, sizeof(sum));
}
