#include "net/farewell.h"

#include "lib/fd.h"
#include "lib/image_end.h"
#include "lib/options.h"
#include "lwip/priv/nd6_priv.h"
#include "lwip/priv/tcp_priv.h"
#include "net/loop.h"
#include "port/clock.h"

enum {
    NEIGHBOUR_PATIENCE_US =
        1000 * 1000,      /* lwIP asks again after a second: one question may be lost */
    LOOK_AGAIN_US = 1000, /* a device takes frames without an interrupt */
};

static struct vif *nics[OPT_NICS_MAX];
static size_t nic_count;

void net_farewell_add(struct vif *vif)
{
    nics[nic_count++] = vif;
}

/* ---- what is still under way ---- */

/* Bytes, or frames: less of it is progress. */
static uint64_t tcp_left(void)
{
    uint64_t left = 0;

    for (const struct tcp_pcb *pcb = tcp_active_pcbs; pcb; pcb = pcb->next) {
        if (pcb->unsent || pcb->unacked)
            left += pcb->snd_lbb - pcb->lastack;
    }
    return left;
}

static uint64_t datagrams_wait(void)
{
    for (size_t i = 0; i < LWIP_ND6_NUM_NEIGHBORS; i++) {
        if (neighbor_cache[i].q)
            return 1;
    }
    return 0;
}

static uint64_t nic_left(const struct vif *vif)
{
    const uint64_t now_us = clock_now_us();
    const bool asked =
        vif->arp_asked_us > vif->arp_heard_us && now_us - vif->arp_asked_us < NEIGHBOUR_PATIENCE_US;

    if (vif->dev->broken || !vif->dev->link_up)
        return 0;
    return vif->in_device + (vif->backlog_tail - vif->backlog_head) + (asked ? 1 : 0);
}

static uint64_t left(void)
{
    uint64_t sum = tcp_left() + datagrams_wait();

    for (size_t i = 0; i < nic_count; i++)
        sum += nic_left(nics[i]);
    return sum;
}

/* ---- the end ---- */

/* Connections whose sockets other threads still use, and those that have none. */
static void finish_connections(void)
{
    for (struct tcp_pcb *pcb = tcp_active_pcbs, *next; pcb; pcb = next) {
        next = pcb->next;
        if (pcb->state == ESTABLISHED || pcb->state == CLOSE_WAIT)
            (void)tcp_shutdown(pcb, 0, 1);
    }
}

static void farewell(void)
{
    const uint64_t begin_us = clock_now_us();
    uint64_t least = UINT64_MAX, progress_us = begin_us;

    fd_close_all();
    finish_connections();
    for (;;) {
        const uint64_t now_us = clock_now_us(), now_left = left();

        if (now_left < least) {
            least = now_left;
            progress_us = now_us;
        }
        if (now_left == 0 || now_us - progress_us > FAREWELL_STALL_MS * 1000ull ||
            now_us - begin_us > FAREWELL_MAX_MS * 1000ull)
            return;
        loop_wait_turn(now_us + LOOK_AGAIN_US);
    }
}

void net_farewell_init(void)
{
    image_set_farewell(farewell);
}
