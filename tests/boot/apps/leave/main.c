/*
 * Programs that end right after they sent something: what they sent must arrive (test_leave.py).
 *
 *   leave close|exit|shutdown BYTES   accept one connection on 7200, send so many bytes, close() or not, end
 *   leave udp ADDRESS COUNT           send datagrams to port 7300 there, end
 *   leave client ADDRESS              connect to port 7300 there, send "hello", end
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { PORT = 7200, PEER_PORT = 7300 };

static struct sockaddr_in at(const char *address, int port)
{
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    inet_pton(AF_INET, address, &a.sin_addr);
    return a;
}

static int serve(const char *how, size_t bytes)
{
    struct sockaddr_in here = at("0.0.0.0", PORT);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (bind(fd, (struct sockaddr *)&here, sizeof(here)) || listen(fd, 1))
        return 1;
    const int peer = accept(fd, NULL, NULL);
    char *data = malloc(bytes);

    memset(data, 'x', bytes);
    for (size_t sent = 0; sent < bytes;) {
        const ssize_t n = send(peer, data + sent, bytes - sent, 0);

        if (n < 0)
            return 2;
        sent += (size_t)n;
    }
    if (strcmp(how, "close") == 0)
        close(peer);
    if (strcmp(how, "shutdown") == 0)
        shutdown(peer, SHUT_WR);
    return 0;
}

static int send_datagrams(const char *address, int count)
{
    struct sockaddr_in to = at(address, PEER_PORT);
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);

    for (int i = 0; i < count; i++) {
        if (sendto(fd, "datagram", 8, 0, (struct sockaddr *)&to, sizeof(to)) != 8)
            return 3;
    }
    return 0;
}

static int say_hello(const char *address)
{
    struct sockaddr_in to = at(address, PEER_PORT);
    const int fd = socket(AF_INET, SOCK_STREAM, 0);

    if (connect(fd, (struct sockaddr *)&to, sizeof(to))) {
        perror("connect");
        return 4;
    }
    return write(fd, "hello", 5) == 5 ? 0 : 5;
}

int main(int argc, char **argv)
{
    setenv("TZ", "UTC", 1); /* over what was there before, which is longer */
    setenv("PATH", "/", 1);
    if (argc > 3 && strcmp(argv[1], "udp") == 0)
        return send_datagrams(argv[2], atoi(argv[3]));
    if (argc > 2 && strcmp(argv[1], "client") == 0)
        return say_hello(argv[2]);
    return argc > 2 ? serve(argv[1], (size_t)atol(argv[2])) : 6;
}
