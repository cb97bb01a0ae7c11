/* lwIP's own statistics, and how many control blocks there are, as counters of ours. */
#ifndef NET_NET_COUNTERS_H
#define NET_NET_COUNTERS_H

/* Once, after lwip_init(). */
void net_counters_register(void);

#endif
