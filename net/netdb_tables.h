/* Well-known services and protocols: what /etc/services and /etc/protocols hold elsewhere. IANA's numbers. */
#ifndef NET_NETDB_TABLES_H
#define NET_NETDB_TABLES_H

#include <netdb.h>

#include "lib/types.h"

/* NULL: unknown. protocol "tcp", "udp", or NULL for either. What is returned lasts for ever; don't change it. */
struct servent *netdb_service_by_name(const char *name, const char *protocol);
struct servent *netdb_service_by_port(uint16_t port, const char *protocol); /* host byte order */
struct servent *netdb_service_at(size_t idx); /* NULL beyond the last */
struct protoent *netdb_protocol_by_name(const char *name);
struct protoent *netdb_protocol_by_number(int number);
struct protoent *netdb_protocol_at(size_t idx);

#endif
