/* NO_SYS: no threads, mailboxes or semaphores of lwIP's own. lwIP includes this file all the same. */
#ifndef NET_LWIP_PORT_SYS_ARCH_H
#define NET_LWIP_PORT_SYS_ARCH_H
#endif
