#include "lib/image_end.h"

#include <stdint.h>

#include "lib/console.h"
#include "port/power.h"

/* Written by hand: the crash path ends here too, and printf may be what crashed. */
static const char *decimal(uint8_t v, char out[4])
{
    char *p = out + 3;
    *p = '\0';
    do {
        *--p = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    return p;
}

void image_end(int status)
{
    const uint8_t n = (uint8_t)status;
    char digits[4];

    console_fresh_line();
    console_puts("exit: ");
    console_puts(decimal(n, digits));
    console_puts("\n");
    console_drain();
    power_end(n);
}
