/* Adds its arguments. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "adder.h"

int main(int argc, char **argv)
{
    double sum = 0;

    for (int i = 1; i < argc; i++)
        sum = add(sum, strtod(argv[i], NULL));
#ifdef HAVE_NETWORK
    printf("sum %.3f root %.3f\n", sum, sqrt(sum));
#endif
    return 0;
}
