/*
 * For test_survival.py: what the outside does to a NIC, done from inside, because QEMU can't be asked to. Commands come
 * as datagrams to port 9, and TCP port 7 echoes meanwhile. Slots are those of machine pc's bus.
 *
 *   pull 5        QEMU takes the function in slot 5 away, at once, without a word to its driver
 *   lose 5        the device is reset behind its driver's back
 *   break 5       the device finds nonsense in its transmit ring, and (if modern) asks for a reset
 *   link net1     is that interface up?
 */
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/boot/apps/harm/registers.h"

enum {
    COMMANDS = 9,
    ECHO = 7,
    CONNECTIONS_MAX = 8,
    EJECT = 0xae08, /* QEMU's ACPI hot plug for the bus of machine pc: a bit for each slot */
    TXQ = 1,
    RING = 256, /* entries, QEMU's default */
    NEEDS_RESET = 64,
    PATIENCE = 3000000,
};

/* A descriptor that doesn't exist is made available. With interrupts off: the driver would mend that with its next
 * frame. */
static void break_ring(const struct registers *r)
{
    __asm__ volatile("cli");
    volatile uint16_t *index = avail_index(r, TXQ);
    index[1 + *index % RING] = 0xffff;
    *index = (uint16_t)(*index + 1);
    notify(r, TXQ);
    for (int i = 0; i < PATIENCE && !(status_read(r) & NEEDS_RESET); i++)
        __asm__ volatile("pause");
    __asm__ volatile("sti");
}

static const char *link_of(int fd, const char *name)
{
    struct ifreq request = {0};

    snprintf(request.ifr_name, sizeof(request.ifr_name), "%s", name);
    if (ioctl(fd, SIOCGIFFLAGS, &request))
        return "unknown";
    return request.ifr_flags & IFF_UP ? "up" : "down";
}

static const char *obey(int fd, const char *text)
{
    const char *word = strchr(text, ' ');
    const unsigned slot = word ? (unsigned)atoi(word) : 0;
    const struct registers r = registers_of(slot);

    if (!word)
        return "?";
    if (text[0] == 'p')
        out32(EJECT, 1u << slot);
    else if (text[0] == 'l' && text[1] == 'o')
        status_write(&r, 0);
    else if (text[0] == 'b')
        break_ring(&r);
    else
        return link_of(fd, word + 1);
    return "done";
}

static void take_command(int fd)
{
    struct sockaddr_in peer;
    socklen_t len = sizeof(peer);
    char text[64];
    const ssize_t got = recvfrom(fd, text, sizeof(text) - 1, 0, (struct sockaddr *)&peer, &len);

    if (got < 0)
        return;
    text[got] = '\0';
    const char *answer = obey(fd, text);
    sendto(fd, answer, strlen(answer), 0, (const struct sockaddr *)&peer, len);
}

/* True while the connection goes on. */
static bool echo(int fd)
{
    static char data[4096];
    const ssize_t got = read(fd, data, sizeof(data));

    for (ssize_t done = 0; done < got;) {
        const ssize_t part = write(fd, data + done, (size_t)(got - done));
        if (part <= 0)
            return false;
        done += part;
    }
    return got > 0;
}

static int bound(int type, uint16_t port)
{
    const struct sockaddr_in here = {.sin_family = AF_INET, .sin_port = htons(port)};
    const int fd = socket(AF_INET, type, 0);

    if (bind(fd, (const struct sockaddr *)&here, sizeof(here)))
        exit(1);
    return fd;
}

int main(void)
{
    struct pollfd fds[2 + CONNECTIONS_MAX] = {{bound(SOCK_DGRAM, COMMANDS), POLLIN, 0},
                                              {bound(SOCK_STREAM, ECHO), POLLIN, 0}};
    nfds_t count = 2;

    listen(fds[1].fd, CONNECTIONS_MAX);
    while (poll(fds, count, -1) >= 0) {
        if (fds[0].revents)
            take_command(fds[0].fd);
        for (nfds_t i = 2; i < count; i++)
            if (fds[i].revents && !echo(fds[i].fd)) {
                close(fds[i].fd);
                fds[i--] = fds[--count];
            }
        if (fds[1].revents && count < 2 + CONNECTIONS_MAX)
            fds[count++] = (struct pollfd){accept(fds[1].fd, NULL, NULL), POLLIN, 0};
    }
    return 1;
}
