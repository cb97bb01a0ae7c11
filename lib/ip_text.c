#include "lib/ip_text.h"
#include "lib/hex.h"

#include <string.h>

enum { GROUPS = 8 };

/* Read a decimal number of 0 … max without leading zeros. Returns what follows it, or NULL. */
static const char *read_decimal(const char *at, uint32_t max, uint8_t *out)
{
    uint32_t value = 0;
    const char *const start = at;
    while (*at >= '0' && *at <= '9') {
        if (at > start && *start == '0')
            return NULL;
        value = value * 10 + (uint32_t)(*at - '0');
        if (value > max)
            return NULL;
        at++;
    }
    *out = (uint8_t)value;
    return at > start ? at : NULL;
}

/* Read an IPv4 address. Returns what follows it, or NULL. */
static const char *read_ip4(const char *at, uint8_t addr[4])
{
    for (size_t i = 0; i < 4; i++) {
        if (i > 0 && *at++ != '.')
            return NULL;
        at = read_decimal(at, 255, &addr[i]);
        if (!at)
            return NULL;
    }
    return at;
}

/* Read a group of 1 … 4 hexadecimal digits. Returns what follows it, or NULL. */
static const char *read_group(const char *at, uint8_t group[2])
{
    uint32_t value = 0;
    size_t digits = 0;
    for (; hex_value(*at) >= 0; at++, digits++) {
        if (digits == 4)
            return NULL;
        value = value << 4 | (uint32_t)hex_value(*at);
    }
    group[0] = (uint8_t)(value >> 8);
    group[1] = (uint8_t)value;
    return digits > 0 ? at : NULL;
}

/*
 * Read groups separated by ':' until something else or "::" comes, at most `room` bytes. An IPv4 address may
 * stand for the last two, but not before `ip4_from` bytes. Returns what follows, or NULL; *used is the number
 * of bytes read, ≥ 2.
 */
static const char *read_groups(const char *at, uint8_t *out, size_t room, size_t ip4_from,
                               size_t *used)
{
    *used = 0;
    for (;;) {
        uint8_t ip4[4];
        const bool ip4_fits = *used >= ip4_from && *used + 4 <= room;
        const char *end = ip4_fits ? read_ip4(at, ip4) : NULL;
        if (end) {
            memcpy(out + *used, ip4, 4);
            *used += 4;
            return end;
        }
        if (*used + 2 > room)
            return NULL;
        at = read_group(at, out + *used);
        if (!at)
            return NULL;
        *used += 2;
        if (at[0] != ':' || at[1] == ':')
            return at;
        at++;
    }
}

/* Read an IPv6 address. Returns what follows it, or NULL. */
static const char *read_ip6(const char *at, uint8_t addr[16])
{
    uint8_t front[16], back[16];
    size_t front_len = 0, back_len = 0;
    const bool starts_with_gap = at[0] == ':' && at[1] == ':';
    if (!starts_with_gap) {
        at = read_groups(at, front, sizeof(front), 12, &front_len);
        if (!at)
            return NULL;
    }
    if (front_len < 16) {
        /* "::" stands for one group at least (RFC 4291 §2.2), so that much less may follow it. */
        if (at[0] != ':' || at[1] != ':')
            return NULL;
        at += 2;
        if (hex_value(*at) >= 0) {
            at = read_groups(at, back, 14 - front_len, 0, &back_len);
            if (!at)
                return NULL;
        }
    }
    memset(addr, 0, 16);
    memcpy(addr, front, front_len);
    memcpy(addr + 16 - back_len, back, back_len);
    return at;
}

bool ip4_parse(uint8_t addr[4], const char *text)
{
    uint8_t found[4];
    const char *end = read_ip4(text, found);
    if (!end || *end)
        return false;
    memcpy(addr, found, sizeof(found));
    return true;
}

bool ip6_parse(uint8_t addr[16], const char *text)
{
    uint8_t found[16];
    const char *end = read_ip6(text, found);
    if (!end || *end)
        return false;
    memcpy(addr, found, sizeof(found));
    return true;
}

static bool read_prefix(const char *at, uint32_t max, uint8_t *prefix)
{
    uint8_t value;
    if (!at || *at != '/')
        return false;
    at = read_decimal(at + 1, max, &value);
    if (!at || *at)
        return false;
    *prefix = value;
    return true;
}

bool ip4_parse_cidr(uint8_t addr[4], uint8_t *prefix, const char *text)
{
    uint8_t found[4];
    if (!read_prefix(read_ip4(text, found), 32, prefix))
        return false;
    memcpy(addr, found, sizeof(found));
    return true;
}

bool ip6_parse_cidr(uint8_t addr[16], uint8_t *prefix, const char *text)
{
    uint8_t found[16];
    if (!read_prefix(read_ip6(text, found), 128, prefix))
        return false;
    memcpy(addr, found, sizeof(found));
    return true;
}

static char *write_decimal(char *out, uint8_t value)
{
    if (value >= 100)
        *out++ = (char)('0' + value / 100);
    if (value >= 10)
        *out++ = (char)('0' + value / 10 % 10);
    *out++ = (char)('0' + value % 10);
    return out;
}

static char *write_group(char *out, uint32_t group)
{
    static const char digits[] = "0123456789abcdef";
    for (int shift = 12; shift > 0; shift -= 4)
        if (group >> shift)
            *out++ = digits[group >> shift & 15];
    *out++ = digits[group & 15];
    return out;
}

size_t ip4_format(char text[IP4_TEXT_BYTES], const uint8_t addr[4])
{
    char *out = text;
    for (size_t i = 0; i < 4; i++) {
        if (i > 0)
            *out++ = '.';
        out = write_decimal(out, addr[i]);
    }
    *out = '\0';
    return (size_t)(out - text);
}

/* The longest run of two zero groups or more, the first of equals (RFC 5952 §4.2); length 0 if none. */
static void find_gap(const uint32_t groups[GROUPS], size_t *start, size_t *len)
{
    size_t run = 0;
    *start = *len = 0;
    for (size_t i = 0; i < GROUPS; i++) {
        run = groups[i] ? 0 : run + 1;
        if (run >= 2 && run > *len) {
            *len = run;
            *start = i + 1 - run;
        }
    }
}

size_t ip6_format(char text[IP6_TEXT_BYTES], const uint8_t addr[16])
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    if (memcmp(addr, mapped, sizeof(mapped)) == 0) {
        memcpy(text, "::ffff:", 7);
        return 7 + ip4_format(text + 7, addr + 12);
    }
    uint32_t groups[GROUPS];
    for (size_t i = 0; i < GROUPS; i++)
        groups[i] = (uint32_t)addr[2 * i] << 8 | addr[2 * i + 1];
    size_t gap_start, gap_len;
    find_gap(groups, &gap_start, &gap_len);

    char *out = text;
    for (size_t i = 0; i < GROUPS;) {
        if (gap_len && i == gap_start) {
            *out++ = ':';
            *out++ = ':';
            i += gap_len;
            continue;
        }
        if (i > 0 && !(gap_len && i == gap_start + gap_len))
            *out++ = ':';
        out = write_group(out, groups[i++]);
    }
    *out = '\0';
    return (size_t)(out - text);
}
