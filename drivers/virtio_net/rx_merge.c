#include "drivers/virtio_net/rx_merge.h"

void rx_merge_init(struct rx_merge *m, const struct net_hdr_rules *rules, uint8_t hdr_len, bool mrg,
                   uint16_t ring_size)
{
    *m = (struct rx_merge){.rules = *rules, .hdr_len = hdr_len, .mrg = mrg, .ring_size = ring_size};
}

/* The frame is lost: give back what there is of it, and skip what is to come. */
static void lose(struct rx_merge *m)
{
    frag_give_list(m->head);
    m->head = m->tail = NULL;
    m->len = 0;
    m->lost = true;
}

enum rx_drop rx_merge_look_later(struct rx_merge *m, uint32_t len)
{
    m->waited = false;
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

    *drop = rx_merge_check(&m->offload, m->len);
    if (*drop == RX_KEEP)
        *out = (struct frame_in){m->head, m->len, m->offload};
    else
        frag_give_list(m->head);
    m->head = m->tail = NULL;
    m->len = 0;
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
