#include "net/tcp_segment_hook.h"

#include <string.h>

#include "lib/types.h"
#include "lwip/priv/tcp_priv.h"
#include "net/tcp_recovery.h"

enum { SLOT = TCP_SLOT_EXTRA, OPT_MSS = 2, OPT_MSS_BYTES = 4 };

static_assert(sizeof(struct net_tcp_extra) == sizeof(void *), "the slot holds a pointer");

static void extra_set(struct tcp_pcb *pcb, const struct net_tcp_extra *extra)
{
    memcpy(&pcb->ext_args[SLOT].data, extra, sizeof(*extra));
}

struct net_tcp_extra net_tcp_extra_get(const struct tcp_pcb *pcb)
{
    struct net_tcp_extra extra;

    memcpy(&extra, &pcb->ext_args[SLOT].data, sizeof(extra));
    return extra;
}

/* A connection begins with its listener's limit. */
static err_t on_passive_open(u8_t id, struct tcp_pcb_listen *listener, struct tcp_pcb *pcb)
{
    pcb->ext_args[id] = listener->ext_args[id];
    return ERR_OK;
}

static const struct tcp_ext_arg_callbacks callbacks = {.passive_open = on_passive_open};

void net_tcp_limit_syn(struct tcp_pcb *pcb, uint16_t mss_max, uint16_t window)
{
    struct net_tcp_extra extra = net_tcp_extra_get(pcb);

    extra.mss_max = mss_max;
    extra.syn_window = window;
    extra_set(pcb, &extra);
    pcb->ext_args[SLOT].callbacks = &callbacks;
}

/* The option comes first in lwIP's SYNs. */
static void limit_mss(struct tcp_hdr *hdr, uint16_t max)
{
    uint8_t *opt = (uint8_t *)(hdr + 1);

    if (TCPH_HDRLEN_BYTES(hdr) < sizeof(*hdr) + OPT_MSS_BYTES || opt[0] != OPT_MSS)
        return;
    if ((opt[2] << 8 | opt[3]) > max) {
        opt[2] = (uint8_t)(max >> 8);
        opt[3] = (uint8_t)max;
    }
}

u32_t *net_tcp_segment_out(const struct pbuf *p, struct tcp_hdr *hdr, const struct tcp_pcb *pcb,
                           u32_t *opts)
{
    if (!pcb || pcb->state == LISTEN)
        return opts;
    if (TCPH_FLAGS(hdr) & TCP_SYN) {
        const struct net_tcp_extra extra = net_tcp_extra_get(pcb);

        if (extra.mss_max)
            limit_mss(hdr, extra.mss_max);
        if (extra.syn_window && lwip_ntohs(hdr->wnd) > extra.syn_window)
            hdr->wnd = lwip_htons(extra.syn_window);
    } else if (p->tot_len > TCPH_HDRLEN_BYTES(hdr) &&
               TCP_SEQ_LT(lwip_ntohl(hdr->seqno), pcb->snd_nxt)) {
        struct net_tcp_extra extra = net_tcp_extra_get(pcb);

        extra.retransmitted++;
        /* lwIP passes the block as const to the hook of some of its callers. */
        extra_set((struct tcp_pcb *)(uintptr_t)pcb, &extra);
    }
    return opts;
}
