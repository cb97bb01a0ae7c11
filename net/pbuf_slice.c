#include "net/pbuf_slice.h"

#include "lwip/mem.h"

struct slice {
    struct pbuf_custom pbuf;
    struct pbuf *of;
};

static void slice_free(struct pbuf *p)
{
    struct slice *s = (struct slice *)(void *)p;
    struct pbuf *of = s->of;

    mem_free(s);
    pbuf_free(of);
}

struct pbuf *pbuf_slice(struct pbuf *of, void *payload, u16_t len)
{
    struct slice *s = mem_malloc(sizeof(*s));

    if (!s)
        return NULL;
    s->pbuf.custom_free_function = slice_free;
    s->of = of;
    pbuf_ref(of);
    /* ROM is lwIP's word for memory that stays as it is until it is freed. */
    return pbuf_alloced_custom(PBUF_RAW, len, PBUF_ROM, &s->pbuf, payload, len);
}
