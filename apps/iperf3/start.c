/* iperf3 in an image: what follows "--" on the command line are its arguments; without any it is a server. */
#include <stddef.h>

int iperf3_main(int argc, char **argv);

int main(int argc, char **argv)
{
    /* A client that vanished must not keep others out: its silent connection is dropped (issue of every iperf3 server). */
    static char keepalive[] = "--cntl-ka=25/5/4"; /* iperf3 takes it apart in place */
    static char *as_server[] = {"iperf3",        "-s",    "--rcv-timeout",  "15000",
                                "--snd-timeout", "30000", "--idle-timeout", "60",
                                keepalive,       NULL};

    if (argc <= 1)
        return iperf3_main((int)(sizeof as_server / sizeof as_server[0]) - 1, as_server);
    return iperf3_main(argc, argv);
}
