/*
 * netserver in an image: what follows "--" on the command line are its arguments.
 *
 * There is no fork(), so it must stay in the foreground and serve one client at a time: -D and -f are always given.
 */
#include <stddef.h>
#include <stdio.h>

enum { ARGUMENTS_MAX = 64 };

int netserver_main(int argc, char **argv);

int main(int argc, char **argv)
{
    static char *arguments[ARGUMENTS_MAX] = {"netserver", "-D", "-f"};
    int count = 3;

    if (argc - 1 > ARGUMENTS_MAX - 1 - count) {
        fprintf(stderr, "netserver: more than %d arguments\n", ARGUMENTS_MAX - 1 - count);
        return 2;
    }
    for (int i = 1; i < argc; i++)
        arguments[count++] = argv[i];
    return netserver_main(count, arguments);
}
