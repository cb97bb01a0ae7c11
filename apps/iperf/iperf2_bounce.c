#include "apps/iperf/iperf2_bounce.h"

#include <errno.h>
#include <string.h>

#include "apps/iperf/service.h"
#include "port/clock.h"

static void stamp(be32 *sec, be32 *usec)
{
    const uint64_t us = clock_wall_us();
    *sec = be32_make((uint32_t)(us / 1000000));
    *usec = be32_make((uint32_t)(us % 1000000));
}

/* The header goes first and whole; what follows is payload that nobody reads. */
static bool write_header(struct bounce *b)
{
    const size_t len = size_min(sizeof(b->header), b->req.reply_size);
    if (tcp_sndbuf(b->pcb) < len)
        return false;
    stamp(&b->header.send_sec, &b->header.send_usec);
    if (tcp_write(b->pcb, &b->header, (u16_t)len, TCP_WRITE_FLAG_COPY) != ERR_OK)
        return false;
    b->reply_left = b->req.reply_size - len;
    b->replied += len;
    b->begun = true;
    return true;
}

void bounce_fill(struct bounce *b)
{
    if (!b->pcb || !b->replying || b->hold.armed)
        return;
    if (!b->begun && !write_header(b))
        return;
    const uint64_t sent = service_send_payload(b->pcb, &b->pos, b->reply_left);
    b->reply_left -= sent;
    b->replied += sent;
    if (b->reply_left == 0) {
        b->replying = b->begun = false;
        b->have = 0;
    }
    tcp_output(b->pcb);
}

static void hold_over(void *arg)
{
    bounce_fill(arg);
}

void bounce_start(struct bounce *b, struct tcp_pcb *pcb)
{
    *b = (struct bounce){.pcb = pcb};
    b->hold.fn = hold_over;
    b->hold.arg = b;
}

void bounce_stop(struct bounce *b)
{
    ticker_stop(&b->hold);
    b->pcb = NULL;
}

static void request_complete(struct bounce *b)
{
    stamp(&b->header.recv_sec, &b->header.recv_usec);
    b->replying = true;
    if (b->req.hold_us)
        ticker_at(&b->hold, clock_now_us() + b->req.hold_us);
    else
        bounce_fill(b);
}

/* Bytes that the present request still lacks; the first one's header tells its size. */
static size_t request_lacks(const struct bounce *b)
{
    const size_t size = b->req.size ? b->req.size : IPERF2_BOUNCE_MIN;
    return b->have < size ? (size_t)(size - b->have) : 0;
}

int bounce_input(struct bounce *b, const uint8_t *bytes, size_t len)
{
    while (len > 0) {
        if (b->replying)
            return -EPROTO;
        const size_t take = size_min(len, request_lacks(b));
        if (b->have < sizeof(b->header))
            memcpy((uint8_t *)&b->header + b->have, bytes,
                   size_min(take, sizeof(b->header) - (size_t)b->have));
        b->have += take;
        bytes += take;
        len -= take;
        if (request_lacks(b) > 0)
            continue;
        const size_t have_header = size_min((size_t)b->have, sizeof(b->header));
        struct iperf2_bounce_request req;
        const int err = iperf2_decode_bounce(&b->header, have_header, &req);
        if (err)
            return err;
        const bool first = b->req.size == 0;
        if (first)
            b->req = req;
        if (request_lacks(b) > 0)
            continue; /* the size is known now, and more is to come */
        if (req.stop)
            return len ? -EPROTO : 0; /* the last one wants no reply */
        /* Its reply size may stand behind the shortest header: known now that all of it is here. */
        b->req.reply_size = req.reply_size;
        request_complete(b);
    }
    return 0;
}
