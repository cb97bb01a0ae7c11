/*
 * The `ready:` line: printed once, when the first NIC's address can be used and the program waits for
 * somebody (its sockets listen by then). Further NICs get a log line each when theirs can.
 */
#ifndef NET_READY_H
#define NET_READY_H

#include "net/vif.h"

/* Watch this interface; the first one decides. At most OPT_NICS_MAX. */
void ready_add(const struct vif *vif);

/* Called by the poll loop when it has nothing to do: prints the line if its time has come. */
void ready_check(void);

#endif
