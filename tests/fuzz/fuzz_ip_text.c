/*
 * Any text as an address: judged as the C library judges it, and what is taken comes back after writing it.
 */
#include <arpa/inet.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/ip_text.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_ip4(const char *text)
{
    uint8_t ours[4], theirs[4], back[4];
    const bool ok = ip4_parse(ours, text);
    ASSERT(ok == (inet_pton(AF_INET, text, theirs) == 1));
    if (!ok)
        return;
    char out[IP4_TEXT_BYTES];
    ASSERT(memcmp(ours, theirs, 4) == 0);
    ASSERT(ip4_format(out, ours) == strlen(out));
    ASSERT(strcmp(out, text) == 0); /* there is one form only */
    ASSERT(ip4_parse(back, out) && memcmp(back, ours, 4) == 0);
}

static void check_ip6(const char *text)
{
    uint8_t ours[16], theirs[16], back[16];
    const bool ok = ip6_parse(ours, text);
    ASSERT(ok == (inet_pton(AF_INET6, text, theirs) == 1));
    if (!ok)
        return;
    char out[IP6_TEXT_BYTES];
    ASSERT(memcmp(ours, theirs, 16) == 0);
    ASSERT(ip6_format(out, ours) == strlen(out));
    ASSERT(ip6_parse(back, out) && memcmp(back, ours, 16) == 0);
}

/* With a prefix: what stands before the last '/' must be an address by itself. */
static void check_cidr(char *text)
{
    uint8_t addr[16], alone[16], prefix = 0;
    const bool ok4 = ip4_parse_cidr(addr, &prefix, text);
    const bool ok6 = !ok4 && ip6_parse_cidr(addr, &prefix, text);
    if (!ok4 && !ok6)
        return;
    ASSERT(prefix <= (ok4 ? 32 : 128));
    char *slash = strrchr(text, '/');
    ASSERT(slash && strtoul(slash + 1, NULL, 10) == prefix);
    *slash = '\0';
    ASSERT(ok4 ? ip4_parse(alone, text) : ip6_parse(alone, text));
    ASSERT(memcmp(alone, addr, ok4 ? 4 : 16) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';
    check_ip4(text);
    check_ip6(text);
    check_cidr(text);

    /* The bytes as an address, too: every address can be written and read back. */
    if (size >= 16) {
        char out[IP6_TEXT_BYTES];
        uint8_t back[16];
        ip6_format(out, data);
        ASSERT(ip6_parse(back, out) && memcmp(back, data, 16) == 0);
    }
    free(text);
    return 0;
}
