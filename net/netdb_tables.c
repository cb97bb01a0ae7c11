#include "net/netdb_tables.h"

#include <string.h>

static char *no_aliases[] = {NULL};
static char *http_aliases[] = {"www", NULL};
static char *domain_aliases[] = {"dns", NULL};
static char *smtp_aliases[] = {"mail", NULL};
static char *time_aliases[] = {"timserver", NULL};
static char *discard_aliases[] = {"sink", "null", NULL};
static char *chargen_aliases[] = {"ttytst", "source", NULL};

#define PORT(host) ((int)(uint16_t)((host) << 8 | (host) >> 8)) /* network order on this machine */
#define TCP(name, aliases, port)                                                                   \
    {                                                                                              \
        name, aliases, PORT(port), "tcp"                                                           \
    }
#define UDP(name, aliases, port)                                                                   \
    {                                                                                              \
        name, aliases, PORT(port), "udp"                                                           \
    }
#define BOTH(name, aliases, port) TCP(name, aliases, port), UDP(name, aliases, port)

static struct servent services[] = {
    BOTH("echo", no_aliases, 7),          BOTH("discard", discard_aliases, 9),
    TCP("systat", no_aliases, 11),        BOTH("daytime", no_aliases, 13),
    BOTH("chargen", chargen_aliases, 19), TCP("ftp-data", no_aliases, 20),
    TCP("ftp", no_aliases, 21),           TCP("ssh", no_aliases, 22),
    TCP("telnet", no_aliases, 23),        TCP("smtp", smtp_aliases, 25),
    BOTH("time", time_aliases, 37),       BOTH("domain", domain_aliases, 53),
    UDP("bootps", no_aliases, 67),        UDP("bootpc", no_aliases, 68),
    UDP("tftp", no_aliases, 69),          TCP("gopher", no_aliases, 70),
    TCP("finger", no_aliases, 79),        TCP("http", http_aliases, 80),
    BOTH("kerberos", no_aliases, 88),     TCP("pop3", no_aliases, 110),
    BOTH("sunrpc", no_aliases, 111),      TCP("nntp", no_aliases, 119),
    UDP("ntp", no_aliases, 123),          TCP("imap2", no_aliases, 143),
    BOTH("snmp", no_aliases, 161),        BOTH("snmp-trap", no_aliases, 162),
    TCP("bgp", no_aliases, 179),          BOTH("ldap", no_aliases, 389),
    TCP("https", no_aliases, 443),        UDP("https", no_aliases, 443),
    UDP("syslog", no_aliases, 514),       TCP("submissions", no_aliases, 465),
    TCP("submission", no_aliases, 587),   BOTH("ldaps", no_aliases, 636),
    TCP("domain-s", no_aliases, 853),     TCP("imaps", no_aliases, 993),
    TCP("pop3s", no_aliases, 995),        TCP("mysql", no_aliases, 3306),
    TCP("postgresql", no_aliases, 5432),  TCP("xmpp-client", no_aliases, 5222),
    UDP("mdns", no_aliases, 5353),        TCP("redis", no_aliases, 6379),
    TCP("http-alt", no_aliases, 8080),
};

static struct protoent protocols[] = {
    {"ip", no_aliases, IPPROTO_IP},
    {"icmp", no_aliases, IPPROTO_ICMP},
    {"igmp", no_aliases, IPPROTO_IGMP},
    {"tcp", no_aliases, IPPROTO_TCP},
    {"udp", no_aliases, IPPROTO_UDP},
    {"ipv6", no_aliases, IPPROTO_IPV6},
    {"ipv6-icmp", no_aliases, IPPROTO_ICMPV6},
};

static bool is_named(const char *name, const char *own, char **aliases)
{
    if (strcmp(name, own) == 0)
        return true;
    for (; *aliases; aliases++) {
        if (strcmp(name, *aliases) == 0)
            return true;
    }
    return false;
}

struct servent *netdb_service_by_name(const char *name, const char *protocol)
{
    for (size_t i = 0; i < ARRAY_COUNT(services); i++) {
        if ((!protocol || strcmp(services[i].s_proto, protocol) == 0) &&
            is_named(name, services[i].s_name, services[i].s_aliases))
            return &services[i];
    }
    return NULL;
}

struct servent *netdb_service_by_port(uint16_t port, const char *protocol)
{
    for (size_t i = 0; i < ARRAY_COUNT(services); i++) {
        if ((!protocol || strcmp(services[i].s_proto, protocol) == 0) &&
            services[i].s_port == PORT(port))
            return &services[i];
    }
    return NULL;
}

struct servent *netdb_service_at(size_t idx)
{
    return idx < ARRAY_COUNT(services) ? &services[idx] : NULL;
}

struct protoent *netdb_protocol_by_name(const char *name)
{
    for (size_t i = 0; i < ARRAY_COUNT(protocols); i++) {
        if (is_named(name, protocols[i].p_name, protocols[i].p_aliases))
            return &protocols[i];
    }
    return NULL;
}

struct protoent *netdb_protocol_by_number(int number)
{
    for (size_t i = 0; i < ARRAY_COUNT(protocols); i++) {
        if (protocols[i].p_proto == number)
            return &protocols[i];
    }
    return NULL;
}

struct protoent *netdb_protocol_at(size_t idx)
{
    return idx < ARRAY_COUNT(protocols) ? &protocols[idx] : NULL;
}
