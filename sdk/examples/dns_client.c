/* Looks names up: one line an address, or why there is none. Also builds on Linux. */
#include <arpa/inet.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static int look_up(const char *name)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *list;
    const int err = getaddrinfo(name, "http", &hints, &list);

    if (err) {
        printf("%s: %s\n", name, gai_strerror(err));
        return 1;
    }
    for (const struct addrinfo *a = list; a; a = a->ai_next) {
        char host[64], port[16];

        getnameinfo(a->ai_addr, a->ai_addrlen, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV);
        printf("%s: %s port %s\n", name, host, port);
    }
    freeaddrinfo(list);
    return 0;
}

int main(int argc, char **argv)
{
    int failures = 0;

    for (int i = 1; i < argc; i++)
        failures += look_up(argv[i]);
    return failures;
}
