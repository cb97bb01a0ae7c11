#include "boot/network.h"

#include <string.h>

#include "boot/buses.h"
#include "drivers/netdev.h"
#include "drivers/virtio_net/vnet.h"
#include "lib/log.h"
#include "lib/options.h"
#include "net/net.h"

void boot_network(struct options *opt)
{
    struct netdev *nics[OPT_NICS_MAX];
    const size_t count = vnet_probe_all(nics, OPT_NICS_MAX, opt, boot_buses(opt));
    if (count == 0)
        log_warn("boot", "no network device found");

    net_init(
        opt); /* also without one: a program may open sockets and be told that nothing is reachable */
    for (unsigned i = 0; i < count; i++) {
        const int err = net_attach(nics[i], i);
        if (err)
            log_warn("boot", "%s can't be attached: %s", nics[i]->name, strerror(-err));
    }
}
