/* hello: prints a greeting and its arguments; returns the number that its first argument is, else 0. */
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char **argv)
{
    printf("Hello from Ringlet.\n");
    for (int i = 1; i < argc; i++)
        printf("argument %d: %s\n", i, argv[i]);
    return argc > 1 ? atoi(argv[1]) : 0;
}
