#include "apps/iperf/payload.h"

#include <string.h>

static uint8_t pattern[PAYLOAD_BYTES];

/* Line n starts n characters further in the printable ones (RFC 864). Built by lines, then repeated: every
 * instruction here is one more between power-on and the first reply. */
void payload_init(void)
{
    enum { FIRST = ' ', COUNT = 95, SHOWN = PAYLOAD_LINE_BYTES - 2 };
    uint8_t printable[COUNT + SHOWN];

    for (size_t i = 0; i < sizeof(printable); i++)
        printable[i] = (uint8_t)(FIRST + i % COUNT);
    for (size_t line = 0; line < COUNT; line++) {
        uint8_t *to = pattern + line * PAYLOAD_LINE_BYTES;

        memcpy(to, printable + line, SHOWN);
        memcpy(to + SHOWN, "\r\n", 2);
    }
    for (size_t at = PAYLOAD_PERIOD_BYTES; at < PAYLOAD_BYTES; at += PAYLOAD_PERIOD_BYTES)
        memcpy(pattern + at, pattern, PAYLOAD_PERIOD_BYTES);
}

const uint8_t *payload_at(uint64_t pos, size_t *len)
{
    const size_t offset = (size_t)(pos % PAYLOAD_BYTES);
    *len = PAYLOAD_BYTES - offset;
    return pattern + offset;
}
