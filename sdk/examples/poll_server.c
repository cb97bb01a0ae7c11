/* Echo with poll(): one thread, non-blocking sockets, a buffer a connection. Plain POSIX; also builds on Linux. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CLIENTS_MAX = 500, BUFFER_BYTES = 16384 };

struct client {
    char data[BUFFER_BYTES];
    size_t from, to; /* what was read and not yet written */
};

static struct pollfd fds[CLIENTS_MAX + 1];
static struct client *clients[CLIENTS_MAX + 1];
static nfds_t count = 1;

static void drop(nfds_t i)
{
    close(fds[i].fd);
    free(clients[i]);
    count--;
    fds[i] = fds[count];
    clients[i] = clients[count];
}

static void welcome(void)
{
    const int fd = accept(fds[0].fd, NULL, NULL);

    if (fd < 0)
        return;
    if (count > CLIENTS_MAX || !(clients[count] = calloc(1, sizeof *clients[count]))) {
        close(fd);
        return;
    }
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    fds[count++] = (struct pollfd){.fd = fd, .events = POLLIN};
}

/* False: it is over. */
static int serve(struct pollfd *p, struct client *c)
{
    if (c->from == c->to) {
        const ssize_t got = read(p->fd, c->data, sizeof c->data);

        if (got <= 0)
            return got < 0 && errno == EAGAIN;
        c->from = 0;
        c->to = (size_t)got;
    }
    const ssize_t sent = write(p->fd, c->data + c->from, c->to - c->from);

    if (sent < 0 && errno != EAGAIN)
        return 0;
    c->from += sent > 0 ? (size_t)sent : 0;
    p->events = c->from < c->to ? POLLOUT : POLLIN;
    return 1;
}

int main(int argc, char **argv)
{
    const int port = argc > 1 ? atoi(argv[1]) : 7000, on = 1;
    const struct sockaddr_in addr = {.sin_family = AF_INET, .sin_port = htons((uint16_t)port)};

    fds[0] = (struct pollfd){.fd = socket(AF_INET, SOCK_STREAM, 0), .events = POLLIN};
    setsockopt(fds[0].fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(fds[0].fd, (const struct sockaddr *)&addr, sizeof addr) || listen(fds[0].fd, 128)) {
        perror("poll_server");
        return 1;
    }
    printf("listening on %d\n", port);
    fflush(stdout);
    for (;;) {
        if (poll(fds, count, -1) < 0)
            continue;
        for (nfds_t i = count - 1; i > 0; i--) {
            if (fds[i].revents && !serve(&fds[i], clients[i]))
                drop(i);
        }
        if (fds[0].revents)
            welcome();
    }
}
