/* Prints docs/options.md from the option table, for `make docs`. */
#include <stdio.h>

#include "lib/options.h"

static void put(void *arg, const char *text)
{
    fputs(text, arg);
}

int main(void)
{
    options_markdown(put, stdout);
    return fflush(stdout) == 0 ? 0 : 1;
}
