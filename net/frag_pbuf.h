/*
 * A page fragment worn as a custom pbuf: what the ring received goes to lwIP without a copy.
 *
 * The pbuf lives in the frag's room, so wearing costs no allocation; lwIP's last pbuf_free() gives the frag back.
 * Headers may be put back in front of the data, down to the start of the frag, so that a ping
 * is answered in the buffer it came in.
 */
#ifndef NET_FRAG_PBUF_H
#define NET_FRAG_PBUF_H

#include "drivers/netdev.h"
#include "lwip/pbuf.h"

/* Headers that lwIP expects in the first pbuf: Ethernet, IPv6, TCP, and then some. */
enum { FRAG_PBUF_HEADERS = 128 };

/*
 * Make the first frag of a list hold at least FRAG_PBUF_HEADERS bytes, or all there are: by a copy, if
 * receive buffers are that small (vnet.rxbuf=64). Almost always it does nothing.
 *
 * Takes the list, gives the one to use; NULL when memory for the copy is missing (the list is given back).
 */
struct frag *frag_pbuf_gather(struct frag *head);

/*
 * Dress a list of frags as one pbuf chain.
 *
 *   len   sum of the frags' len; 0 … 65,535 (a pbuf's 16 bits: strip the Ethernet header before)
 *
 * Takes the frags: the chain, reference count 1, owns them.
 */
struct pbuf *frag_pbuf_wear(struct frag *head, uint32_t len);

/* The frag under a pbuf made by frag_pbuf_wear(), or NULL for any other pbuf. */
struct frag *frag_pbuf_frag(const struct pbuf *p);

#endif
