/*
 * iperf3 in an image: what follows "--" on the command line are its arguments; without any it is a server.
 *
 * Options against clients that vanish come first, so that the user's own, which come later, win. A control connection is
 * probed after 20 s of silence and given up 15 s later; 15 s without data end a test in which the server receives, 30 s
 * without an acknowledgement one in which it sends.
 */
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

enum { ARGUMENTS_MAX = 128 };

int iperf3_main(int argc, char **argv);

/* "-s", "--server", or a word of short options with an s in front: "-s1". */
static bool asks_for_server(int argc, char **argv)
{
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--server") == 0 || strncmp(argv[i], "-s", 2) == 0)
            return true;
    }
    return argc <= 1;
}

int main(int argc, char **argv)
{
    static char keepalive[] = "--cntl-ka=20/5/3"; /* iperf3 cuts it at the slashes */
    static char *words[ARGUMENTS_MAX] = {"iperf3"};
    int count = 1;

    if (argc > ARGUMENTS_MAX - 8) {
        fprintf(stderr, "iperf3: more than %d arguments\n", ARGUMENTS_MAX - 8);
        return 2;
    }
    if (asks_for_server(argc, argv)) {
        words[count++] = "--rcv-timeout=15000";
        words[count++] = "--snd-timeout=30000";
        words[count++] = keepalive;
    }
    if (argc <= 1)
        words[count++] = "-s";
    for (int i = 1; i < argc; i++)
        words[count++] = argv[i];
    return iperf3_main(count, words);
}
