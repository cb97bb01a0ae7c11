/*
 * The way back of the old two-way tests: -d and -r clients listen, and the server connects to them and sends.
 *
 * It outlives the connection that asked for it, and nobody waits for it: it logs its own result.
 */
#ifndef APPS_IPERF_IPERF2_BACK_H
#define APPS_IPERF_IPERF2_BACK_H

#include "apps/iperf/iperf2_wire.h"
#include "lwip/ip_addr.h"

/*
 * Connect from `local` to req->back_port at `remote` and send as req (copied) asks. A client that doesn't
 * listen is asked again for two seconds, then logged and forgotten. Both addresses are borrowed for the call.
 */
void back_connect(const ip_addr_t *local, const ip_addr_t *remote,
                  const struct iperf2_request *req);

#endif
