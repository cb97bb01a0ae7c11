#include "drivers/virtio_net/rx_merge.h"

#include "port/shared.h"

void rx_merge_init(struct rx_merge *m, const struct net_hdr_rules *rules, uint8_t hdr_len, bool mrg,
                   uint16_t ring_size)
{
    *m = (struct rx_merge){.rules = *rules, .hdr_len = hdr_len, .mrg = mrg, .ring_size = ring_size};
}

/* One read of each word: what is checked is what is used, whatever the device writes meanwhile. */
static inline struct virtio_net_hdr read_hdr(const void *piece)
{
    const le32 *words = piece;
    const uint32_t a = shared_load32(&words[0]);
    const uint32_t b = shared_load32(&words[1]);
    const uint32_t c = shared_load32(&words[2]);

    return (struct virtio_net_hdr){
        .flags = (uint8_t)a,
        .gso_type = (uint8_t)(a >> 8),
        .hdr_len = le16_make((uint16_t)(a >> 16)),
        .gso_size = le16_make((uint16_t)b),
        .csum_start = le16_make((uint16_t)(b >> 16)),
        .csum_offset = le16_make((uint16_t)c),
        .num_buffers = le16_make((uint16_t)(c >> 16)),
    };
}

/* The frame is lost: give back what there is of it, and skip what is to come. */
static void lose(struct rx_merge *m)
{
    frag_give_list(m->head);
    m->head = m->tail = NULL;
    m->len = 0;
    m->lost = true;
}

static enum rx_drop look_first(struct rx_merge *m, const void *piece, uint32_t len)
{
    if (len < m->hdr_len)
        return RX_DROP_SHORT;
    const struct virtio_net_hdr hdr = read_hdr(piece);
    uint16_t pieces = 1;

    if (m->mrg) {
        pieces = le16_get(hdr.num_buffers);
        if (pieces > m->ring_size)
            return RX_DROP_COUNT; /* no telling where the next frame starts: try the next buffer */
        if (pieces == 0)
            pieces = 1; /* §5.1.6.4: at least this one */
    }
    m->missing = pieces;
    m->lost = false;
    m->strip = m->hdr_len;
    if (!net_hdr_read(&m->rules, &hdr, &m->offload)) {
        m->missing--;
        m->lost = true;
        return RX_DROP_OFFLOAD;
    }
    return RX_KEEP;
}

enum rx_drop rx_merge_look(struct rx_merge *m, const void *piece, uint32_t len)
{
    m->waited = false;
    if (m->missing == 0)
        return look_first(m, piece, len);
    m->strip = 0;
    if (m->lost) {
        m->missing--;
        return RX_SKIP;
    }
    if (len == 0 || m->len + len > RX_FRAME_MAX) {
        m->missing--;
        lose(m);
        return len ? RX_DROP_OVERSIZE : RX_DROP_PIECE;
    }
    return RX_KEEP;
}

static inline enum rx_drop check_frame(const struct frame_offload *offload, uint32_t len)
{
    if (len < RX_FRAME_MIN)
        return RX_DROP_RUNT;
    if (len > RX_FRAME_MAX)
        return RX_DROP_OVERSIZE;
    return net_hdr_fits(offload, len) ? RX_KEEP : RX_DROP_OFFLOAD;
}

static void join(struct rx_merge *m, struct frag *f)
{
    if (f->len == 0) { /* a buffer that held the header and nothing else */
        frag_give(f);
        return;
    }
    if (m->head)
        m->tail->next = f;
    else
        m->head = f;
    m->tail = f;
    m->len += f->len;
}

bool rx_merge_add(struct rx_merge *m, struct frag *f, struct frame_in *out, enum rx_drop *drop)
{
    join(m, f);
    if (--m->missing)
        return false;

    *drop = check_frame(&m->offload, m->len);
    if (*drop == RX_KEEP)
        *out = (struct frame_in){m->head, m->len, m->offload};
    else
        frag_give_list(m->head);
    m->head = m->tail = NULL;
    m->len = 0;
    return true;
}

bool rx_merge_add_whole(struct rx_merge *m, struct frag *f, struct frame_in *out,
                        enum rx_drop *drop)
{
    m->missing = 0;
    *drop = check_frame(&m->offload, f->len);
    if (*drop != RX_KEEP) {
        frag_give(f);
        return false;
    }
    *out = (struct frame_in){f, f->len, m->offload};
    return true;
}

void rx_merge_abort(struct rx_merge *m)
{
    m->missing--;
    lose(m);
}

bool rx_merge_expire(struct rx_merge *m)
{
    if (m->missing == 0)
        return false;
    if (!m->waited) {
        m->waited = true;
        return false;
    }
    const bool was_lost = m->lost;

    rx_merge_close(m);
    return !was_lost; /* a frame already lost was counted then */
}

void rx_merge_close(struct rx_merge *m)
{
    lose(m);
    m->missing = 0;
    m->waited = false;
}
