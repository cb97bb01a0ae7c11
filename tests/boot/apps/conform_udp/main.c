/* Datagrams: truncation, control data, several at once, errors that come back. */
#include "tests/boot/apps/conform.h"

#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/uio.h>
#include <time.h>

enum { PORT = 7400 };

static int udp(int family)
{
    return socket(family, SOCK_DGRAM, 0);
}

static void cut_short(void)
{
    const int a = udp(AF_INET), b = udp(AF_INET);
    struct sockaddr_in from;
    char first[3], second[4];
    struct iovec iov[2] = {{first, 3}, {second, 4}};
    struct msghdr msg = {
        .msg_name = &from, .msg_namelen = sizeof(from), .msg_iov = iov, .msg_iovlen = 2};

    bind_to(a, PORT);
    connect_to(b, PORT);
    send(b, "0123456789", 10, 0);
    show("recvmsg", recvmsg(a, &msg, 0));
    printf("= %.3s %.4s, cut %d, from %u bytes, family %d\n", first, second,
           (msg.msg_flags & MSG_TRUNC) != 0, (unsigned)msg.msg_namelen, from.sin_family);
    send(b, "0123456789", 10, 0);
    show("true length", recvmsg(a, &msg, MSG_TRUNC | MSG_PEEK));
    show("still there", recv(a, first, 3, 0));
    show("now gone", recv(a, first, 3, MSG_DONTWAIT));
    send(b, "", 0, 0);
    show("empty", recv(a, first, 3, 0));
    send(b, "ab", 2, 0);
    show("less than asked, MSG_WAITALL", recv(a, first, 3, MSG_WAITALL));
    msg.msg_iovlen = 0;
    send(b, "ab", 2, 0);
    show("into nothing", recvmsg(a, &msg, 0));
    show("told", (msg.msg_flags & MSG_TRUNC) != 0);
    close(a);
    close(b);
}

/* What came with one datagram. */
static void show_control(int fd)
{
    char data[16], control[256];
    struct iovec iov = {data, sizeof(data)};
    struct msghdr msg = {.msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = control,
                         .msg_controllen = sizeof(control)};
    const long got = recvmsg(fd, &msg, 0);

    printf("= with control: %ld", got);
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&msg); c; c = CMSG_NXTHDR(&msg, c)) {
        char text[INET6_ADDRSTRLEN] = "";
        int number = *(const unsigned char *)CMSG_DATA(c);

        if (c->cmsg_level == IPPROTO_IP && c->cmsg_type == IP_PKTINFO)
            inet_ntop(AF_INET, &((struct in_pktinfo *)(void *)CMSG_DATA(c))->ipi_addr, text,
                      sizeof(text));
        else if (c->cmsg_level == IPPROTO_IPV6 && c->cmsg_type == IPV6_PKTINFO)
            inet_ntop(AF_INET6, &((struct in6_pktinfo *)(void *)CMSG_DATA(c))->ipi6_addr, text,
                      sizeof(text));
        else
            snprintf(text, sizeof(text), "%d", number);
        printf(" [%d %d %s]", c->cmsg_level, c->cmsg_type, text);
    }
    printf("\n");
}

static void control(void)
{
    const int a = udp(AF_INET), b = udp(AF_INET), on = 1;
    const struct sockaddr_in to = at(PORT);
    char room[CMSG_SPACE(sizeof(struct in_pktinfo))] = "", small[CMSG_LEN(1)];
    struct iovec iov = {"data", 4};
    struct msghdr msg = {.msg_name = (void *)(uintptr_t)&to,
                         .msg_namelen = sizeof(to),
                         .msg_iov = &iov,
                         .msg_iovlen = 1,
                         .msg_control = room,
                         .msg_controllen = sizeof(room)};
    struct cmsghdr *c = CMSG_FIRSTHDR(&msg);
    struct in_pktinfo info = {.ipi_spec_dst.s_addr = htonl(0x7f000005)};
    struct sockaddr_in from;
    socklen_t len = sizeof(from);
    char text[INET_ADDRSTRLEN], buf[8];

    bind_to(a, PORT);
    setsockopt(a, IPPROTO_IP, IP_PKTINFO, &on, sizeof(on));
    sendto(b, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to));
    show_control(a);
    setsockopt(a, IPPROTO_IP, IP_RECVTTL, &on, sizeof(on));
    setsockopt(b, IPPROTO_IP, IP_TTL, &(int){33}, sizeof(int));
    sendto(b, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to));
    show_control(a);
    *c = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(info)), .cmsg_level = IPPROTO_IP, .cmsg_type = IP_PKTINFO};
    memcpy(CMSG_DATA(c), &info, sizeof(info));
    show("sendmsg from 127.0.0.5", sendmsg(b, &msg, 0));
    recvfrom(a, buf, sizeof(buf), 0, (struct sockaddr *)&from, &len);
    printf("= from %s\n", inet_ntop(AF_INET, &from.sin_addr, text, sizeof(text)));
    c->cmsg_len = sizeof(room) + 1;
    show("too long a control message", sendmsg(b, &msg, 0));
    c->cmsg_len = 3;
    show("too short", sendmsg(b, &msg, 0));
    sendto(b, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to));
    msg = (struct msghdr){.msg_iov = &(struct iovec){buf, sizeof(buf)},
                          .msg_iovlen = 1,
                          .msg_control = small,
                          .msg_controllen = sizeof(small)};
    show("no room for it", recvmsg(a, &msg, 0));
    show("MSG_CTRUNC", (msg.msg_flags & MSG_CTRUNC) != 0);
    close(a);
    close(b);
}

static void control6(void)
{
    const int a = udp(AF_INET6), b = udp(AF_INET6), on = 1;
    struct sockaddr_in6 to = {
        .sin6_family = AF_INET6, .sin6_port = htons(PORT), .sin6_addr = IN6ADDR_LOOPBACK_INIT};

    show("bind", bind(a, (struct sockaddr *)&to, sizeof(to)));
    setsockopt(a, IPPROTO_IPV6, IPV6_RECVPKTINFO, &on, sizeof(on));
    setsockopt(a, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, &on, sizeof(on));
    setsockopt(b, IPPROTO_IPV6, IPV6_UNICAST_HOPS, &(int){44}, sizeof(int));
    show("sendto", sendto(b, "x", 1, 0, (struct sockaddr *)&to, sizeof(to)));
    show_control(a);
    close(a);
    close(b);
}

static void several(void)
{
    const int a = udp(AF_INET), b = udp(AF_INET);
    char buf[4][8];
    struct iovec iov[4];
    struct mmsghdr msgs[4] = {{.msg_len = 0}};
    struct timespec none = {0};

    bind_to(a, PORT);
    connect_to(b, PORT);
    for (int i = 0; i < 4; i++) {
        iov[i] = (struct iovec){"abcdef", (size_t)i + 1};
        msgs[i].msg_hdr = (struct msghdr){.msg_iov = &iov[i], .msg_iovlen = 1};
    }
    show("sendmmsg", sendmmsg(b, msgs, 3, 0));
    printf("= lengths %u %u %u\n", msgs[0].msg_len, msgs[1].msg_len, msgs[2].msg_len);
    for (int i = 0; i < 4; i++)
        iov[i] = (struct iovec){buf[i], 8};
    show("recvmmsg", recvmmsg(a, msgs, 2, 0, NULL));
    printf("= lengths %u %u\n", msgs[0].msg_len, msgs[1].msg_len);
    show("the rest", recvmmsg(a, msgs, 4, MSG_WAITFORONE, NULL));
    show("none", recvmmsg(a, msgs, 4, MSG_DONTWAIT, &none));
    close(a);
    close(b);
}

static void refused(void)
{
    const int a = udp(AF_INET), b = udp(AF_INET);
    const struct sockaddr_in to = at(PORT + 1);
    struct pollfd p = {a, POLLIN, 0};
    int error = 0;
    socklen_t len = sizeof(error);
    char c;

    connect_to(a, PORT + 1);
    show("send to a closed port", send(a, "x", 1, 0));
    usleep(20000);
    poll(&p, 1, 0);
    show("POLLERR", (p.revents & POLLERR) != 0);
    show("recv", recv(a, &c, 1, 0));
    show("once", recv(a, &c, 1, MSG_DONTWAIT));
    send(a, "x", 1, 0);
    usleep(20000);
    show("next send", send(a, "x", 1, 0));
    usleep(20000);
    getsockopt(a, SOL_SOCKET, SO_ERROR, &error, &len);
    printf("= SO_ERROR %s\n", error_name(error));
    show("unconnected", sendto(b, "x", 1, 0, (const struct sockaddr *)&to, sizeof(to)));
    usleep(20000);
    show("hears nothing", recv(b, &c, 1, MSG_DONTWAIT));
    close(a);
    close(b);
}

static void names(void)
{
    const int a = udp(AF_INET), b = udp(AF_INET), six = udp(AF_INET6);
    struct sockaddr_in name = at(PORT), foreign = at(PORT);
    struct sockaddr unspec = {.sa_family = AF_UNSPEC};
    struct sockaddr_in6 any = {.sin6_family = AF_INET6, .sin6_port = htons(PORT + 2)}, from;
    socklen_t len = sizeof(name);
    char text[INET6_ADDRSTRLEN], c;

    foreign.sin_addr.s_addr = htonl(0xc0000201);
    show("foreign address", bind(a, (struct sockaddr *)&foreign, sizeof(foreign)));
    show("bind", bind(a, (struct sockaddr *)&name, sizeof(name)));
    show("taken", bind_to(b, PORT));
    show("bind twice", bind_to(a, PORT + 1));
    show("port 0", sendto(b, "x", 1, 0,
                          (struct sockaddr *)&(struct sockaddr_in){
                              .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)},
                          sizeof(name)));
    show("short address", sendto(b, "x", 1, 0, (struct sockaddr *)&name, 5));
    connect_to(b, PORT);
    getsockname(b, (struct sockaddr *)&name, &len);
    printf("= source %s\n", inet_ntoa(name.sin_addr));
    show("dissolve", connect(b, &unspec, sizeof(unspec)));
    show("then", send(b, "x", 1, 0));
    show("getpeername", getpeername(b, (struct sockaddr *)&name, &len));
    show("shutdown unconnected", shutdown(b, SHUT_RD));
    show("dual stack", bind(six, (struct sockaddr *)&any, sizeof(any)));
    name = at(PORT + 2);
    show("IPv4 to it", sendto(b, "x", 1, 0, (struct sockaddr *)&name, sizeof(name)));
    len = sizeof(from);
    show("comes", recvfrom(six, &c, 1, 0, (struct sockaddr *)&from, &len));
    printf("= from %s\n", inet_ntop(AF_INET6, &from.sin6_addr, text, sizeof(text)));
    close(a);
    close(b);
    close(six);
}

static void too_large(void)
{
    const int a = udp(AF_INET), probe = IP_PMTUDISC_DO;
    static char big[66000];

    connect_to(a, PORT);
    show("largest", send(a, big, 65507, 0) > 0 || errno == ECONNREFUSED);
    show("larger", send(a, big, 65508, 0));
    show("broadcast",
         sendto(a, big, 1, 0,
                (struct sockaddr *)&(struct sockaddr_in){
                    .sin_family = AF_INET, .sin_port = 1, .sin_addr.s_addr = INADDR_BROADCAST},
                sizeof(struct sockaddr_in)));
    show("no fragments", setsockopt(a, IPPROTO_IP, IP_MTU_DISCOVER, &probe, sizeof(probe)));
    close(a);
}

static void bad_arguments(void)
{
    const int fd = udp(AF_INET);
    int value = 0;
    socklen_t len = (socklen_t)-1;

    show("connect to nowhere", connect(fd, NULL, sizeof(struct sockaddr_in)));
    show("option of a negative length", getsockopt(fd, SOL_SOCKET, SO_TYPE, &value, &len));
    close(fd);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    cut_short();
    control();
    control6();
    several();
    refused();
    names();
    too_large();
    bad_arguments();
    return 0;
}
