/* Names and numbers of hosts and services, without asking anybody. */
#include "tests/boot/apps/conform.h"

#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <stdlib.h>
#include <sys/ioctl.h>

/* EAI_…'s numbers are the same on both. */
static void show_list(const char *what, int error, struct addrinfo *list)
{
    char text[INET6_ADDRSTRLEN], port[8];

    printf("= %s: %d", what, error);
    for (const struct addrinfo *a = error ? NULL : list; a; a = a->ai_next) {
        getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof(text), port, sizeof(port),
                    NI_NUMERICHOST | NI_NUMERICSERV);
        printf(" [%d %d %d %u %s %s%s%s]", a->ai_family, a->ai_socktype, a->ai_protocol,
               (unsigned)a->ai_addrlen, text, port, a->ai_canonname ? " " : "",
               a->ai_canonname ? a->ai_canonname : "");
    }
    printf("\n");
    if (!error)
        freeaddrinfo(list);
}

static void ask(const char *node, const char *service, int family, int type, int protocol,
                int flags)
{
    const struct addrinfo hints = {
        .ai_family = family, .ai_socktype = type, .ai_protocol = protocol, .ai_flags = flags};
    struct addrinfo *list = NULL;
    char what[120];

    snprintf(what, sizeof(what), "%s %s %d %d %d %x", node ? node : "-", service ? service : "-",
             family, type, protocol, (unsigned)flags);
    const int error = getaddrinfo(node, service, &hints, &list);

    show_list(what, error, list);
}

static void numbers(void)
{
    struct addrinfo *list = NULL;
    const int error = getaddrinfo("192.0.2.1", "80", NULL, &list);

    show_list("no hints", error, list);
    ask("192.0.2.1", "80", AF_UNSPEC, 0, 0, 0);
    ask("192.0.2.1", NULL, AF_INET, SOCK_STREAM, 0, AI_CANONNAME);
    ask("192.0.2.1", "80", AF_INET6, SOCK_STREAM, 0, 0);
    ask("192.0.2.1", "80", AF_INET6, SOCK_STREAM, 0, AI_V4MAPPED);
    ask("0x7f.1", "7", AF_INET, SOCK_DGRAM, 0, AI_NUMERICHOST);
    ask("2001:db8::1", "443", AF_UNSPEC, SOCK_STREAM, 0, 0);
    ask("2001:db8::1", "443", AF_INET, SOCK_STREAM, 0, 0);
    ask("::ffff:192.0.2.1", "1", AF_INET6, SOCK_STREAM, 0, 0);
    ask("::1%lo", "1", AF_INET6, SOCK_STREAM, 0, 0);
    ask("fe80::1%lo", "1", AF_INET6, SOCK_STREAM, 0, 0);
    ask(NULL, "80", AF_UNSPEC, SOCK_STREAM, 0, AI_PASSIVE);
    ask(NULL, "80", AF_INET6, SOCK_STREAM, 0, AI_PASSIVE);
    ask(NULL, "80", AF_UNSPEC, SOCK_STREAM, 0, 0);
    ask(NULL, "0", AF_INET, SOCK_DGRAM, 0, AI_PASSIVE | AI_NUMERICSERV);
}

static void services(void)
{
    ask("127.0.0.1", "http", AF_INET, 0, 0, 0);
    ask("127.0.0.1", "ntp", AF_INET, 0, 0, 0);
    ask("127.0.0.1", "domain", AF_INET, 0, 0, 0);
    ask("127.0.0.1", "echo", AF_INET, 0, IPPROTO_UDP, 0);
    ask("127.0.0.1", "echo", AF_INET, SOCK_STREAM, IPPROTO_TCP, 0);
    ask("127.0.0.1", "1", AF_INET, SOCK_RAW, 0, 0);
    ask("127.0.0.1", NULL, AF_INET, SOCK_RAW, IPPROTO_ICMP, 0);
    ask("127.0.0.1", NULL, AF_INET, 0, IPPROTO_ICMP, 0);
    ask("127.0.0.1", "65535", AF_INET, SOCK_STREAM, 0, 0);
}

static void mistakes(void)
{
    ask(NULL, NULL, AF_UNSPEC, 0, 0, 0);
    ask("127.0.0.1", "nonsense", AF_INET, SOCK_STREAM, 0, 0);
    ask("127.0.0.1", "http", AF_INET, SOCK_STREAM, 0, AI_NUMERICSERV);
    ask("no.such.number", "80", AF_INET, SOCK_STREAM, 0, AI_NUMERICHOST);
    ask("1.2.3.4.5", "80", AF_INET, SOCK_STREAM, 0, AI_NUMERICHOST);
    ask("127.0.0.1", "80", 77, SOCK_STREAM, 0, 0);
    ask("127.0.0.1", "80", AF_INET, 77, 0, 0);
    ask("127.0.0.1", "80", AF_INET, SOCK_STREAM, IPPROTO_UDP, 0);
    ask(NULL, "80", AF_INET, SOCK_STREAM, 0, AI_CANONNAME);
    ask("127.0.0.1", "80", AF_INET, SOCK_STREAM, 0, 0x40000000);
}

static void localhost(void)
{
    const struct hostent *h = gethostbyname("localhost");
    char host[64], service[32];
    const struct sockaddr_in addr = at(80);

    ask("localhost", "80", AF_INET, SOCK_STREAM, 0, 0);
    printf("= gethostbyname: %s %d %d %s\n", h->h_name, h->h_addrtype, h->h_length,
           inet_ntoa(*(struct in_addr *)(void *)h->h_addr));
    h = gethostbyname("192.0.2.7");
    printf("= of a number: %s %s\n", h->h_name, inet_ntoa(*(struct in_addr *)(void *)h->h_addr));
    h = gethostbyaddr(&addr.sin_addr, 4, AF_INET);
    printf("= gethostbyaddr: %s\n", h ? h->h_name : "none");
    printf("= getnameinfo: %d", getnameinfo((const struct sockaddr *)&addr, sizeof(addr), host,
                                            sizeof(host), service, sizeof(service), 0));
    printf(" %s %s\n", host, service);
    printf(
        "= too small: %d %d\n",
        getnameinfo((const struct sockaddr *)&addr, sizeof(addr), host, 4, NULL, 0, NI_NUMERICHOST),
        getnameinfo((const struct sockaddr *)&addr, sizeof(addr), NULL, 0, service, 2, 0));
    printf("= nothing wanted: %d\n",
           getnameinfo((const struct sockaddr *)&addr, sizeof(addr), NULL, 0, NULL, 0, 0));
    printf("= short address: %d\n",
           getnameinfo((const struct sockaddr *)&addr, 7, host, sizeof(host), NULL, 0, 0));
}

static void tables(void)
{
    const struct servent *s = getservbyname("www", "tcp");
    const struct protoent *p = getprotobyname("udp");

    printf("= www: %s %d %s\n", s->s_name, ntohs((uint16_t)s->s_port), s->s_proto);
    s = getservbyport(htons(53), "udp");
    printf("= 53: %s %s\n", s->s_name, s->s_proto);
    printf("= unknown: %d\n", getservbyname("nonsense", NULL) != NULL);
    printf("= udp: %s %d\n", p->p_name, p->p_proto);
    p = getprotobynumber(6);
    printf("= 6: %s\n", p->p_name);
}

static void asked_by_ioctl(void)
{
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    struct ifreq req = {.ifr_name = "lo"};
    struct sockaddr_in addr;
    int at_mark = 7;

    show("SIOCGIFADDR", ioctl(fd, SIOCGIFADDR, &req));
    memcpy(&addr, &req.ifr_addr, sizeof(addr));
    printf("= is %s\n", inet_ntoa(addr.sin_addr));
    show("SIOCGIFFLAGS", ioctl(fd, SIOCGIFFLAGS, &req));
    printf("= up %d, loopback %d\n", (req.ifr_flags & IFF_UP) != 0,
           (req.ifr_flags & IFF_LOOPBACK) != 0);
    show("SIOCGIFMTU", ioctl(fd, SIOCGIFMTU, &req));
    show("is", req.ifr_mtu);
    show("SIOCGIFINDEX", ioctl(fd, SIOCGIFINDEX, &req));
    show("is", req.ifr_ifindex == (int)if_nametoindex("lo"));
    strcpy(req.ifr_name, "nonsense");
    show("no interface", ioctl(fd, SIOCGIFADDR, &req));
    show("unknown", ioctl(fd, 0x7777, &at_mark));
    close(fd);
}

static void of_lo(void)
{
    struct ifaddrs *list = NULL;
    int four = 0, six = 0;

    show("getifaddrs", getifaddrs(&list));
    for (struct ifaddrs *a = list; a; a = a->ifa_next) {
        if (!a->ifa_addr || strcmp(a->ifa_name, "lo"))
            continue;
        four += a->ifa_addr->sa_family == AF_INET;
        six += a->ifa_addr->sa_family == AF_INET6;
    }
    printf("= lo has %d %d\n", four, six);
    freeifaddrs(list);
}

static void interfaces(void)
{
    char name[IF_NAMESIZE];
    const unsigned idx = if_nametoindex("lo");

    printf("= lo: %d %s\n", idx > 0, if_indextoname(idx, name));
    errno = 0;
    printf("= nonsense: %u", if_nametoindex("nonsense"));
    printf(" %s\n", error_name(errno));
    errno = 0;
    printf("= 99999: %d", if_indextoname(99999, name) != NULL);
    printf(" %s\n", error_name(errno));
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    numbers();
    services();
    mistakes();
    localhost();
    tables();
    interfaces();
    asked_by_ioctl();
    of_lo();
    return 0;
}
