/* Joins as many groups as its argument says, 239.9.0.0 and on, tells what it hears, and leaves them all when told to. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

enum { PORT = 7600, FIRST = 239 << 24 | 9 << 16 };

static int change(int fd, int name, int count)
{
    int done = 0;

    for (int i = 0; i < count; i++) {
        const struct ip_mreq req = {.imr_multiaddr.s_addr = htonl((uint32_t)FIRST + (uint32_t)i)};

        done += setsockopt(fd, IPPROTO_IP, name, &req, sizeof(req)) == 0;
    }
    return done;
}

int main(int argc, char **argv)
{
    const int count = argc > 1 ? atoi(argv[1]) : 0;
    const int fd = socket(AF_INET, SOCK_DGRAM, 0);
    const struct sockaddr_in name = {.sin_family = AF_INET, .sin_port = htons(PORT)};
    char text[64];

    bind(fd, (const struct sockaddr *)&name, sizeof(name));
    printf("joined %d\n", change(fd, IP_ADD_MEMBERSHIP, count));
    for (;;) {
        const ssize_t len = recv(fd, text, sizeof(text) - 1, 0);

        if (len < 0)
            return 1;
        text[len] = '\0';
        printf("heard %s\n", text);
        if (strcmp(text, "leave") == 0)
            printf("left %d\n", change(fd, IP_DROP_MEMBERSHIP, count));
    }
}
