/* Sleeps for as many seconds as its first argument says, and tells how long that was. */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "port/clock.h"

int main(int argc, char **argv)
{
    const unsigned seconds = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    printf("asleep\n");
    const uint64_t from_us = clock_now_us();
    sleep(seconds);
    printf("slept %.6f s\n", (double)(clock_now_us() - from_us) / 1e6);
    return 0;
}
