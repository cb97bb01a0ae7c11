/*
 * lwIP's tcp_write(), for segments of up to 64 KB: net/tcp_send.h says why it is ours.
 *
 * What lwIP's does is kept: data joins the last segment that waits, small writes leave room behind them for the next, memory that isn't
 * copied is referenced, and either all of it is queued or nothing. Everything is prepared first; what was prepared is then added
 * to the connection in one go.
 */
#include <string.h>

#include "lib/types.h"
#include "lwip/stats.h"
#include "net/tcp_segment_hook.h"
#include "net/tcp_send.h"
#include "net/tcp_seg.h"

/* A write under way. */
struct writer {
    struct tcp_pcb *pcb;
    const u8_t *data;
    u16_t len, pos; /* bytes in all; prepared */
    u8_t flags;     /* TCP_WRITE_FLAG_… */
    u8_t optflags, optlen;
    u16_t limit; /* payload bytes of one segment */

    struct tcp_seg *tail; /* the last that waits, or NULL */
    u16_t fill;           /* bytes for the room behind its data */
    u16_t extend;         /* bytes by which its last reference grows */
    struct pbuf *append;  /* or what is chained to it */

    struct tcp_seg *first, *last; /* new ones */
    u16_t pbufs;                  /* that this adds */
    u16_t oversize;               /* room behind the last byte now */
};

/* ---- may it? ---- */

static bool may_send_data(const struct tcp_pcb *pcb)
{
    return pcb->state == ESTABLISHED || pcb->state == CLOSE_WAIT || pcb->state == SYN_SENT ||
           pcb->state == SYN_RCVD;
}

static err_t refuse(struct tcp_pcb *pcb)
{
    tcp_set_flags(pcb,
                  TF_NAGLEMEMERR); /* what waits goes out: room comes with its acknowledgement */
    TCP_STATS_INC(tcp.memerr);
    return ERR_MEM;
}

/* ---- memory for copies ---- */

/* Will more be written before this is sent? Then room for it costs nothing. */
static bool more_will_come(const struct writer *w)
{
    return (w->flags & TCP_WRITE_FLAG_MORE) ||
           (!(w->pcb->flags & TF_NODELAY) && (w->first || w->pcb->unsent || w->pcb->unacked));
}

/*
 * Memory for a copy of `want` bytes behind `front` others, with some room where `max` allows it. When memory is in pieces a smaller
 * one is as good: *got says how much.
 */
static struct pbuf *take_copy(struct writer *w, pbuf_layer layer, u16_t front, u16_t want,
                              u16_t max, u16_t *got)
{
    const u32_t roomy = more_will_come(w) ? (u32_t)want + TCP_OVERSIZE : want;
    u16_t size = (u16_t)LWIP_MIN(roomy, max);

    for (;;) {
        struct pbuf *p = pbuf_alloc(layer, (u16_t)(front + size), PBUF_RAM);

        if (p) {
            *got = LWIP_MIN(want, size);
            w->oversize = (u16_t)(size - *got);
            p->len = p->tot_len = (u16_t)(front + *got);
            memcpy((u8_t *)p->payload + front, w->data + w->pos, *got);
            return p;
        }
        if (size <= TCP_OVERSIZE)
            return NULL;
        size /= 2;
    }
}

static struct pbuf *take_reference(struct writer *w, u16_t len)
{
    struct pbuf *p = pbuf_alloc(PBUF_RAW, len, PBUF_ROM);

    if (p)
        ((struct pbuf_rom *)(void *)p)->payload = w->data + w->pos;
    return p;
}

/* ---- onto the segment that waits ---- */

static struct pbuf *last_pbuf(struct pbuf *p)
{
    while (p->next)
        p = p->next;
    return p;
}

static bool continues(const struct pbuf *p, const u8_t *data)
{
    return (p->type_internal &
            (PBUF_TYPE_FLAG_STRUCT_DATA_CONTIGUOUS | PBUF_TYPE_FLAG_DATA_VOLATILE)) == 0 &&
           (p->flags & PBUF_FLAG_IS_CUSTOM) == 0 && (const u8_t *)p->payload + p->len == data;
}

static bool append_to_tail(struct writer *w, u16_t room)
{
    u16_t len = (u16_t)LWIP_MIN(room, w->len - w->pos);

    if (w->flags & TCP_WRITE_FLAG_COPY) {
        w->append = take_copy(w, PBUF_RAW, 0, len, room, &len);
    } else if (w->pos == 0 && continues(last_pbuf(w->tail->p), w->data)) {
        w->extend = len;
        w->pos = len;
        return true;
    } else {
        w->append = take_reference(w, len);
    }
    if (!w->append)
        return false;
    w->pbufs++;
    w->pos = (u16_t)(w->pos + len);
    return true;
}

static bool join_tail(struct writer *w)
{
    struct tcp_seg *tail = w->tail;
    if (!tail || tail->len == 0 || tail->len >= w->limit)
        return true;
    u16_t room = (u16_t)(w->limit - tail->len);

    w->fill = (u16_t)LWIP_MIN(LWIP_MIN(w->pcb->unsent_oversize, room), w->len);
    w->pos = w->fill;
    w->oversize = (u16_t)(w->pcb->unsent_oversize - w->fill);
    room = (u16_t)(room - w->fill);
    if (w->pos == w->len || room == 0 || pbuf_clen(tail->p) >= TCP_SEG_PIECES_MAX)
        return true;
    return append_to_tail(w, room);
}

/* ---- new segments ---- */

/* The options' place, and data behind it. */
static struct pbuf *take_segment_data(struct writer *w)
{
    u16_t len = (u16_t)LWIP_MIN(w->len - w->pos, w->limit);
    struct pbuf *p;

    if (w->flags & TCP_WRITE_FLAG_COPY) {
        p = take_copy(w, PBUF_TRANSPORT, w->optlen, len, w->limit, &len);
    } else {
        struct pbuf *data = take_reference(w, len);

        p = data ? pbuf_alloc(PBUF_TRANSPORT, w->optlen, PBUF_RAM) : NULL;
        if (p)
            pbuf_cat(p, data);
        else if (data)
            pbuf_free(data);
    }
    return p;
}

static bool add_segment(struct writer *w)
{
    struct pbuf *p = take_segment_data(w);
    struct tcp_seg *seg =
        p ? tcp_seg_make(w->pcb, p, 0, w->pcb->snd_lbb + w->pos, w->optflags) : NULL;

    if (!seg)
        return false;
    w->pbufs = (u16_t)(w->pbufs + pbuf_clen(seg->p));
    w->pos = (u16_t)(w->pos + seg->len);
    if (w->last)
        w->last->next = seg;
    else
        w->first = seg;
    w->last = seg;
    return true;
}

static bool prepare(struct writer *w)
{
    if (!join_tail(w))
        return false;
    while (w->pos < w->len) {
        if (!add_segment(w))
            return false;
    }
    return w->pcb->snd_queuelen + w->pbufs <= TCP_SND_QUEUELEN;
}

static void forget(struct writer *w)
{
    if (w->append)
        pbuf_free(w->append);
    tcp_segs_free(w->first);
}

/* ---- onto the connection ---- */

/* The last pbuf of the segment grows by `len` bytes; returns where they begin. */
static u8_t *grow_tail(struct tcp_seg *seg, u16_t len)
{
    struct pbuf *p = seg->p;

    for (;; p = p->next) {
        p->tot_len = (u16_t)(p->tot_len + len);
        if (!p->next)
            break;
    }
    u8_t *end = (u8_t *)p->payload + p->len;

    p->len = (u16_t)(p->len + len);
    seg->len = (u16_t)(seg->len + len);
    return end;
}

static void commit(struct writer *w)
{
    struct tcp_pcb *pcb = w->pcb;

    if (w->fill)
        memcpy(grow_tail(w->tail, w->fill), w->data, w->fill);
    if (w->extend)
        (void)grow_tail(w->tail, w->extend);
    if (w->append) {
        w->tail->len = (u16_t)(w->tail->len + w->append->tot_len);
        pbuf_cat(w->tail->p, w->append);
    }
    if (w->tail)
        w->tail->next = w->first;
    else
        pcb->unsent = w->first;
    pcb->unsent_oversize = w->oversize;
    pcb->snd_lbb += w->len;
    pcb->snd_buf -= w->len;
    pcb->snd_queuelen = (u16_t)(pcb->snd_queuelen + w->pbufs);

    struct tcp_seg *end = w->last ? w->last : w->tail;

    if (!(w->flags & TCP_WRITE_FLAG_MORE))
        TCPH_SET_FLAG(end->tcphdr, TCP_PSH);
}

static struct tcp_seg *last_unsent(const struct tcp_pcb *pcb)
{
    struct tcp_seg *seg = pcb->unsent;

    while (seg && seg->next)
        seg = seg->next;
    return seg;
}

err_t tcp_write(struct tcp_pcb *pcb, const void *data, u16_t len, u8_t flags)
{
    if (!may_send_data(pcb))
        return ERR_CONN;
    if (len == 0)
        return ERR_OK;
    if (len > pcb->snd_buf || pcb->snd_queuelen >= TCP_SND_QUEUELEN)
        return refuse(pcb);

    struct writer w = {.pcb = pcb, .data = data, .len = len, .flags = flags};

    w.optflags = pcb->flags & TF_TIMESTAMP ? TF_SEG_OPTS_TS : 0;
    w.optlen = tcp_seg_option_bytes(pcb);
    w.tail = last_unsent(pcb);
    w.limit = net_tcp_segment_limit(pcb, (u32_t)len + (w.tail ? w.tail->len : 0));
    if (!prepare(&w)) {
        forget(&w);
        return refuse(pcb);
    }
    commit(&w);
    return ERR_OK;
}
