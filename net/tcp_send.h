/*
 * TCP's sending half, in place of lwIP's: docs/decisions/0008-transmit-segmentation.md.
 *
 * lwIP queues and sends segments of the MSS; each costs its way through the stack. Here the queues hold segments of up to 64 KB, which
 * the device cuts (HOST_TSO), or net/tso.c where it can't. Windows, losses and acknowledgements fall between two MSS all the
 * same: then a segment is cut (tcp_seg.h). What the peer sees is what lwIP would have sent, and so is the state of
 * the control block, so the rest of lwIP stays as it is.
 *
 * lwIP's tcp_out.c is compiled unchanged with these names of it given away (Makefile), so that its callers find ours:
 *
 *   tcp_write                                     tcp_write.c
 *   tcp_output  tcp_split_unsent_seg              tcp_send.c
 *   tcp_rexmit_rto  tcp_rexmit_rto_commit         tcp_send.c
 *   tcp_rexmit_fast                               tcp_send.c
 *
 * A super-segment reaches the interface as one IP packet longer than its MTU. The payload of the segments to be made of it stands in
 * TCP's urgent pointer, which we never use and which is 0 again when the frame leaves (net/tso.h).
 */
#ifndef NET_TCP_SEND_H
#define NET_TCP_SEND_H

#include "lwip/priv/tcp_priv.h"

/*
 * Payload bytes that one queued segment may have, when `wanted` bytes are at hand for it: a multiple of the real segment's payload
 * (tcp_seg_payload()), and just that where the way to the peer takes no super-segments. At least 1.
 */
u16_t net_tcp_segment_limit(const struct tcp_pcb *pcb, u32_t wanted);

#endif
