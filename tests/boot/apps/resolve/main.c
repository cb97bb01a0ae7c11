/* Looks up each word of its command line: NAME, 4:NAME, 6:NAME, or =ADDRESS for the other way. */
#include <arpa/inet.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile int ticks;

/* While one thread waits for an answer, another goes on. */
static void *tick(void *arg)
{
    (void)arg;
    for (;;) {
        usleep(100000);
        ticks++;
    }
    return NULL;
}

static void forward(const char *name, int family)
{
    const struct addrinfo hints = {
        .ai_family = family, .ai_socktype = SOCK_STREAM, .ai_flags = AI_CANONNAME};
    struct addrinfo *list = NULL;
    char text[64];
    const int error = getaddrinfo(name, "80", &hints, &list);

    printf("resolve: %s: %d", name, error);
    for (const struct addrinfo *a = error ? NULL : list; a; a = a->ai_next) {
        getnameinfo(a->ai_addr, a->ai_addrlen, text, sizeof(text), NULL, 0, NI_NUMERICHOST);
        printf(" %s", text);
    }
    printf("%s%s\n", error ? "" : " = ", error ? "" : list->ai_canonname);
    freeaddrinfo(error ? NULL : list);
}

static void backward(const char *text)
{
    struct sockaddr_in addr = {.sin_family = AF_INET};
    char host[256] = "";

    inet_pton(AF_INET, text, &addr.sin_addr);
    const int error = getnameinfo((struct sockaddr *)&addr, sizeof(addr), host, sizeof(host), NULL,
                                  0, NI_NAMEREQD);

    printf("resolve: =%s: %d %s\n", text, error, host);
}

int main(int argc, char **argv)
{
    pthread_t thread;

    setvbuf(stdout, NULL, _IOLBF, 0);
    pthread_create(&thread, NULL, tick, NULL);
    for (int i = 1; i < argc; i++) {
        if (argv[i][0] == '=')
            backward(argv[i] + 1);
        else if (argv[i][1] == ':')
            forward(argv[i] + 2, argv[i][0] == '4' ? AF_INET : AF_INET6);
        else
            forward(argv[i], AF_UNSPEC);
    }
    printf("resolve: others ran: %d\n", ticks > 0);
    return 0;
}
