#include "apps/iperf/payload.h"

static uint8_t pattern[PAYLOAD_BYTES];

void payload_init(void)
{
    enum { FIRST = ' ', COUNT = 95, SHOWN = 72 };
    for (size_t i = 0; i < PAYLOAD_BYTES; i++) {
        const size_t line = i / PAYLOAD_LINE_BYTES, column = i % PAYLOAD_LINE_BYTES;
        pattern[i] = column == SHOWN       ? '\r'
                     : column == SHOWN + 1 ? '\n'
                                           : (uint8_t)(FIRST + (line + column) % COUNT);
    }
}

const uint8_t *payload_at(uint64_t pos, size_t *len)
{
    const size_t offset = (size_t)(pos % PAYLOAD_BYTES);
    *len = PAYLOAD_BYTES - offset;
    return pattern + offset;
}
