/*
 * Every choice about lwIP 2.2.1, each with its reason. What is not here is lwIP's default.
 *
 * lwIP runs without an operating system (NO_SYS): one core, one poll loop (net/loop.c), no locks.
 */
#ifndef NET_LWIPOPTS_H
#define NET_LWIPOPTS_H

#include <stdint.h>

#include "net/net_memory.h"

/* ---- shape ---- */
#define NO_SYS 1
#define SYS_LIGHTWEIGHT_PROT 0 /* nothing preempts the poll loop */
#define LWIP_SOCKET 0          /* our own layer over the raw API: docs/decisions/0002 */
#define LWIP_NETCONN 0
#define LWIP_TIMERS 1

/* ---- memory: everything comes from page fragments (net/net_memory.c) ---- */
#define MEM_CUSTOM_ALLOCATOR 1
#define MEM_CUSTOM_MALLOC net_mem_take
#define MEM_CUSTOM_FREE net_mem_give
#define MEM_CUSTOM_CALLOC net_mem_take_zeroed
#define MEMP_MEM_MALLOC                                                                            \
    1 /* no fixed pools: the limit is memory, and urgency decides who gets the last of it */
#define MEM_ALIGNMENT 8
#define LWIP_SUPPORT_CUSTOM_PBUF 1
#define PBUF_POOL_BUFSIZE                                                                          \
    1600 /* lwIP takes PBUF_POOL for its own small needs only; frames come as frags */
#define MEMP_NUM_SYS_TIMEOUT                                                                       \
    24 /* unused with MEMP_MEM_MALLOC, but checked against the timers in use */

/* ---- link layer ---- */
#define LWIP_ARP 1
#define ARP_TABLE_SIZE 120 /* a /24 without thrashing; index fits lwIP's 8-bit hint */
#define ARP_QUEUEING 1     /* a burst to an unresolved neighbour waits instead of being lost, … */
#define ARP_QUEUE_LEN 64   /* … up to one 64 KB datagram in MTU fragments */
#define ETHARP_SUPPORT_STATIC_ENTRIES 1
#define LWIP_NETIF_HWADDRHINT 1 /* each pcb remembers its ARP slot: no table walk per segment */
#define LWIP_NETIF_HOSTNAME 1
#define LWIP_NETIF_STATUS_CALLBACK 1
#define LWIP_NETIF_LINK_CALLBACK 1
#define LWIP_HAVE_LOOPIF 1 /* programs talk to 127.0.0.1 and ::1 */
#define LWIP_NETIF_LOOPBACK 1
#define LWIP_LOOPBACK_MAX_PBUFS 256 /* bounds a program that floods itself */
#define LWIP_NETIF_TX_SINGLE_PBUF 0 /* the ring takes scattered frames */
#define LWIP_CHECKSUM_CTRL_PER_NETIF                                                               \
    1 /* net/vif.c sets it per received frame, per device when sending */

/* ---- IPv4 ---- */
#define LWIP_IPV4 1
#define IP_FORWARD 0
#define IP_REASSEMBLY 1
/* Fragments that may wait for their siblings: 65,535 bytes are 45 of them at MTU 1500. */
#define IP_REASS_MAX_PBUFS (128 + net_reass_extra)
#define IP_REASS_FREE_OLDEST 1 /* a missing fragment never starves a newer datagram */
#define MEMP_NUM_REASSDATA 64
#define IP_FRAG 1
#define LWIP_ICMP 1
#define LWIP_MULTICAST_PING 1 /* RFC 4443 §4.2; and people ping 224.0.0.1 to see who is there */
#define LWIP_BROADCAST_PING 0 /* RFC 1122 §3.2.2.6 allows silence: no smurf amplifier */
#define LWIP_RAW 1
#define LWIP_IGMP 1
#define LWIP_LOOPIF_MULTICAST 1 /* groups among programs of this machine */
#define LWIP_DHCP 1
#define LWIP_DHCP_DOES_ACD_CHECK                                                                   \
    0 /* an address is usable when the server gives it, not a second later */
#define LWIP_DHCP_MAX_DNS_SERVERS 2
#define LWIP_DNS 1
#define DNS_MAX_SERVERS 2
#define LWIP_HOOK_FILENAME "net/lwip_hooks.h"
#define LWIP_HOOK_IP4_ROUTE_SRC(src, dest) net_route4_by_source(src, dest)
#define LWIP_HOOK_ETHARP_GET_GW(netif, dest) net_gateway4(netif, dest)

/* ---- IPv6 ---- */
#define LWIP_IPV6 1
#define LWIP_IPV6_NUM_ADDRESSES 6 /* link-local, one static, four by SLAAC */
#define LWIP_IPV6_AUTOCONFIG 1
#define LWIP_IPV6_ADDRESS_LIFETIMES 1
#define LWIP_IPV6_DUP_DETECT_ATTEMPTS 1
#define LWIP_IPV6_MLD 1
#define MEMP_NUM_MLD6_GROUP 32
#define LWIP_ICMP6 1
#define LWIP_IPV6_FRAG 1
#define LWIP_IPV6_REASS 1
#define IPV6_FRAG_COPYHEADER 1 /* a note on a fragment holds a pointer: no room in its header */
#define LWIP_ND6_NUM_NEIGHBORS 100
#define LWIP_ND6_NUM_DESTINATIONS 100
#define LWIP_ND6_NUM_PREFIXES 8
#define LWIP_ND6_NUM_ROUTERS 4
#define LWIP_ND6_QUEUEING 1
#define MEMP_NUM_ND6_QUEUE 128
#define LWIP_ND6_RDNSS_MAX_DNS_SERVERS 2
#define LWIP_IPV6_DHCP6 0 /* SLAAC and RDNSS configure; stateless DHCPv6 is not asked for yet */
#define LWIP_HOOK_IP6_INPUT(p, netif) net_nd6_guard(p, netif) /* nobody takes an address away */
#define LWIP_HOOK_IP6_ROUTE(src, dest) net_route6_by_source(src, dest)
#define LWIP_HOOK_ND6_GET_GW(netif, dest) net_gateway6(netif, dest)

/* ---- UDP ---- */
#define LWIP_UDP 1
#define LWIP_NETBUF_RECVINFO 0

/* ---- TCP ---- */
#define LWIP_TCP 1
#define LWIP_CALLBACK_API 1
/*
 * The largest MSS of any link: 65,535 less headers. What is used comes from the interface's MTU and the
 * peer's option (RFC 9293 §3.7.1), so one image serves host_mtu=1280 and host_mtu=9000.
 */
#define TCP_MSS 65495
#define TCP_CALCULATE_EFF_SEND_MSS 1
/*
 * Windows from the memory there is (net_memory.c): "constant + variable" is a number for lwIP's preprocessor checks,
 * which see 0 for a variable, and an expression for its code.
 */
#define LWIP_WND_SCALE 1
#define TCP_RCV_SCALE 7 /* 65,535 << 7 = 8 MiB; announced in steps of 128 bytes */
#define TCP_WND (65536 + net_tcp_wnd_extra)
#define TCP_SND_BUF (65536 + net_tcp_snd_extra)
#define TCP_SND_QUEUELEN 32768 /* pbufs on one pcb; the byte limit above is the real one */
#define TCP_OVERSIZE 1460      /* room behind a small write for the next one to join */
/* Window updates are asked for by net/tcp_window.c, which knows what the peer last saw; lwIP's own
 * threshold only has to save ACKs on a fast stream. */
#define TCP_WND_UPDATE_THRESHOLD LWIP_MIN(TCP_WND / 4, 131072)
#define LWIP_TCP_TIMESTAMPS 1
#define LWIP_TCP_SACK_OUT 1
#define TCP_QUEUE_OOSEQ 1
/* Out-of-order data ≤ the window by protocol; this bounds its number of pieces (1-byte segments). */
#define TCP_OOSEQ_MAX_PBUFS 1
#define TCP_OOSEQ_PBUFS_LIMIT(pcb) ((uint16_t)LWIP_MIN(TCP_WND / 256 + 64, 65535))
#define TCP_LISTEN_BACKLOG 1
#define TCP_DEFAULT_LISTEN_BACKLOG 255
/* A SYN flood closes no port, and data comes with ACK: tcp_input_hook.h */
#define LWIP_HOOK_TCP_INPACKET_PCB(pcb, hdr, optlen, opt1len, opt2, p)                             \
    net_tcp_input_hook(pcb, hdr, optlen, opt1len, opt2, p)
/*
 * Both timers walk through the connections: 50 ms for delayed ACKs, 100 ms for the rest. So an ACK is late by 50 ms at most, and a loss
 * that only a timer can repair costs some 300 ms (tcp_recovery.c has the least timeout).
 */
#define TCP_TMR_INTERVAL 50
#define LWIP_TCP_RTO_TIME 1000 /* RFC 6298 §2.1; lwIP's default is 3 s */
#define TCP_MSL 30000UL        /* 2×MSL = 60 s in TIME-WAIT, as other systems have it */
#define LWIP_TCP_KEEPALIVE 1
#define SO_REUSE 1
#define SO_REUSE_RXTOALL 1            /* several programs' sockets hear one multicast group */
#define LWIP_HOOK_TCP_ISN net_tcp_isn /* RFC 6528 */
#define LWIP_HOOK_TCP_OUT_TCPOPT_LENGTH(pcb, len) net_tcp_header_options(pcb, len) /* tcp_probe.c */
#define LWIP_TCP_PCB_NUM_EXT_ARGS 2 /* struct net_tcp_extra; recovery from loss: tcp_recovery.h */
#define LWIP_HOOK_TCP_OUT_ADD_TCPOPTS(p, hdr, pcb, opts)                                           \
    net_tcp_segment_out(p, hdr, pcb, opts) /* TCP_MAXSEG; counts retransmissions */
#define LWIP_RANDOMIZE_INITIAL_LOCAL_PORTS 1
/* The checks assume fixed pools and a fixed TCP_MSS of one link. */
#define LWIP_DISABLE_TCP_SANITY_CHECKS 1

/* ---- counters: /metrics shows them ---- */
#define LWIP_STATS 1
#define LWIP_STATS_LARGE 1 /* 32 bits */
#define LWIP_STATS_DISPLAY 0
#define MEM_STATS 0 /* page_frag counts */
#define MEMP_STATS 0
#define SYS_STATS 0

/*
 * lwIP's assertions: on in host tests (-DRINGLET_LWIP_ASSERT), off in the image. They guard lwIP's own state,
 * cost a quarter of its instructions, and what a peer sends must never be able to stop the machine.
 */
#ifndef RINGLET_LWIP_ASSERT
#define LWIP_NOASSERT 1
#endif

#endif
