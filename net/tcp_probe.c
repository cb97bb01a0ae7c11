/*
 * A hook of lwipopts.h: acknowledgements that a peer with a full buffer accepts.
 *
 * A zero-window probe carries one byte, and lwIP then counts that byte as sent: every acknowledgement after it bears a
 * sequence number one beyond the peer's window. Peers (Linux among them) drop those unread, and with them the news of
 * our own window and of what we received. Two sides that both send without reading, as an echo's client may, then
 * move by one segment a probe. BSD's stack answers by taking the byte back; so do we, before the next header is
 * built. If the peer did take the byte, its acknowledgement of it is believed at the next probe.
 */
#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "net/lwip_hooks.h"

u8_t net_tcp_header_options(const struct tcp_pcb *pcb, u8_t len)
{
    if (!pcb || pcb->state == LISTEN || pcb->persist_backoff == 0 || pcb->unacked ||
        pcb->snd_wnd > 0)
        return len;
    /* lwIP's only hook before a header is built passes the block as const to some of its callers. */
    ((struct tcp_pcb *)(uintptr_t)pcb)->snd_nxt = pcb->lastack;
    return len;
}
