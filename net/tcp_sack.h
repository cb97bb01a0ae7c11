/*
 * What the peer holds beyond its acknowledgement, and what RFC 6675 concludes from it. Arithmetic only.
 *
 * Sequence numbers are 32 bits and wrap; all that is compared here lies within one window of `una`, the first byte that isn't
 * acknowledged. Ranges are [left, right).
 */
#ifndef NET_TCP_SACK_H
#define NET_TCP_SACK_H

#include <stdbool.h>
#include <stdint.h>

enum {
    TCP_SACK_RANGES = 32,   /* remembered; what finds no room is sent again at worst */
    TCP_SACK_DUPTHRESH = 3, /* segments behind a gap that make it a loss (RFC 6675 §2) */
};

struct seq_range {
    uint32_t left, right;
};

struct tcp_scoreboard {
    uint16_t count;
    struct seq_range range[TCP_SACK_RANGES]; /* ascending, apart from each other */
};

/*
 * A block of a SACK option (RFC 2018 §3). Ignored: an empty one, one that reaches outside (una, nxt], as a D-SACK does (RFC 2883), and
 * one that finds no room. Returns true when it said something new.
 */
bool tcp_sack_add(struct tcp_scoreboard *sb, uint32_t una, uint32_t nxt, struct seq_range block);

/* Everything before `una` is acknowledged: forget it. */
void tcp_sack_advance(struct tcp_scoreboard *sb, uint32_t una);

/*
 * IsLost() of RFC 6675 §4, for all bytes at once: what isn't SACKed before the result is lost. `una` itself when nothing is.
 *
 *   mss   payload bytes of a segment
 */
uint32_t tcp_sack_lost_edge(const struct tcp_scoreboard *sb, uint32_t una, uint32_t mss);

/* Bytes of [left, right) that aren't SACKed. */
uint32_t tcp_sack_missing(const struct tcp_scoreboard *sb, uint32_t left, uint32_t right);

/* The first gap from `from` on, cut off at `below`. False: there is none. */
bool tcp_sack_next_gap(const struct tcp_scoreboard *sb, uint32_t from, uint32_t below,
                       struct seq_range *gap);

#endif
