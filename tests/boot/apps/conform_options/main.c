/* Socket options: what can be set and read back, what is refused and how. */
#include "tests/boot/apps/conform.h"

#include <net/if.h>
#include <netinet/tcp.h>
#include <sys/time.h>

enum { PORT = 7300 };

static int get(int fd, int level, int name)
{
    int value = -1;
    socklen_t len = sizeof(value);

    return getsockopt(fd, level, name, &value, &len) ? -1 : value;
}

static void show_set(const char *what, int fd, int level, int name, int value)
{
    const int set = setsockopt(fd, level, name, &value, sizeof(value));

    printf("= %s %d: %s", what, value, set ? error_name(errno) : "ok");
    const int got = get(fd, level, name);

    if (got < 0 && value >= 0)
        printf(" %s\n", error_name(errno));
    else
        printf(" %d\n", got);
}

static void facts(void)
{
    const int t = socket(AF_INET, SOCK_STREAM, 0), u = socket(AF_INET6, SOCK_DGRAM, 0);

    show("type", get(t, SOL_SOCKET, SO_TYPE));
    show("type", get(u, SOL_SOCKET, SO_TYPE));
    show("domain", get(u, SOL_SOCKET, SO_DOMAIN));
    show("protocol", get(t, SOL_SOCKET, SO_PROTOCOL));
    show("protocol", get(u, SOL_SOCKET, SO_PROTOCOL));
    show("error", get(t, SOL_SOCKET, SO_ERROR));
    show("listens", get(t, SOL_SOCKET, SO_ACCEPTCONN));
    bind_to(t, 0);
    listen(t, 1);
    show("listens", get(t, SOL_SOCKET, SO_ACCEPTCONN));
    close(t);
    close(u);
}

static void flags(void)
{
    const int t = socket(AF_INET, SOCK_STREAM, 0), u = socket(AF_INET, SOCK_DGRAM, 0);

    show_set("SO_REUSEADDR", t, SOL_SOCKET, SO_REUSEADDR, 7);
    show_set("SO_REUSEPORT", t, SOL_SOCKET, SO_REUSEPORT, 1);
    show_set("SO_KEEPALIVE", t, SOL_SOCKET, SO_KEEPALIVE, 1);
    show_set("SO_BROADCAST", u, SOL_SOCKET, SO_BROADCAST, 1);
    show_set("SO_OOBINLINE", t, SOL_SOCKET, SO_OOBINLINE, 1);
    show_set("SO_DONTROUTE", u, SOL_SOCKET, SO_DONTROUTE, 0);
    show_set("SO_PRIORITY", u, SOL_SOCKET, SO_PRIORITY, 4);
    show_set("SO_RCVLOWAT", t, SOL_SOCKET, SO_RCVLOWAT, 100);
    show_set("SO_RCVLOWAT", t, SOL_SOCKET, SO_RCVLOWAT, 0);
    show_set("SO_SNDLOWAT", t, SOL_SOCKET, SO_SNDLOWAT, 5);
    show_set("SO_TYPE", t, SOL_SOCKET, SO_TYPE, 5);
    show_set("SO_ERROR", t, SOL_SOCKET, SO_ERROR, 5);
    show_set("unknown", t, SOL_SOCKET, 7777, 5);
    show_set("unknown level", t, 7777, 1, 5);
    close(t);
    close(u);
}

static void buffers(void)
{
    const int t = socket(AF_INET, SOCK_STREAM, 0), u = socket(AF_INET, SOCK_DGRAM, 0);

    show_set("SO_SNDBUF", t, SOL_SOCKET, SO_SNDBUF, 20000);
    show_set("SO_RCVBUF", t, SOL_SOCKET, SO_RCVBUF, 20000);
    show_set("SO_SNDBUF", t, SOL_SOCKET, SO_SNDBUF, 1);
    show_set("SO_RCVBUF", t, SOL_SOCKET, SO_RCVBUF, 1);
    show_set("SO_SNDBUF", u, SOL_SOCKET, SO_SNDBUF, 100000);
    show_set("SO_RCVBUF", u, SOL_SOCKET, SO_RCVBUF, 100000);
    show("short", setsockopt(u, SOL_SOCKET, SO_RCVBUF, "x", 1));
    close(t);
    close(u);
}

static void times(void)
{
    const int t = socket(AF_INET, SOCK_STREAM, 0);
    struct timeval tv = {2, 500000}, got = {0};
    struct linger linger = {1, 5}, out = {0};
    socklen_t len = sizeof(got);

    show("SO_RCVTIMEO", setsockopt(t, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv)));
    getsockopt(t, SOL_SOCKET, SO_RCVTIMEO, &got, &len);
    printf("= is %ld.%06ld, %u bytes\n", (long)got.tv_sec, (long)got.tv_usec, (unsigned)len);
    tv.tv_usec = 1000000;
    show("too many microseconds", setsockopt(t, SOL_SOCKET, SO_SNDTIMEO, &tv, sizeof(tv)));
    show("SO_LINGER", setsockopt(t, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)));
    len = sizeof(out);
    getsockopt(t, SOL_SOCKET, SO_LINGER, &out, &len);
    printf("= is %d %d, %u bytes\n", out.l_onoff, out.l_linger, (unsigned)len);
    show("short", setsockopt(t, SOL_SOCKET, SO_LINGER, &linger, 4));
    close(t);
}

static void of_tcp(void)
{
    const int t = socket(AF_INET, SOCK_STREAM, 0), u = socket(AF_INET, SOCK_DGRAM, 0);

    show_set("TCP_NODELAY", t, IPPROTO_TCP, TCP_NODELAY, 1);
    show_set("TCP_NODELAY on UDP", u, IPPROTO_TCP, TCP_NODELAY, 1);
    show_set("TCP_CORK", t, IPPROTO_TCP, TCP_CORK, 1);
    show_set("TCP_MAXSEG", t, IPPROTO_TCP, TCP_MAXSEG, 1000);
    show_set("TCP_MAXSEG", t, IPPROTO_TCP, TCP_MAXSEG, 87);
    show_set("TCP_MAXSEG", t, IPPROTO_TCP, TCP_MAXSEG, 40000);
    show_set("TCP_KEEPIDLE", t, IPPROTO_TCP, TCP_KEEPIDLE, 60);
    show_set("TCP_KEEPIDLE", t, IPPROTO_TCP, TCP_KEEPIDLE, 0);
    show_set("TCP_KEEPINTVL", t, IPPROTO_TCP, TCP_KEEPINTVL, 10);
    show_set("TCP_KEEPCNT", t, IPPROTO_TCP, TCP_KEEPCNT, 4);
    show_set("TCP_KEEPCNT", t, IPPROTO_TCP, TCP_KEEPCNT, 128);
    show_set("TCP_SYNCNT", t, IPPROTO_TCP, TCP_SYNCNT, 3);
    show_set("TCP_USER_TIMEOUT", t, IPPROTO_TCP, TCP_USER_TIMEOUT, 5000);
    show_set("TCP_USER_TIMEOUT", t, IPPROTO_TCP, TCP_USER_TIMEOUT, -1);
    show("TCP_CONGESTION", setsockopt(t, IPPROTO_TCP, TCP_CONGESTION, "reno", 4));
    show("TCP_CONGESTION", setsockopt(t, IPPROTO_TCP, TCP_CONGESTION, "nonsense", 8));

    char name[16] = "";
    socklen_t len = sizeof(name);

    getsockopt(t, IPPROTO_TCP, TCP_CONGESTION, name, &len);
    printf("= is %s, %u bytes\n", name, (unsigned)len);
    close(t);
    close(u);
}

static void of_ip(void)
{
    const int t = socket(AF_INET, SOCK_STREAM, 0), u = socket(AF_INET, SOCK_DGRAM, 0);

    show_set("IP_TTL", u, IPPROTO_IP, IP_TTL, 5);
    show_set("IP_TTL", u, IPPROTO_IP, IP_TTL, 0);
    show_set("IP_TTL", u, IPPROTO_IP, IP_TTL, 256);
    show_set("IP_TOS", u, IPPROTO_IP, IP_TOS, 0x2e);
    show_set("IP_TOS of TCP", t, IPPROTO_IP, IP_TOS, 0x2f);
    show_set("IP_PKTINFO", u, IPPROTO_IP, IP_PKTINFO, 1);
    show_set("IP_RECVTTL", u, IPPROTO_IP, IP_RECVTTL, 1);
    show_set("IP_MTU_DISCOVER", u, IPPROTO_IP, IP_MTU_DISCOVER, 2);
    show_set("IP_MTU_DISCOVER", u, IPPROTO_IP, IP_MTU_DISCOVER, 9);
    show_set("IP_MULTICAST_TTL", u, IPPROTO_IP, IP_MULTICAST_TTL, 9);
    show_set("IP_MULTICAST_TTL", u, IPPROTO_IP, IP_MULTICAST_TTL, 256);
    show_set("IP_MULTICAST_TTL", u, IPPROTO_IP, IP_MULTICAST_TTL, -1);
    show_set("IP_MULTICAST_LOOP", u, IPPROTO_IP, IP_MULTICAST_LOOP, 0);
    show("one byte", setsockopt(u, IPPROTO_IP, IP_MULTICAST_LOOP, "\1", 1));
    show("is", get(u, IPPROTO_IP, IP_MULTICAST_LOOP));
    show("IP_MTU unconnected", get(u, IPPROTO_IP, IP_MTU));
    show_set("unknown", u, IPPROTO_IP, 60, 1);
    show_set("IPv6's on IPv4", u, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 1);
    close(t);
    close(u);
}

static void of_ip6(void)
{
    const int t = socket(AF_INET6, SOCK_STREAM, 0), u = socket(AF_INET6, SOCK_DGRAM, 0);
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(PORT)};

    show_set("IPV6_V6ONLY", t, IPPROTO_IPV6, IPV6_V6ONLY, 1);
    show("bind", bind(t, (struct sockaddr *)&any, sizeof(any)));
    show_set("IPV6_V6ONLY bound", t, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    show_set("IPV6_UNICAST_HOPS", u, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 7);
    show_set("IPV6_UNICAST_HOPS", u, IPPROTO_IPV6, IPV6_UNICAST_HOPS, 256);
    show_set("IPV6_UNICAST_HOPS", u, IPPROTO_IPV6, IPV6_UNICAST_HOPS, -1);
    show_set("IPV6_TCLASS", u, IPPROTO_IPV6, IPV6_TCLASS, 0x20);
    show_set("IPV6_TCLASS", u, IPPROTO_IPV6, IPV6_TCLASS, 300);
    show_set("IPV6_MULTICAST_HOPS", u, IPPROTO_IPV6, IPV6_MULTICAST_HOPS, 3);
    show_set("IPV6_MULTICAST_LOOP", u, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 0);
    show_set("IPV6_MULTICAST_IF", u, IPPROTO_IPV6, IPV6_MULTICAST_IF, 9999);
    show_set("IPV6_RECVPKTINFO", u, IPPROTO_IPV6, IPV6_RECVPKTINFO, 1);
    show_set("IP_TTL on IPv6", u, IPPROTO_IP, IP_TTL, 9);
    close(t);
    close(u);
}

static void of_a_device(void)
{
    const int u = socket(AF_INET, SOCK_DGRAM, 0);
    char name[IFNAMSIZ] = "";
    socklen_t len = sizeof(name);

    show("SO_BINDTODEVICE", setsockopt(u, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
    show("get", getsockopt(u, SOL_SOCKET, SO_BINDTODEVICE, name, &len));
    printf("= is %s, %u bytes\n", name, (unsigned)len);
    show("none", setsockopt(u, SOL_SOCKET, SO_BINDTODEVICE, "nonsense", 9));
    close(u);
}

static void of_a_connection(void)
{
    struct tcp_info info;
    socklen_t len = sizeof(info);
    int pair[2];
    char c = 0;

    pair_tcp(pair, PORT);
    send(pair[0], "x", 1, 0);
    read(pair[1], &c, 1);
    usleep(400000); /* the acknowledgement may be delayed */
    show("TCP_INFO", getsockopt(pair[0], IPPROTO_TCP, TCP_INFO, &info, &len));
    printf("= state %d, mss %d, cwnd %d, rtt %d, retransmitted %u\n", info.tcpi_state,
           info.tcpi_snd_mss > 500, info.tcpi_snd_cwnd > 0, info.tcpi_rtt > 0,
           (unsigned)info.tcpi_total_retrans);
    show("IP_MTU", get(pair[0], IPPROTO_IP, IP_MTU) >= 1500);
    show("TCP_MAXSEG", get(pair[0], IPPROTO_TCP, TCP_MAXSEG) > 1000);
    close(pair[0]);
    close(pair[1]);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    facts();
    flags();
    buffers();
    times();
    of_tcp();
    of_ip();
    of_ip6();
    of_a_device();
    of_a_connection();
    return 0;
}
