/* Network interfaces under the names and numbers that programs see: "lo" and, as in the log, "net0", "net1", … */
#ifndef NET_INTERFACES_H
#define NET_INTERFACES_H

#include "lib/types.h"

struct netif;

enum { INTERFACE_NAME_BYTES = 16 };

/* The number is lwIP's netif_get_index(): 1 … 255. 0 and NULL: there is none. */
unsigned interface_index(const char *name);
struct netif *interface_at(unsigned idx);

void interface_name(const struct netif *netif, char name[INTERFACE_NAME_BYTES]);
unsigned interface_flags(const struct netif *netif); /* IFF_… of <net/if.h> */

#endif
