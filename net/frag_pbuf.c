#include "net/frag_pbuf.h"

#include <string.h>

#include "lib/check.h"

static_assert(sizeof(struct pbuf_custom) <= FRAG_ROOM_BYTES, "a pbuf fits the frag's room");

static struct pbuf_custom *room_of(struct frag *f)
{
    return (struct pbuf_custom *)(void *)f->room;
}

static void give_frag(struct pbuf *p)
{
    frag_give(CONTAINER_OF(p, struct frag, room));
}

/*
 * PBUF_POOL says "data behind the struct, in one piece of memory": lwIP then lets headers grow back
 * towards the struct. The custom flag decides who frees it.
 */
static struct pbuf *wear_one(struct frag *f, uint16_t tot_len)
{
    struct pbuf_custom *pc = room_of(f);
    const uint16_t len = (uint16_t)f->len;

    pc->custom_free_function = give_frag;
    pc->pbuf = (struct pbuf){.payload = f->data,
                             .tot_len = tot_len,
                             .len = len,
                             .type_internal = (u8_t)PBUF_POOL,
                             .flags = PBUF_FLAG_IS_CUSTOM,
                             .ref = 1};
    return &pc->pbuf;
}

/* Copy the first `bytes` of a list of frags into `to` and drop them there. Frags used up are given back.
 * Returns what is left of the list. */
static struct frag *pull(struct frag *f, struct frag *to, uint32_t bytes)
{
    while (f && to->len < bytes) {
        const uint32_t part = (uint32_t)size_min(f->len, bytes - to->len);

        memcpy(to->data + to->len, f->data, part);
        to->len += part;
        f->data += part;
        f->len -= part;
        if (f->len == 0) {
            struct frag *empty = f;

            f = f->next;
            frag_give(empty);
        }
    }
    return f;
}

struct frag *frag_pbuf_gather(struct frag *head)
{
    if (head->len >= FRAG_PBUF_HEADERS || !head->next)
        return head;
    struct frag *start = frag_take(FRAG_PBUF_HEADERS, FRAG_SMALL);

    if (!start) {
        frag_give_list(head);
        return NULL;
    }
    start->next = pull(head, start, FRAG_PBUF_HEADERS);
    return start;
}

struct pbuf *frag_pbuf_wear(struct frag *head, uint32_t len)
{
    struct pbuf *first = NULL;
    struct pbuf **link = &first;

    ASSERT(len <= UINT16_MAX);
    for (struct frag *f = head; f; f = f->next) {
        struct pbuf *p = wear_one(f, (uint16_t)len);

        *link = p;
        link = &p->next;
        len -= f->len;
    }
    return first;
}

struct frag *frag_pbuf_frag(const struct pbuf *p)
{
    const struct pbuf_custom *pc = (const struct pbuf_custom *)(const void *)p;

    if ((p->flags & PBUF_FLAG_IS_CUSTOM) == 0 || pc->custom_free_function != give_frag)
        return NULL;
    return CONTAINER_OF(p, struct frag, room);
}
