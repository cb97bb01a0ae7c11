/*
 * The receive window, reopened as RFC 9293 §3.8.6.2.2 asks.
 *
 * lwIP's tcp_recved() announces a larger window only in steps of TCP_WND_UPDATE_THRESHOLD, which saves ACKs
 * on a fast stream but leaves a peer that was told "0" waiting when the reader takes less than a step.
 */
#ifndef NET_TCP_WINDOW_H
#define NET_TCP_WINDOW_H

#include "lwip/tcp.h"

/* The application has consumed `len` bytes (any size; split for lwIP's 16-bit argument). */
void tcp_window_opened(struct tcp_pcb *pcb, size_t len);

#endif
