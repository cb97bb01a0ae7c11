#include "net/tso.h"

#include <string.h>

#include "lwip/inet_chksum.h"
#include "lwip/prot/ip.h"
#include "lwip/prot/ip4.h"
#include "lwip/prot/ip6.h"
#include "lwip/prot/tcp.h"
#include "net/csum.h"
#include "net/pbuf_slice.h"

enum { ETHER_BYTES = 14 };

/* ---- the headers ---- */

struct headers {
    bool ip6;
    uint16_t tcp; /* where TCP's begins, from the frame's start; 0: it isn't TCP */
    uint16_t len; /* all of them */
};

static struct tcp_hdr *tcp_of(const uint8_t *frame, const struct headers *h)
{
    return (struct tcp_hdr *)(uintptr_t)(frame + h->tcp);
}

static struct headers find_headers(const struct pbuf *frame)
{
    const uint8_t *at = frame->payload;
    struct headers h = {.ip6 = frame->len > ETHER_BYTES && at[ETHER_BYTES] >> 4 == 6};
    const uint16_t ip_bytes = h.ip6 ? IP6_HLEN : IP_HLEN;
    const unsigned proto_at = ETHER_BYTES + (h.ip6 ? 6 : 9);

    if (frame->len < ETHER_BYTES + ip_bytes + TCP_HLEN || at[proto_at] != IP_PROTO_TCP)
        return h;
    h.tcp = (uint16_t)(ETHER_BYTES + ip_bytes);
    h.len = (uint16_t)(h.tcp + TCPH_HDRLEN_BYTES(tcp_of(at, &h)));
    return h;
}

/* ---- the mark ---- */

uint16_t tso_unmark(struct pbuf *frame)
{
    const struct headers h = find_headers(frame);
    if (!h.tcp)
        return 0;
    struct tcp_hdr *tcp = tcp_of(frame->payload, &h);
    const uint16_t payload = lwip_ntohs(tcp->urgp);

    tcp->urgp = 0;
    return payload;
}

void tso_mark(struct pbuf *frame, uint16_t payload)
{
    const struct headers h = find_headers(frame);

    if (h.tcp)
        tcp_of(frame->payload, &h)->urgp = lwip_htons(payload);
}

/* ---- by the device ---- */

bool tso_by_device(const struct netdev_features *features, const struct pbuf *frame)
{
    return features->tx_csum && (find_headers(frame).ip6 ? features->tx_tso6 : features->tx_tso4);
}

void tso_describe(const struct pbuf *frame, uint16_t payload, struct frame_offload *offload)
{
    const struct headers h = find_headers(frame);

    offload->gso = h.ip6 ? FRAME_GSO_TCP6 : FRAME_GSO_TCP4;
    offload->gso_size = payload;
    offload->hdr_len = h.len;
}

/* ---- by ourselves ---- */

/* A frame being cut: where its payload goes on. */
struct cutter {
    struct pbuf *frame;
    struct headers h;
    const struct pbuf *p;
    uint16_t offset; /* in p */
    uint32_t left, done;
    bool csum;
};

static void write_ip4(uint8_t *at, uint16_t total, uint16_t number)
{
    struct ip_hdr *ip = (struct ip_hdr *)(void *)at;

    IPH_LEN_SET(ip, lwip_htons(total));
    IPH_ID_SET(ip, lwip_htons((uint16_t)(lwip_ntohs(IPH_ID(ip)) + number)));
    IPH_CHKSUM_SET(ip, 0);
    IPH_CHKSUM_SET(ip, inet_chksum(ip, IP_HLEN));
}

/* FIN and PSH belong to the last one. */
static void write_tcp(struct tcp_hdr *tcp, uint32_t offset, bool last)
{
    tcp->seqno = lwip_htonl(lwip_ntohl(tcp->seqno) + offset);
    if (!last)
        TCPH_UNSET_FLAG(tcp, TCP_FIN | TCP_PSH);
}

static void write_headers(const struct cutter *c, uint8_t *at, uint16_t payload, uint16_t number)
{
    const uint16_t total = (uint16_t)(c->h.len - ETHER_BYTES + payload);

    memcpy(at, c->frame->payload, c->h.len);
    if (c->h.ip6)
        IP6H_PLEN_SET((struct ip6_hdr *)(void *)(at + ETHER_BYTES), total - IP6_HLEN);
    else
        write_ip4(at + ETHER_BYTES, total, number);
    write_tcp(tcp_of(at, &c->h), c->done, payload == c->left);
}

/* The next `len` bytes of payload, behind `head`. */
static bool add_payload(struct cutter *c, struct pbuf *head, uint16_t len)
{
    while (len > 0) {
        if (c->offset == c->p->len) {
            c->p = c->p->next;
            c->offset = 0;
            continue;
        }
        const uint16_t part = (uint16_t)size_min(len, c->p->len - (size_t)c->offset);
        struct pbuf *slice = pbuf_slice(c->frame, (uint8_t *)c->p->payload + c->offset, part);

        if (!slice)
            return false;
        pbuf_cat(head, slice);
        c->offset = (uint16_t)(c->offset + part);
        len = (uint16_t)(len - part);
    }
    return true;
}

static struct pbuf *cut_one(struct cutter *c, uint16_t most, uint16_t number)
{
    const uint16_t payload = (uint16_t)size_min(most, c->left);
    struct pbuf *head = pbuf_alloc(PBUF_RAW, c->h.len, PBUF_RAM);

    if (!head)
        return NULL;
    write_headers(c, head->payload, payload, number);
    if (!add_payload(c, head, payload)) {
        pbuf_free(head);
        return NULL;
    }
    if (c->csum)
        csum_complete_tcp(head);
    c->left -= payload;
    c->done += payload;
    return head;
}

size_t tso_cut(struct pbuf *frame, bool csum, struct pbuf **frames)
{
    const uint16_t payload = tso_unmark(frame);
    struct cutter c = {.frame = frame, .h = find_headers(frame), .p = frame, .csum = csum};
    size_t count = 0;

    c.offset = c.h.len;
    c.left = payload ? (uint32_t)frame->tot_len - c.h.len : 0;
    if (c.left > (uint32_t)payload * TSO_SEGMENTS_MAX)
        c.left = 0;
    while (c.left > 0) {
        frames[count] = cut_one(&c, payload, (uint16_t)count);
        if (!frames[count])
            break;
        count++;
    }
    if (c.left == 0)
        return count;
    while (count > 0)
        pbuf_free(frames[--count]);
    return 0;
}
