#include "net/tcp_recovery.h"

#include <string.h>

#include "lib/counters.h"
#include "lib/types.h"
#include "lwip/mem.h"
#include "net/tcp_seg.h"

enum {
    OPT_END = 0,
    OPT_NOP = 1,
    OPT_SACK = 5, /* RFC 2018 §3 */
    OPTIONS_MAX = 40,
    RTO_TICKS_MIN = 3, /* 200 to 300 ms: not less than a peer's delayed acknowledgement */
};

struct recovery {
    struct tcp_scoreboard sb;
    bool active;
    bool head_lost;   /* the first segment is taken for lost without any block's word */
    u32_t recover;    /* recovery is over when this is acknowledged: snd_nxt when it began */
    u32_t resent;     /* what was missing before it has been sent again in this pass … */
    u32_t pass_began; /* … which began when snd_nxt was this */
    u32_t cwnd;       /* while active */
};

static uint64_t recoveries, timeouts, resent_bytes, passes;
static struct counter counters[] = {
    {.name = "tcp_fast_recoveries_total",
     .help = "Losses seen by duplicate acknowledgements or SACK.",
     .value = &recoveries},
    {.name = "tcp_timeouts_total", .help = "Retransmission timers that fired.", .value = &timeouts},
    {.name = "tcp_recovery_bytes_total",
     .help = "Bytes sent again in fast recovery.",
     .value = &resent_bytes},
    {.name = "tcp_lost_retransmissions_total",
     .help = "Times that what was sent again had to be sent once more in the same recovery.",
     .value = &passes},
};

/* ---- the state ---- */

static void on_destroy(u8_t id, void *data)
{
    (void)id;
    mem_free(data);
}

static const struct tcp_ext_arg_callbacks callbacks = {.destroy = on_destroy};

static struct recovery *find(const struct tcp_pcb *pcb)
{
    return pcb->ext_args[TCP_SLOT_RECOVERY].data;
}

static struct recovery *find_or_make(struct tcp_pcb *pcb)
{
    struct recovery *r = find(pcb);
    if (r)
        return r;
    r = mem_calloc(1, sizeof(*r));
    if (r) {
        pcb->ext_args[TCP_SLOT_RECOVERY].data = r;
        pcb->ext_args[TCP_SLOT_RECOVERY].callbacks = &callbacks;
    }
    return r;
}

/* Our FIN is acknowledged: nothing will be sent again, and a control block in TIME-WAIT lives for a minute. */
static bool nothing_to_recover(const struct tcp_pcb *pcb)
{
    return !pcb->unacked && !pcb->unsent &&
           (pcb->state == FIN_WAIT_2 || pcb->state == TIME_WAIT || pcb->state == CLOSED);
}

static void forget(struct tcp_pcb *pcb)
{
    mem_free(find(pcb));
    pcb->ext_args[TCP_SLOT_RECOVERY].data = NULL;
    pcb->ext_args[TCP_SLOT_RECOVERY].callbacks = NULL;
}

/* ---- SACK blocks ---- */

static u32_t get32(const u8_t *p)
{
    return (u32_t)p[0] << 24 | (u32_t)p[1] << 16 | (u32_t)p[2] << 8 | p[3];
}

static void read_blocks(struct tcp_pcb *pcb, u32_t ackno, const u8_t *block, unsigned len)
{
    struct recovery *r = find_or_make(pcb);
    if (!r)
        return;
    const u32_t una = TCP_SEQ_GT(ackno, pcb->lastack) ? ackno : pcb->lastack;

    for (; len >= 8; len -= 8, block += 8) {
        const struct seq_range range = {get32(block), get32(block + 4)};

        (void)tcp_sack_add(&r->sb, una, pcb->snd_nxt, range);
    }
}

static void read_options(struct tcp_pcb *pcb, u32_t ackno, const u8_t *opt, unsigned len)
{
    unsigned at = 0;

    while (at < len && opt[at] != OPT_END) {
        if (opt[at] == OPT_NOP) {
            at++;
            continue;
        }
        if (len - at < 2 || opt[at + 1] < 2 || opt[at + 1] > len - at)
            return;
        if (opt[at] == OPT_SACK)
            read_blocks(pcb, ackno, opt + at + 2, opt[at + 1] - 2u);
        at += opt[at + 1];
    }
}

/* ---- around one incoming segment ---- */

/* What lwIP is about to change. */
static struct {
    const struct tcp_pcb *pcb; /* NULL: none */
    u32_t lastack, cwnd, flight;
    bool timed_out;
} seen;

void net_tcp_ack_in(struct tcp_pcb *pcb, const struct tcp_hdr *hdr, struct tcp_options_in opts)
{
    seen.pcb = NULL;
    if (pcb->state < ESTABLISHED || pcb->state == TIME_WAIT || !pcb->unacked)
        return;
    seen.pcb = pcb;
    seen.lastack = pcb->lastack;
    seen.cwnd = pcb->cwnd;
    seen.flight = pcb->snd_nxt - pcb->lastack;
    seen.timed_out = pcb->flags & TF_RTO;
    /* More than the timestamp that each segment carries. */
    if (opts.len > tcp_seg_option_bytes(pcb) && opts.len <= OPTIONS_MAX && (pcb->flags & TF_SACK) &&
        (TCPH_FLAGS(hdr) & (TCP_ACK | TCP_SYN)) == TCP_ACK) {
        u8_t all[OPTIONS_MAX];

        memcpy(all, opts.first, opts.first_len);
        if (opts.len > opts.first_len)
            memcpy(all + opts.first_len, opts.second, (size_t)opts.len - opts.first_len);
        read_options(pcb, hdr->ackno, all, opts.len);
    }
}

/* ---- the congestion window ---- */

/* RFC 5681 §3.1 in slow start: by what was acknowledged, however many segments that is, since peers acknowledge whole
 * super-segments. lwIP would stop at two segments. */
static void grow(struct tcp_pcb *pcb, u32_t acked)
{
    if (acked == 0 || seen.timed_out)
        return;
    if (seen.flight < seen.cwnd / 2)
        pcb->cwnd =
            seen.cwnd; /* it wasn't the limit: nothing was learnt about the way (RFC 9293 §3.8.2) */
    else if (seen.cwnd < pcb->ssthresh)
        pcb->cwnd = LWIP_MIN(seen.cwnd + acked, LWIP_MAX(pcb->ssthresh, seen.cwnd));
}

static u32_t halved(const struct tcp_pcb *pcb)
{
    const u32_t flight = pcb->snd_nxt - pcb->lastack;

    return LWIP_MAX(flight / 2, 2 * (u32_t)pcb->mss); /* RFC 5681 equation 4 */
}

/* ---- recovery ---- */

static void begin(struct tcp_pcb *pcb, struct recovery *r)
{
    pcb->ssthresh = halved(pcb);
    r->active = true;
    r->cwnd = pcb->ssthresh;
    r->recover = r->pass_began = pcb->snd_nxt;
    r->resent = pcb->lastack;
    pcb->rttest = 0; /* Karn: of two copies nobody knows which was acknowledged (RFC 6298 §3) */
    pcb->rtime = 0;
    if (pcb->nrtx < UINT8_MAX)
        pcb->nrtx++;
    recoveries++;
}

static void end(struct tcp_pcb *pcb, struct recovery *r)
{
    r->active = false;
    r->head_lost = false;
    pcb->cwnd = pcb->ssthresh;
    tcp_clear_flags(pcb, TF_INFR);
}

static u32_t lost_edge(const struct tcp_pcb *pcb, const struct recovery *r)
{
    const u16_t payload = tcp_seg_payload(pcb);
    const u32_t edge = tcp_sack_lost_edge(&r->sb, pcb->lastack, payload);

    return r->head_lost && edge == pcb->lastack ? pcb->lastack + payload : edge;
}

/* What was sent again in this pass is lost, too, when enough of what was sent after it began has arrived. */
static void begin_next_pass(struct tcp_pcb *pcb, struct recovery *r)
{
    const u32_t sent = pcb->snd_nxt - r->pass_began;
    const u32_t arrived = sent - tcp_sack_missing(&r->sb, r->pass_began, pcb->snd_nxt);

    if (arrived <= (TCP_SACK_DUPTHRESH - 1) * (u32_t)tcp_seg_payload(pcb) ||
        r->resent == pcb->lastack)
        return;
    r->resent = pcb->lastack;
    r->pass_began = pcb->snd_nxt;
    passes++;
}

static void go_on(struct tcp_pcb *pcb, struct recovery *r, u32_t acked)
{
    if (TCP_SEQ_GEQ(pcb->lastack, r->recover)) {
        end(pcb, r);
        return;
    }
    if (TCP_SEQ_LT(r->resent, pcb->lastack))
        r->resent = pcb->lastack;
    if (acked > 0 && r->sb.count == 0)
        r->head_lost = true; /* RFC 6582 §3.2, step 3: the next gap begins here */
    begin_next_pass(pcb, r);
    pcb->cwnd = r->cwnd; /* lwIP inflates it by each duplicate: here the pipe is counted */
    tcp_set_flags(pcb, TF_INFR);
}

void net_tcp_ack_done(struct tcp_pcb *pcb)
{
    if (pcb->rto < RTO_TICKS_MIN && pcb->state >= ESTABLISHED)
        pcb->rto = RTO_TICKS_MIN;
    if (seen.pcb != pcb)
        return;
    const u32_t acked = pcb->lastack - seen.lastack;
    struct recovery *r = find(pcb);

    seen.pcb = NULL;
    if (r && nothing_to_recover(pcb)) {
        forget(pcb);
        return;
    }
    if (r)
        tcp_sack_advance(&r->sb, pcb->lastack);
    if (!r || !r->active)
        grow(pcb, acked);
    if (!r || (pcb->flags & TF_RTO))
        return;
    if (!r->active && pcb->unacked && lost_edge(pcb, r) != pcb->lastack)
        begin(pcb, r);
    if (r->active)
        go_on(pcb, r, acked);
}

void net_tcp_loss_seen(struct tcp_pcb *pcb)
{
    struct recovery *r = find_or_make(pcb);

    if (!r || r->active || (pcb->flags & (TF_RTO | TF_SACK)))
        return; /* with SACK the blocks decide: a duplicate without news is only an echo of our own */
    r->head_lost = true;
    begin(pcb, r);
}

void net_tcp_timed_out(struct tcp_pcb *pcb)
{
    struct recovery *r = find(pcb);

    timeouts++;
    if (!r)
        return;
    r->active = r->head_lost = false;
    r->sb.count = 0;
    tcp_clear_flags(pcb, TF_INFR);
}

/* ---- what goes next ---- */

/* SetPipe() of RFC 6675 §4. Without SACK each duplicate says that a segment has left the network. */
static u32_t pipe_bytes(const struct tcp_pcb *pcb, const struct recovery *r, u32_t edge)
{
    const u32_t resent = TCP_SEQ_LT(r->resent, edge) ? r->resent : edge;
    const u32_t pipe = tcp_sack_missing(&r->sb, edge, pcb->snd_nxt) +
                       tcp_sack_missing(&r->sb, pcb->lastack, resent);
    const u32_t left = r->sb.count ? 0 : (u32_t)pcb->dupacks * pcb->mss;

    return pipe > left ? pipe - left : 0;
}

static u32_t room_for_more(const struct tcp_pcb *pcb, const struct recovery *r)
{
    const u32_t pipe = pipe_bytes(pcb, r, lost_edge(pcb, r));

    return r->cwnd > pipe ? r->cwnd - pipe : 0;
}

bool net_tcp_resend_next(struct tcp_pcb *pcb, struct seq_range *bytes)
{
    const struct recovery *r = find(pcb);
    if (!r || !r->active)
        return false;
    const u32_t edge = lost_edge(pcb, r);
    const u32_t from = TCP_SEQ_GT(r->resent, pcb->lastack) ? r->resent : pcb->lastack;
    const u16_t payload = tcp_seg_payload(pcb);

    if (!tcp_sack_next_gap(&r->sb, from, edge, bytes))
        return false;
    u32_t room = room_for_more(pcb, r);

    room -= room % payload;
    if (room == 0 && r->resent == pcb->lastack)
        room = payload; /* the first goes whatever the pipe says: RFC 6675 §5, step 4.3 */
    bytes->right = bytes->left + LWIP_MIN(bytes->right - bytes->left, room);
    return room > 0;
}

void net_tcp_resent(struct tcp_pcb *pcb, u32_t end_seqno)
{
    struct recovery *r = find(pcb);

    if (!r)
        return;
    resent_bytes += end_seqno - r->resent;
    r->resent = end_seqno;
}

u32_t net_tcp_send_window(const struct tcp_pcb *pcb)
{
    const struct recovery *r = find(pcb);
    const u32_t flight = pcb->snd_nxt - pcb->lastack;
    const u32_t window = r && r->active ? flight + room_for_more(pcb, r) : pcb->cwnd;

    return LWIP_MIN(pcb->snd_wnd, window);
}

bool net_tcp_sacked(const struct tcp_pcb *pcb, u32_t left, u32_t right)
{
    const struct recovery *r = find(pcb);

    return r && r->sb.count > 0 && left != right && tcp_sack_missing(&r->sb, left, right) == 0;
}

u32_t net_tcp_alike_until(const struct tcp_pcb *pcb, u32_t left, u32_t right)
{
    const struct recovery *r = find(pcb);
    struct seq_range gap;

    if (!r || r->sb.count == 0 || !tcp_sack_next_gap(&r->sb, left, right, &gap))
        return right;
    return gap.left == left ? gap.right : gap.left;
}

void net_tcp_recovery_init(void)
{
    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
}
