/*
 * The end of an image that has a network: what its program sent before it ended still leaves.
 *
 * On other systems a process ends and the kernel goes on sending. Here everything ends at once, so the end waits: sockets are closed as a
 * process's are, then until every connection's data and FIN are acknowledged, datagrams have found their neighbour, and the
 * device has taken the last frame. It waits while there is progress: FAREWELL_STALL_MS without any, or FAREWELL_MAX_MS in all, are the end.
 */
#ifndef NET_FAREWELL_H
#define NET_FAREWELL_H

#include "net/vif.h"

enum { FAREWELL_STALL_MS = 3000, FAREWELL_MAX_MS = 30000 };

/* Watch this interface. At most OPT_NICS_MAX. */
void net_farewell_add(struct vif *vif);

/* From now on image ends wait (image_set_farewell()). */
void net_farewell_init(void);

#endif
