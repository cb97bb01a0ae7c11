/* Any bytes as the answer of a name server: no memory error, and what is taken is within its bounds. */
#include <stdint.h>
#include <string.h>

#include "lib/check.h"
#include "net/dns_message.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const uint8_t *data, size_t size, enum dns_type type)
{
    static const char name[] = "www.example.org";
    const uint16_t id = (uint16_t)(size >= 2 ? data[0] << 8 | data[1] : 0);
    struct dns_answer answer;

    if (dns_answer_parse(&answer, data, size, id, name, type) != 0)
        return;
    ASSERT(answer.addr_count <= DNS_ADDRS_MAX);
    ASSERT(memchr(answer.name, '\0', sizeof(answer.name)));
    for (const char *c = answer.name; *c; c++)
        ASSERT(*c > ' ' && *c < 0x7f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    check(data, size, DNS_A);
    check(data, size, DNS_AAAA);
    check(data, size, DNS_PTR);
    return 0;
}
