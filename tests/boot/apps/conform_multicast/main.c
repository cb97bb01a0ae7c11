/* Groups on the loopback interface: membership, what is heard, and by whom. */
#include "tests/boot/apps/conform.h"

#include <net/if.h>

enum { PORT = 7500 };

static const char GROUP[] = "239.1.2.3", OTHER[] = "239.1.2.4";

static int open_listener(const char *bind_addr)
{
    struct sockaddr_in name = at(PORT);
    const int fd = socket(AF_INET, SOCK_DGRAM, 0), on = 1;

    inet_aton(bind_addr, &name.sin_addr);
    setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    show("bind", bind(fd, (struct sockaddr *)&name, sizeof(name)));
    return fd;
}

static int membership(int fd, int name, const char *group)
{
    struct ip_mreq req = {.imr_interface.s_addr = htonl(INADDR_LOOPBACK)};

    inet_aton(group, &req.imr_multiaddr);
    return setsockopt(fd, IPPROTO_IP, name, &req, sizeof(req));
}

static long send_to(int fd, const char *group)
{
    struct sockaddr_in to = at(PORT);

    inet_aton(group, &to.sin_addr);
    return sendto(fd, "data", 4, 0, (struct sockaddr *)&to, sizeof(to));
}

static void show_heard(const char *what, int fd)
{
    char buf[8];
    int count = 0;

    usleep(20000);
    while (recv(fd, buf, sizeof(buf), MSG_DONTWAIT) > 0)
        count++;
    show(what, count);
}

static void four(void)
{
    const int a = open_listener("0.0.0.0"), b = open_listener("0.0.0.0"),
              sender = socket(AF_INET, SOCK_DGRAM, 0);
    const struct in_addr lo = {htonl(INADDR_LOOPBACK)};
    struct in_addr got = {0};
    struct ip_mreqn by_index = {.imr_ifindex = (int)if_nametoindex("lo")};
    socklen_t len = sizeof(got);
    const int off = 0;

    show("join", membership(a, IP_ADD_MEMBERSHIP, GROUP));
    show("join twice", membership(a, IP_ADD_MEMBERSHIP, GROUP));
    show("no group", membership(a, IP_ADD_MEMBERSHIP, "10.0.0.1"));
    show("leave another", membership(a, IP_DROP_MEMBERSHIP, OTHER));
    show("join by index",
         (inet_aton(GROUP, &by_index.imr_multiaddr),
          setsockopt(b, IPPROTO_IP, IP_ADD_MEMBERSHIP, &by_index, sizeof(by_index))));
    by_index.imr_ifindex = 9999;
    show("no interface", setsockopt(b, IPPROTO_IP, IP_ADD_MEMBERSHIP, &by_index, sizeof(by_index)));
    show("short", setsockopt(b, IPPROTO_IP, IP_ADD_MEMBERSHIP, &by_index, 4));
    show("IP_MULTICAST_IF", setsockopt(sender, IPPROTO_IP, IP_MULTICAST_IF, &lo, sizeof(lo)));
    getsockopt(sender, IPPROTO_IP, IP_MULTICAST_IF, &got, &len);
    printf("= is %s\n", inet_ntoa(got));
    show("send", send_to(sender, GROUP));
    show_heard("both hear: first", a);
    show_heard("second", b);
    show("send to another", send_to(sender, OTHER));
    show_heard("nobody joined", a);
    show("leave", membership(a, IP_DROP_MEMBERSHIP, GROUP));
    show("leave twice", membership(a, IP_DROP_MEMBERSHIP, GROUP));
    setsockopt(sender, IPPROTO_IP, IP_MULTICAST_TTL, &off, sizeof(off));
    send_to(sender, GROUP);
    show_heard("ttl 0", b);
    show("join on TCP", membership(socket(AF_INET, SOCK_STREAM, 0), IP_ADD_MEMBERSHIP, GROUP));
    close(a);
    close(b);
    close(sender);
}

static void of_a_group(void)
{
    const int bound = open_listener(GROUP), sender = socket(AF_INET, SOCK_DGRAM, 0);
    const struct in_addr lo = {htonl(INADDR_LOOPBACK)};

    setsockopt(sender, IPPROTO_IP, IP_MULTICAST_IF, &lo, sizeof(lo));
    membership(bound, IP_ADD_MEMBERSHIP, GROUP);
    membership(bound, IP_ADD_MEMBERSHIP, OTHER);
    send_to(sender, GROUP);
    send_to(sender, OTHER);
    show_heard("bound to the group", bound);
    close(bound);
    close(sender);
}

static void six(void)
{
    const int fd = socket(AF_INET6, SOCK_DGRAM, 0);
    struct ipv6_mreq req = {.ipv6mr_interface = if_nametoindex("lo")};

    inet_pton(AF_INET6, "ff02::1234", &req.ipv6mr_multiaddr);
    show("join", setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &req, sizeof(req)));
    show("join twice", setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &req, sizeof(req)));
    show("leave", setsockopt(fd, IPPROTO_IPV6, IPV6_LEAVE_GROUP, &req, sizeof(req)));
    show("leave twice", setsockopt(fd, IPPROTO_IPV6, IPV6_LEAVE_GROUP, &req, sizeof(req)));
    req.ipv6mr_interface = 9999;
    show("no interface", setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &req, sizeof(req)));
    inet_pton(AF_INET6, "::1", &req.ipv6mr_multiaddr);
    show("no group", setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &req, sizeof(req)));
    close(fd);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    four();
    of_a_group();
    six();
    return 0;
}
