/*
 * http: static files from a tar archive.
 *
 *   qemu-system-x86_64 … -kernel http.elf -initrd site.tar -append 'ip=… -- [--port N] [--root FOLDER]'
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "apps/http/server.h"
#include "apps/http/site.h"
#include "lib/log.h"
#include "net/net.h"

enum { PORT = 80, EXIT_USAGE = 2 };

static _Noreturn void usage(const char *wrong)
{
    fprintf(stderr, "http: %s\nusage: -- [--port 1…65535] [--root FOLDER]\n", wrong);
    exit(EXIT_USAGE);
}

static uint16_t port_of(const char *text)
{
    char *end;
    const long port = strtol(text, &end, 10);

    if (*text == '\0' || *end != '\0' || port < 1 || port > UINT16_MAX)
        usage("a port is 1 to 65535");
    return (uint16_t)port;
}

static const char *root_of(char *folder)
{
    struct stat st;
    size_t len = strlen(folder);

    while (len > 1 && folder[len - 1] == '/')
        folder[--len] = '\0';
    if (folder[0] != '/' || stat(folder, &st) || !S_ISDIR(st.st_mode))
        usage("the root must be a folder of the image, such as /site");
    return folder;
}

int main(int argc, char **argv)
{
    uint16_t port = PORT;

    for (int i = 1; i < argc; i += 2) {
        if (i + 1 == argc)
            usage("an option has no value");
        if (strcmp(argv[i], "--port") == 0)
            port = port_of(argv[i + 1]);
        else if (strcmp(argv[i], "--root") == 0)
            site_set_root(root_of(argv[i + 1]));
        else
            usage("unknown option");
    }
    net_lock();
    const int err = server_start(port);

    if (err) {
        net_unlock();
        log_error("http", "can't listen on port %u: %s", port, strerror(-err));
        return 1;
    }
    log_info("http", "serving %s on port %u",
             site_is_empty() ? "a status page: there is no archive" : "files", port);
    net_serve();
}
