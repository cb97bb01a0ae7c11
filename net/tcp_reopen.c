#include "net/tcp_reopen.h"

#include <string.h>

#include "lib/types.h"
#include "lwip/ip.h"
#include "lwip/priv/tcp_priv.h"

enum { OPT_END = 0, OPT_NOP = 1, OPT_TIMESTAMP = 8, OPT_TIMESTAMP_BYTES = 10 };

/* The sender's timestamp among the options (RFC 7323 §3.2), or false. */
static bool find_timestamp(const uint8_t *opt, size_t len, uint32_t *value)
{
    for (size_t at = 0; at < len && opt[at] != OPT_END;) {
        if (opt[at] == OPT_NOP) {
            at++;
            continue;
        }
        if (at + 1 >= len || opt[at + 1] < 2 || opt[at + 1] > len - at)
            return false;
        if (opt[at] == OPT_TIMESTAMP && opt[at + 1] == OPT_TIMESTAMP_BYTES) {
            be32 wire;

            memcpy(&wire, opt + at + 2, sizeof(wire));
            *value = be32_get(wire);
            return true;
        }
        at += opt[at + 1];
    }
    return false;
}

/* Sent after everything that the old connection sent? A fast sender's sequence numbers may have overtaken the clock that
 * the new one's come from; its timestamps can't (RFC 6191 §2). */
static bool is_newer(const struct tcp_pcb *pcb, const struct tcp_hdr *hdr)
{
    const uint8_t *options = (const uint8_t *)(hdr + 1);
    uint32_t stamp;

    if (TCP_SEQ_GT(hdr->seqno, pcb->rcv_nxt))
        return true;
    return (pcb->flags & TF_TIMESTAMP) &&
           find_timestamp(options, TCPH_HDRLEN_BYTES(hdr) - sizeof(*hdr), &stamp) &&
           TCP_SEQ_GT(stamp, pcb->ts_recent);
}

/* As it came from IP. */
static void restore_header(struct tcp_hdr *hdr)
{
    hdr->src = lwip_htons(hdr->src);
    hdr->dest = lwip_htons(hdr->dest);
    hdr->seqno = lwip_htonl(hdr->seqno);
    hdr->ackno = lwip_htonl(hdr->ackno);
    hdr->wnd = lwip_htons(hdr->wnd);
}

bool net_tcp_reopen(struct tcp_pcb *pcb, struct tcp_hdr *hdr, struct pbuf *p)
{
    /* Options that began in one piece and went on in another are hidden by now: such a SYN is none of a client's. */
    if ((uint8_t *)p->payload != (uint8_t *)hdr + TCPH_HDRLEN_BYTES(hdr) || !is_newer(pcb, hdr))
        return false;
    if (pbuf_add_header(p, TCPH_HDRLEN_BYTES(hdr)))
        return false;
    tcp_abandon(pcb, 0); /* from TIME-WAIT: no RST, no callback */
    restore_header(hdr);
    pbuf_ref(p);
    tcp_input(p, ip_current_input_netif());
    return true;
}
