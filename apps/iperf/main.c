/* The iperf image: iperf2's server, the small services, and a status page. See README, "Ports of the iperf image". */
#include <stdlib.h>

#include "apps/iperf/http.h"
#include "apps/iperf/iperf2_server.h"
#include "apps/iperf/iperf3.h"
#include "apps/iperf/payload.h"
#include "apps/iperf/service.h"
#include "apps/iperf/services.h"
#include "lib/log.h"
#include "lib/types.h"
#include "net/net.h"

static int (*const services[])(void) = {
    iperf2_tcp_start,  iperf2_udp_start,  svc_echo_start, svc_discard_start,
    svc_chargen_start, svc_counter_start, http_start,     iperf3_start,
};

int main(void)
{
    net_lock(); /* the servers are lwIP's raw API */
    payload_init();
    service_counters_init();
    iperf2_counters_init();
    for (size_t i = 0; i < ARRAY_COUNT(services); i++) {
        if (services[i]())
            return EXIT_FAILURE; /* logged */
    }
    log_info("iperf", "iperf2 on 5001/tcp+udp, iperf3 on 5201, echo 7, discard 9, chargen 19, "
                      "counter 9/udp, http 80");
    net_serve();
}
