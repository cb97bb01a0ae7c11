/*
 * The `ready:` line: printed once, when every address that was asked for can be used and the program
 * waits for somebody (its sockets listen by then). PRODUCT.md "Console".
 */
#ifndef NET_READY_H
#define NET_READY_H

#include "net/vif.h"

/* Wait for this interface, too, before saying "ready". */
void ready_add(const struct vif *vif);

/* Called by the poll loop when it has nothing to do: prints the line if its time has come. */
void ready_check(void);

#endif
