#include "net/tcp_seg.h"

#include <string.h>

#include "lwip/memp.h"
#include "net/pbuf_slice.h"

/*
 * Split a chain at byte `at`, 0 < at < tot_len: p keeps what is before, the result is the rest. NULL: no memory, nothing changed.
 */
static struct pbuf *split_chain(struct pbuf *p, u16_t at)
{
    const u16_t rest_len = (u16_t)(p->tot_len - at);
    struct pbuf *q = p, *rest;
    u16_t left = at;

    while (left > q->len) {
        left = (u16_t)(left - q->len);
        q = q->next;
    }
    rest = q->next;
    if (left < q->len) {
        struct pbuf *tail = pbuf_slice(q, (u8_t *)q->payload + left, (u16_t)(q->len - left));

        if (!tail)
            return NULL;
        tail->next = rest;
        tail->tot_len = rest_len;
        rest = tail;
        q->len = left;
    }
    q->next = NULL;
    for (struct pbuf *front = p; front; front = front->next)
        front->tot_len = (u16_t)(front->tot_len - rest_len);
    return rest;
}

/* ---- segments ---- */

u8_t tcp_seg_option_bytes(const struct tcp_pcb *pcb)
{
    return pcb->flags & TF_TIMESTAMP ? LWIP_TCP_OPT_LEN_TS_OUT : 0;
}

u16_t tcp_seg_payload(const struct tcp_pcb *pcb)
{
    const u16_t half = TCPWND_MIN16(pcb->snd_wnd_max / 2);
    const u16_t mss = half ? LWIP_MIN(pcb->mss, half) : pcb->mss;
    const u8_t options = tcp_seg_option_bytes(pcb);

    return mss > options ? (u16_t)(mss - options) : 1;
}

struct tcp_seg *tcp_seg_make(const struct tcp_pcb *pcb, struct pbuf *p, u8_t hdrflags, u32_t seqno,
                             u8_t optflags)
{
    const u8_t optlen = (u8_t)(LWIP_TCP_OPT_LENGTH(optflags));
    struct tcp_seg *seg = memp_malloc(MEMP_TCP_SEG);

    if (!seg || pbuf_add_header(p, TCP_HLEN) != 0) {
        if (seg)
            memp_free(MEMP_TCP_SEG, seg);
        pbuf_free(p);
        return NULL;
    }
    *seg = (struct tcp_seg){
        .p = p,
        .len = (u16_t)(p->tot_len - TCP_HLEN - optlen),
        .flags = optflags,
        .tcphdr = p->payload,
    };
    seg->tcphdr->src = lwip_htons(pcb->local_port);
    seg->tcphdr->dest = lwip_htons(pcb->remote_port);
    seg->tcphdr->seqno = lwip_htonl(seqno);
    seg->tcphdr->urgp = 0;
    TCPH_HDRLEN_FLAGS_SET(seg->tcphdr, 5 + optlen / 4, hdrflags);
    return seg;
}

/* FIN and PSH belong behind the last byte. */
static u8_t move_end_flags(struct tcp_seg *seg)
{
    const u8_t moved = TCPH_FLAGS(seg->tcphdr) & (TCP_FIN | TCP_PSH);

    TCPH_FLAGS_SET(seg->tcphdr, TCPH_FLAGS(seg->tcphdr) & (u8_t)~moved);
    return moved;
}

static void put_flags(struct tcp_seg *seg, u8_t flags)
{
    TCPH_SET_FLAG(seg->tcphdr, flags);
}

/* A segment of the same kind without data yet. */
static struct tcp_seg *empty_like(const struct tcp_pcb *pcb, const struct tcp_seg *seg, u32_t seqno)
{
    struct pbuf *p = pbuf_alloc(PBUF_TRANSPORT, (u16_t)(LWIP_TCP_OPT_LENGTH(seg->flags)), PBUF_RAM);

    return p ? tcp_seg_make(pcb, p, 0, seqno, seg->flags) : NULL;
}

static u16_t header_bytes(const struct tcp_seg *seg)
{
    return (u16_t)(seg->p->tot_len - seg->len);
}

/*
 * Give the headers a pbuf of their own. A part of the first one's data would hold a reference to it, and such a reference means that
 * the device has it (tcp_seg_busy()).
 */
static err_t separate_headers(struct tcp_pcb *pcb, struct tcp_seg *seg)
{
    struct pbuf *old = seg->p;
    const u16_t skip = header_bytes(seg), tcp_bytes = TCPH_HDRLEN_BYTES(seg->tcphdr);
    struct pbuf *head = pbuf_alloc(PBUF_IP, tcp_bytes, PBUF_RAM);
    struct pbuf *data =
        head ? pbuf_slice(old, (u8_t *)old->payload + skip, (u16_t)(old->len - skip)) : NULL;

    if (!data) {
        if (head)
            pbuf_free(head);
        return ERR_MEM;
    }
    data->next = old->next;
    data->tot_len = (u16_t)(old->tot_len - skip);
    old->next = NULL;
    old->tot_len = old->len;
    pbuf_free(old); /* the slice's alone */
    memcpy(head->payload, seg->tcphdr, tcp_bytes);
    pbuf_cat(head, data);
    seg->p = head;
    seg->tcphdr = head->payload;
    pcb->snd_queuelen++;
    return ERR_OK;
}

err_t tcp_seg_cut(struct tcp_pcb *pcb, struct tcp_seg *seg, u16_t at)
{
    LWIP_ASSERT("cut inside", at > 0 && at < seg->len && !tcp_seg_busy(seg));
    if (header_bytes(seg) + at < seg->p->len && separate_headers(pcb, seg) != ERR_OK)
        return ERR_MEM;
    struct tcp_seg *rest = empty_like(pcb, seg, tcp_seg_seqno(seg) + at);
    if (!rest)
        return ERR_MEM;

    const u16_t before = pbuf_clen(seg->p);
    struct pbuf *data = split_chain(seg->p, (u16_t)(header_bytes(seg) + at));

    if (!data) {
        tcp_seg_free(rest);
        return ERR_MEM;
    }
    pbuf_cat(rest->p, data);
    rest->len = (u16_t)(seg->len - at);
    seg->len = at;
    put_flags(rest, move_end_flags(seg));
    rest->next = seg->next;
    seg->next = rest;
    pcb->snd_queuelen =
        (u16_t)(pcb->snd_queuelen + pbuf_clen(seg->p) + pbuf_clen(rest->p) - before);
    if (!rest->next)
        pcb->unsent_oversize = 0; /* the room behind the data isn't the first part's any more */
    return ERR_OK;
}

static void drop_first(struct tcp_pcb *pcb, struct tcp_seg **queue)
{
    struct tcp_seg *seg = *queue;

    *queue = seg->next;
    pcb->snd_queuelen = (u16_t)(pcb->snd_queuelen - pbuf_clen(seg->p));
    tcp_seg_free(seg);
}

void tcp_seg_drop_acked(struct tcp_pcb *pcb, struct tcp_seg **queue)
{
    while (*queue && TCP_TCPLEN(*queue) > 0 && TCP_SEQ_LEQ(tcp_seg_end(*queue), pcb->lastack))
        drop_first(pcb, queue);

    struct tcp_seg *seg = *queue;

    if (!seg || TCP_SEQ_LEQ(pcb->lastack, tcp_seg_seqno(seg)))
        return;
    const u32_t acked = pcb->lastack - tcp_seg_seqno(seg);

    if (acked < seg->len && !tcp_seg_busy(seg) && tcp_seg_cut(pcb, seg, (u16_t)acked) == ERR_OK)
        drop_first(pcb, queue);
}
