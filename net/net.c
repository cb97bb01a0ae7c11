#include "net/net.h"

#include <errno.h>

#include "lib/check.h"
#include "lib/log.h"
#include "lib/options.h"
#include "lib/page_alloc.h"
#include "lib/thread.h"
#include "lwip/init.h"
#include "lwip/netif.h"
#include "net/farewell.h"
#include "net/icmp_errors.h"
#include "net/loop.h"
#include "net/nd6_guard.h"
#include "net/net_config.h"
#include "net/net_counters.h"
#include "net/net_memory.h"
#include "net/patience.h"
#include "net/ready.h"
#include "net/tcp_input_hook.h"
#include "net/tcp_isn.h"
#include "net/vif.h"
#include "port/clock.h"

static struct vif vifs[LOOP_NICS_MAX];
static size_t vif_count;
static const struct options *options;

void net_init(const struct options *opt)
{
    options = opt;
    net_memory_size(page_free_count() * PAGE_BYTES);
    tcp_isn_init();
    lwip_init();
    net_config_dns(opt->dns, OPT_DNS_MAX);
    net_counters_register();
    net_tcp_input_hook_init();
    net_nd6_guard_init();
    net_icmp_errors_init();
    net_farewell_init();
    loop_init(opt->vnet.poll);
}

int net_attach(struct netdev *dev, unsigned idx)
{
    ASSERT(options);
    if (vif_count == LOOP_NICS_MAX || idx >= OPT_NICS_MAX)
        return -ENOSPC;

    struct vif *vif = &vifs[vif_count];
    const struct opt_nic *opt = &options->nic[idx];

    int err = vif_open(vif, dev, opt->ip.mode != OPT_IP_OFF, opt->ip6.mode != OPT_IP_OFF);
    if (err)
        return err;
    if (vif_count++ == 0)
        netif_set_default(&vif->netif);
    loop_add(vif);
    ready_add(vif);
    net_patience_add(vif);
    net_farewell_add(vif);
    err = net_config_apply(vif, opt, options->hostname);
    if (err)
        log_error("net", "%s: no memory for its configuration", dev->name);
    return err;
}

bool net_poll(void)
{
    return loop_turn();
}

void net_wait(bool (*done)(void *arg), void *arg, uint64_t deadline_us)
{
    while (!(done && done(arg)) && clock_now_us() < deadline_us)
        thread_relax(deadline_us);
}

void net_serve(void)
{
    struct waitq forever = {0};

    for (;;)
        waitq_wait(&forever, THREAD_NO_DEADLINE);
}
