/*
 * For test_sockopt.py: options whose effect is seen on the wire. Pings its peer (argv[1]) by a raw and by a datagram socket,
 * tries a port of it where nobody answers, then serves port 7000 with a small MSS and a small window.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/icmp6.h>
#include <netinet/ip.h>
#include <netinet/ip_icmp.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

enum { PORT = 7000, DEAD_PORT = 7001, SENT = 100000 };

static struct sockaddr_in peer = {.sin_family = AF_INET};

static uint16_t checksum(const void *data, size_t len)
{
    const uint16_t *words = data;
    uint32_t sum = 0;

    for (size_t i = 0; i < len / 2; i++)
        sum += words[i];
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)~sum;
}

static void ping(int type)
{
    struct icmphdr echo = {.type = ICMP_ECHO, .un.echo = {htons(77), htons(3)}};
    const struct timeval tv = {2, 0};
    char answer[100];
    const int fd = socket(AF_INET, type, IPPROTO_ICMP);
    ssize_t got;

    setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &tv, sizeof(tv));
    echo.checksum = checksum(&echo, sizeof(echo));
    connect(fd, (struct sockaddr *)&peer, sizeof(peer));
    send(fd, &echo, sizeof(echo), 0);
    got = recv(fd, answer, sizeof(answer), 0);

    const size_t head = type == SOCK_RAW ? sizeof(struct iphdr) : 0;
    const struct icmphdr *reply = (const struct icmphdr *)(const void *)(answer + head);

    printf("ping: %zd bytes, type %d, sequence %d\n", got - (ssize_t)head, reply->type,
           ntohs(reply->un.echo.sequence));
    close(fd);
}

/* A second after the first byte the peer hears nothing more. */
static void give_up(void)
{
    const int fd = socket(AF_INET, SOCK_STREAM, 0), limit_ms = 2000;
    struct sockaddr_in addr = peer;
    time_t began;
    char byte = 0;

    addr.sin_port = htons(DEAD_PORT);
    setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &limit_ms, sizeof(limit_ms));
    if (connect(fd, (struct sockaddr *)&addr, sizeof(addr)))
        perror("connect");
    recv(fd, &byte, 1, 0);
    sleep(1);
    began = time(NULL);
    send(fd, "lost", 4, 0);
    const ssize_t got = recv(fd, &byte, 1, 0);

    printf("user timeout: %d after %d s\n", got < 0 && errno == ETIMEDOUT,
           (int)(time(NULL) - began));
    close(fd);
}

static void serve(void)
{
    static char block[SENT];
    const int listener = socket(AF_INET, SOCK_STREAM, 0), mss = 700, window = 8192;
    const struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    struct tcp_info info;
    socklen_t len = sizeof(info);

    setsockopt(listener, IPPROTO_TCP, TCP_MAXSEG, &mss, sizeof(mss));
    setsockopt(listener, SOL_SOCKET, SO_RCVBUF, &window, sizeof(window));
    bind(listener, (const struct sockaddr *)&addr, sizeof(addr));
    listen(listener, 4);
    const int fd = accept(listener, NULL, NULL);

    send(fd, block, SENT, 0);
    sleep(2); /* what comes meanwhile fills the window */
    getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &len);
    printf("info: mss %u, retransmitted %d\n", (unsigned)info.tcpi_snd_mss,
           info.tcpi_total_retrans > 0);
    while (recv(fd, block, sizeof(block), 0) > 0)
        ;
}

int main(int argc, char **argv)
{
    setvbuf(stdout, NULL, _IOLBF, 0);
    if (argc < 2 || !inet_aton(argv[1], &peer.sin_addr))
        return 1;
    ping(SOCK_RAW);
    ping(SOCK_DGRAM);
    give_up();
    printf("serving\n");
    serve();
    return 0;
}
