#include "net/pbuf_queue.h"

#include <string.h>

#include "lib/check.h"

static void append_one(struct pbuf_queue *q, struct pbuf *p)
{
    p->next = NULL;
    p->tot_len = p->len;
    if (q->tail)
        q->tail->next = p;
    else
        q->head = p;
    q->tail = p;
    q->tail_room = 0;
    q->bytes += p->len;
}

static void append_chain(struct pbuf_queue *q, struct pbuf *p)
{
    while (p) {
        struct pbuf *next = p->next;

        append_one(q, p);
        p = next;
    }
}

/* An empty pbuf at the tail, with room behind it. Without memory there is none, and segments stay as they came. */
static void start_collector(struct pbuf_queue *q)
{
    struct pbuf *p = pbuf_alloc(PBUF_RAW, PBUFQ_COLLECTOR, PBUF_RAM);

    if (!p)
        return;
    p->len = 0;
    append_one(q, p);
    q->tail_room = PBUFQ_COLLECTOR;
}

static bool join(struct pbuf_queue *q, struct pbuf *p)
{
    const u16_t len = p->tot_len;

    if (q->tail_room < len)
        start_collector(q);
    if (q->tail_room < len)
        return false;
    pbuf_copy_partial(p, (uint8_t *)q->tail->payload + q->tail->len, len, 0);
    q->tail->len = (u16_t)(q->tail->len + len);
    q->tail->tot_len = q->tail->len;
    q->tail_room -= len;
    q->bytes += len;
    pbuf_free(p);
    return true;
}

/* Somebody else holds the chain too: its links aren't ours to change. */
static struct pbuf *own_copy(struct pbuf *p)
{
    struct pbuf *copy = pbuf_clone(PBUF_RAW, PBUF_RAM, p);

    if (copy)
        pbuf_free(p);
    return copy;
}

void pbufq_put(struct pbuf_queue *q, struct pbuf *p)
{
    if (q->bytes > 0 && p->tot_len <= PBUFQ_JOIN_MAX && join(q, p))
        return;
    if (p->ref > 1) {
        struct pbuf *copy = own_copy(p);

        ASSERT(copy); /* unreached: TCP hands over segments that it alone holds */
        p = copy;
    }
    append_chain(q, p);
}

size_t pbufq_peek(const struct pbuf_queue *q, size_t offset, const void **data, size_t max)
{
    size_t skip = q->head_offset + offset;

    for (const struct pbuf *p = q->head; p; p = p->next) {
        if (skip < p->len) {
            *data = (const uint8_t *)p->payload + skip;
            return size_min(p->len - skip, max);
        }
        skip -= p->len;
    }
    return 0;
}

static void drop_head(struct pbuf_queue *q)
{
    struct pbuf *p = q->head;

    q->head = p->next;
    q->head_offset = 0;
    if (!q->head) {
        q->tail = NULL;
        q->tail_room = 0;
    }
    p->next = NULL;
    pbuf_free(p);
}

void pbufq_drop(struct pbuf_queue *q, size_t len)
{
    ASSERT(len <= q->bytes);
    q->bytes -= len;
    while (q->head && len >= q->head->len - q->head_offset) {
        len -= q->head->len - q->head_offset;
        drop_head(q);
    }
    q->head_offset += len;
}

void pbufq_clear(struct pbuf_queue *q)
{
    while (q->head)
        drop_head(q);
    *q = (struct pbuf_queue){0};
}
