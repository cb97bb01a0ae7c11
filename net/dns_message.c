#include "net/dns_message.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

enum {
    HEAD_BYTES = 12,
    LABEL_MAX = 63,
    NAME_MAX_CHARS = 253,
    POINTERS_MAX = 32, /* a name has at most 127 labels; a longer way is a loop or a joke */
    CLASS_IN = 1,
    FLAG_ANSWER = 0x8000,
    FLAG_TRUNCATED = 0x0200,
    FLAG_RECURSION = 0x0100,
    OPCODE = 0x7800,
    RCODE = 0x000f,
};

/* ---- writing ---- */

static uint8_t *put16(uint8_t *at, unsigned value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
    return at + 2;
}

static bool printable(unsigned char c)
{
    return c > ' ' && c < 0x7f && c != '.';
}

/* One label up to a dot or the end. Returns where the text goes on, or NULL. */
static const char *put_label(uint8_t **at, const char *text)
{
    size_t len = 0;

    while (printable((unsigned char)text[len]))
        len++;
    if (len == 0 || len > LABEL_MAX || (text[len] != '.' && text[len] != '\0'))
        return NULL;
    *(*at)++ = (uint8_t)len;
    memcpy(*at, text, len);
    *at += len;
    return text + len;
}

static uint8_t *put_name(uint8_t *at, const char *name)
{
    const size_t len = strlen(name);

    if (len == 0 || len > NAME_MAX_CHARS + (size_t)(name[len - 1] == '.'))
        return NULL;
    while (*name) {
        name = put_label(&at, name);
        if (!name)
            return NULL;
        name += *name == '.';
    }
    *at++ = 0;
    return at;
}

int dns_question(uint8_t message[DNS_QUERY_BYTES], uint16_t id, const char *name,
                 enum dns_type type)
{
    uint8_t *at = put16(message, id);

    at = put16(at, FLAG_RECURSION);
    at = put16(at, 1); /* questions */
    memset(at, 0, 6);
    at = put_name(message + HEAD_BYTES, name);
    if (!at)
        return -EINVAL;
    at = put16(at, type);
    at = put16(at, CLASS_IN);
    return (int)(at - message);
}

void dns_reverse_name(char name[DNS_NAME_BYTES], const uint8_t *addr, size_t addr_len)
{
    char *at = name;

    for (size_t i = addr_len; i-- > 0;) {
        if (addr_len == 4)
            at += snprintf(at, 5, "%u.", addr[i]);
        else
            at += snprintf(at, 5, "%x.%x.", addr[i] & 0xfu, addr[i] >> 4);
    }
    strcpy(at, addr_len == 4 ? "in-addr.arpa" : "ip6.arpa");
}

/* ---- reading ---- */

/* A message under examination; `bad` once anything lay outside it. */
struct reader {
    const uint8_t *message;
    size_t len, at;
    bool bad;
};

static unsigned get8(struct reader *r)
{
    if (r->at >= r->len) {
        r->bad = true;
        return 0;
    }
    return r->message[r->at++];
}

static unsigned get16(struct reader *r)
{
    const unsigned high = get8(r);

    return high << 8 | get8(r);
}

static void skip(struct reader *r, size_t len)
{
    if (len > r->len - r->at)
        r->bad = true;
    else
        r->at += len;
}

/* Append a label of `len` bytes and its dot. */
static size_t get_label(struct reader *r, char *name, size_t used, size_t len)
{
    if (len > LABEL_MAX || used + len + 1 > NAME_MAX_CHARS + 1) {
        r->bad = true;
        return used;
    }
    while (len-- > 0) {
        const unsigned c = get8(r);

        r->bad |= !printable((unsigned char)c);
        name[used++] = (char)c;
    }
    name[used++] = '.';
    return used;
}

/* A name, without the dot at its end; "" for the root. Pointers lead backwards only, and not for ever (§4.1.4). */
static void get_name(struct reader *r, char name[DNS_NAME_BYTES])
{
    size_t used = 0, behind = 0;

    for (unsigned pointers = 0; !r->bad;) {
        const size_t start = r->at;
        const unsigned len = get8(r);

        if (len == 0)
            break;
        if (len < 0xc0) {
            used = get_label(r, name, used, len);
            continue;
        }
        const size_t target = (len & 0x3f) << 8 | get8(r);

        if (pointers++ == 0)
            behind = r->at;
        if (target >= start || pointers > POINTERS_MAX)
            r->bad = true;
        else
            r->at = target;
    }
    if (behind)
        r->at = behind;
    name[used > 0 ? used - 1 : 0] = '\0';
}

struct record {
    char name[DNS_NAME_BYTES];
    unsigned type, class, len;
    size_t data; /* where it begins */
};

static void get_record(struct reader *r, struct record *record)
{
    get_name(r, record->name);
    record->type = get16(r);
    record->class = get16(r);
    skip(r, 4); /* how long it may be kept: nothing is */
    record->len = get16(r);
    record->data = r->at;
    skip(r, record->len);
}

static bool same_name(const char *a, const char *b)
{
    const size_t len = strlen(a);

    /* As asked, it may end with a dot. */
    return strncasecmp(a, b, len) == 0 && (b[len] == '\0' || (b[len] == '.' && b[len + 1] == '\0'));
}

static void keep_addr(struct dns_answer *out, const struct reader *r, const struct record *record,
                      size_t addr_len)
{
    if (record->len == addr_len && out->addr_count < DNS_ADDRS_MAX)
        memcpy(out->addrs[out->addr_count++], r->message + record->data, addr_len);
}

static void get_name_at(const struct reader *r, size_t at, char name[DNS_NAME_BYTES], bool *bad)
{
    struct reader sub = {r->message, r->len, at, false};

    get_name(&sub, name);
    *bad |= sub.bad;
}

/*
 * Once through the records that belong to `name`. True: an alias was found, and `name` is what it stands for; only records
 * that were asked for end the search.
 */
static bool scan(struct dns_answer *out, struct reader r, unsigned count, char name[DNS_NAME_BYTES],
                 enum dns_type type, bool *bad)
{
    char alias[DNS_NAME_BYTES] = "";
    struct record record;
    bool found = false;

    while (count-- > 0 && !*bad) {
        get_record(&r, &record);
        *bad = r.bad;
        if (r.bad || record.class != CLASS_IN || !same_name(record.name, name))
            continue;
        if (record.type == DNS_CNAME && !found)
            get_name_at(&r, record.data, alias, bad);
        if (record.type != type)
            continue;
        if (type == DNS_PTR && !found)
            get_name_at(&r, record.data, out->name, bad);
        else if (type != DNS_PTR)
            keep_addr(out, &r, &record, type == DNS_A ? 4 : 16);
        found = true;
    }
    if (found || !alias[0])
        return false;
    memcpy(name, alias, sizeof(alias));
    return true;
}

/* The head and the question that comes back: whose answer is it? */
static int get_head(struct reader *r, struct dns_answer *out, unsigned *count, uint16_t id,
                    const char *name, enum dns_type type)
{
    char asked[DNS_NAME_BYTES];
    const unsigned got_id = get16(r), flags = get16(r), questions = get16(r);

    *count = get16(r);
    skip(r, 4);
    if (r->bad || got_id != id || !(flags & FLAG_ANSWER) || (flags & OPCODE))
        return -EAGAIN;
    out->rcode = (enum dns_rcode)(flags & RCODE);
    out->truncated = flags & FLAG_TRUNCATED;
    if (questions == 0 && out->rcode != DNS_OK)
        return 0; /* some servers refuse without repeating */
    if (questions != 1)
        return -EPROTO;
    get_name(r, asked);
    if (get16(r) != type || get16(r) != CLASS_IN || r->bad || !same_name(asked, name))
        return -EAGAIN;
    return 0;
}

int dns_answer_parse(struct dns_answer *out, const uint8_t *message, size_t len, uint16_t id,
                     const char *name, enum dns_type type)
{
    struct reader r = {message, len, 0, false};
    char wanted[DNS_NAME_BYTES] = "";
    unsigned count;
    bool bad = false;

    *out = (struct dns_answer){0};
    const int err = get_head(&r, out, &count, id, name, type);

    if (err || out->rcode != DNS_OK || out->truncated)
        return err;
    memcpy(wanted, name, size_min(strlen(name), sizeof(wanted) - 1));
    for (unsigned hops = 0; scan(out, r, count, wanted, type, &bad); hops++) {
        if (hops == DNS_ALIASES_MAX)
            return -EPROTO;
    }
    if (type != DNS_PTR)
        memcpy(out->name, wanted, sizeof(wanted));
    return bad ? -EPROTO : 0;
}
