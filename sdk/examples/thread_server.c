/* Line counter with a thread a connection: answers each line with its number and length. Also builds on Linux. */
#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long total;
static __thread unsigned long mine; /* each connection's own */

static void *serve(void *arg)
{
    const int fd = (int)(intptr_t)arg;
    FILE *in = fdopen(fd, "r"), *out = fdopen(dup(fd), "w");
    char line[4096];

    while (in && out && fgets(line, sizeof line, in)) {
        pthread_mutex_lock(&lock);
        total++;
        pthread_mutex_unlock(&lock);
        mine++;
        fprintf(out, "%lu %zu\n", mine, strcspn(line, "\r\n"));
        fflush(out);
        if (strcmp(line, "total\n") == 0) {
            fprintf(out, "total %lu\n", total);
            fflush(out);
        }
    }
    if (in)
        fclose(in);
    if (out)
        fclose(out);
    return NULL;
}

int main(int argc, char **argv)
{
    const int port = argc > 1 ? atoi(argv[1]) : 7000, on = 1;
    const int listener = socket(AF_INET, SOCK_STREAM, 0);
    const struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener, (const struct sockaddr *)&addr, sizeof addr) || listen(listener, 64)) {
        perror("thread_server");
        return 1;
    }
    printf("listening on %d\n", port);
    fflush(stdout);
    for (;;) {
        const int fd = accept(listener, NULL, NULL);
        pthread_t thread;

        if (fd < 0)
            continue;
        if (pthread_create(&thread, NULL, serve, (void *)(intptr_t)fd))
            close(fd);
        else
            pthread_detach(thread);
    }
}
