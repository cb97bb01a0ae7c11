/*
 * lwIP's memory: taken from page fragments, and sized by what the machine has.
 *
 * Included by lwipopts.h, so it names no lwIP type.
 */
#ifndef NET_NET_MEMORY_H
#define NET_NET_MEMORY_H

#include <stddef.h>
#include <stdint.h>

/* Bytes by which receive window and send buffer exceed 64 KiB; set once by net_memory_size(). */
extern uint32_t net_tcp_wnd_extra, net_tcp_snd_extra;

/* Fragments beyond 128 that reassembly may hold. */
extern uint16_t net_reass_extra;

/*
 * Choose the three from free memory: one connection may take a thirty-second of it each way, at most
 * 4 MiB (the prototype's optimum), and at least the 64 KiB that need no window scaling.
 */
void net_memory_size(size_t free_bytes);

/*
 * lwIP's mem_malloc() and mem_free(). NULL when there is none: control blocks, headers and ACKs may have the last
 * page, larger pieces (what programs send) not the last eighth. So a peer that never reads can fill send
 * buffers, but can't keep the stack from answering others.
 */
void *net_mem_take(size_t bytes);
void *net_mem_take_zeroed(size_t count, size_t bytes);
void net_mem_give(void *p);

#endif
