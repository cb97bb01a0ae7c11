#include "apps/iperf/iperf2_send.h"

#include "apps/iperf/burst.h"
#include "apps/iperf/service.h"
#include "port/clock.h"

enum {
    SEND_QUANTUM_US = 10000, /* a paced stream is sent in pieces of this much time … */
    SEND_QUANTUM_MIN = 1460, /* … or this many bytes, where that is more */
};

static uint64_t random_state = 0x9e3779b97f4a7c15u;

static uint64_t start_delay_us(const struct iperf2_request *req)
{
    const uint64_t now_us = clock_wall_us();
    if (req->start_wall_us <= now_us)
        return 0;
    const uint64_t delay_us = req->start_wall_us - now_us;
    return delay_us <= (uint64_t)IPERF2_START_DELAY_MAX_S * 1000000 ? delay_us : 0;
}

static void begin(void *arg)
{
    struct iperf2_sender *s = arg;
    s->started = true;
    s->start_us = s->last_us = clock_now_us();
    s->start_wall_us = clock_wall_us();
    s->next_burst_us = s->start_us;
    s->end_us = s->req->duration_us ? s->start_us + s->req->duration_us : 0;
    sender_fill(s);
}

static void tick(void *arg)
{
    sender_fill(arg);
}

void sender_start(struct iperf2_sender *s, struct tcp_pcb *pcb, const struct iperf2_request *req,
                  bool with_header)
{
    *s = (struct iperf2_sender){.pcb = pcb, .req = req};
    s->bursts = with_header && (req->trip_times || req->pacing != IPERF2_STREAM);
    s->headed = !s->bursts;
    s->ticker.arg = s;
    const uint64_t delay_us = start_delay_us(req);
    if (delay_us) {
        s->ticker.fn = begin;
        ticker_at(&s->ticker, clock_now_us() + delay_us);
    } else {
        begin(s);
    }
}

/*
 * What a client that expects bursts reads first: with trip times a whole header, and it counts as data. Else
 * only the header's first word, 0: a header of no length. (Given a whole one there, 2.1 and 2.2 clients take its
 * arrival for a date in the far future and print nonsense.)
 */
static bool write_header(struct iperf2_sender *s)
{
    struct iperf2_tcp_header header = {0};
    size_t len = sizeof(header.base.flags);
    if (s->headed)
        return true;
    if (s->req->trip_times) {
        iperf2_encode_first(&header, s->req, s->start_wall_us);
        len = sizeof(header);
    }
    if (tcp_write(s->pcb, &header, (u16_t)len, TCP_WRITE_FLAG_COPY | TCP_WRITE_FLAG_MORE) != ERR_OK)
        return false;
    s->queued += len;
    s->headed = true;
    return true;
}

/* Bytes that the amount still asks for. */
static uint64_t amount_left(const struct iperf2_sender *s)
{
    if (s->end_us)
        return UINT64_MAX;
    return s->req->amount_bytes > s->queued ? s->req->amount_bytes - s->queued : 0;
}

/* Bytes that the rate allows now; 0 sets *wait_us to when to ask again. */
static uint64_t rate_allows(const struct iperf2_sender *s, uint64_t now_us, uint64_t *wait_us)
{
    const uint64_t rate = s->req->rate_bit_s / 8;
    if (!s->req->rate_bit_s || s->req->pacing != IPERF2_STREAM)
        return UINT64_MAX;
    const double due = (double)rate * (double)(now_us - s->start_us) / 1e6;
    const double quantum =
        (double)size_max((size_t)(rate * SEND_QUANTUM_US / 1000000), SEND_QUANTUM_MIN);
    const double ahead = (double)s->queued + quantum - due;
    if (ahead <= 0)
        return (uint64_t)(due - (double)s->queued);
    *wait_us = now_us + (uint64_t)(ahead * 1e6 / (double)(rate ? rate : 1)) + 1;
    return 0;
}

/* Open the next burst if it is time. False: wait until *wait_us, or for room in the send buffer. */
static bool next_burst(struct iperf2_sender *s, uint64_t now_us, uint64_t *wait_us)
{
    const struct iperf2_request *req = s->req;
    if (req->pacing != IPERF2_STREAM && now_us < s->next_burst_us) {
        *wait_us = s->next_burst_us;
        return false;
    }
    uint32_t size = burst_size(req, sizeof(struct iperf2_burst), burst_random(&random_state));
    const uint64_t left = amount_left(s);
    if (size > left)
        size = left > sizeof(struct iperf2_burst) ? (uint32_t)left : sizeof(struct iperf2_burst);

    struct iperf2_burst header;
    iperf2_encode_burst(&header, &(struct iperf2_burst_facts){
                                     .start_us = s->start_wall_us,
                                     .now_us = clock_wall_us(),
                                     .period_us = req->burst_period_us,
                                     .id = s->burst_id + 1,
                                     .size = size,
                                     .seq = s->queued + size,
                                 });
    if (tcp_sndbuf(s->pcb) < sizeof(header) ||
        tcp_write(s->pcb, &header, sizeof(header), TCP_WRITE_FLAG_COPY | TCP_WRITE_FLAG_MORE) !=
            ERR_OK)
        return false;
    s->queued += sizeof(header);
    s->burst_left = size - sizeof(header);
    s->burst_id++;
    s->next_burst_us += req->burst_period_us;
    if (s->next_burst_us < now_us)
        s->next_burst_us = now_us; /* late bursts aren't made up for */
    return true;
}

/* Queue data until lwIP, the pacing or the test stops it. */
static void queue_data(struct iperf2_sender *s, uint64_t now_us, uint64_t *wait_us)
{
    while (amount_left(s) > 0) {
        if (s->bursts && s->burst_left == 0 && !next_burst(s, now_us, wait_us))
            return;
        if (s->bursts && s->burst_left == 0)
            continue; /* a burst of nothing but its header */
        uint64_t want = rate_allows(s, now_us, wait_us);
        if (want > amount_left(s))
            want = amount_left(s);
        if (s->bursts && want > s->burst_left)
            want = s->burst_left;
        const uint64_t sent = want ? service_send_payload(s->pcb, &s->pos, want) : 0;
        s->queued += sent;
        if (s->bursts)
            s->burst_left -= sent;
        if (sent == 0 || sent < want)
            return;
    }
}

void sender_fill(struct iperf2_sender *s)
{
    if (!s->started || s->finished || !s->pcb)
        return;
    const uint64_t now_us = clock_now_us();
    uint64_t wait_us = s->end_us ? s->end_us : UINT64_MAX;

    if ((!s->end_us || now_us < s->end_us) && write_header(s)) {
        uint64_t paced_us = UINT64_MAX;
        queue_data(s, now_us, &paced_us);
        if (paced_us < wait_us)
            wait_us = paced_us;
    }
    if ((s->end_us && now_us >= s->end_us) || amount_left(s) == 0) {
        s->finished = true;
        ticker_stop(&s->ticker);
        tcp_shutdown(s->pcb, 0, 1); /* out of memory, lwIP tries again by itself */
        return;
    }
    tcp_output(s->pcb);
    s->ticker.fn = tick;
    if (wait_us != UINT64_MAX && !(s->ticker.armed && s->ticker.due_us == wait_us))
        ticker_at(&s->ticker, wait_us);
}

void sender_acked(struct iperf2_sender *s, size_t len)
{
    s->acked += len;
    s->last_us = clock_now_us();
    sender_fill(s);
}

void sender_stop(struct iperf2_sender *s)
{
    ticker_stop(&s->ticker);
    s->pcb = NULL;
}

bool sender_delivered(const struct iperf2_sender *s)
{
    return s->finished && s->acked >= s->queued;
}
