#include "lib/options.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "lib/check.h"
#include "lib/cmdline.h"
#include "lib/ip_text.h"
#include "lib/log.h"
#include "lib/options_value.h"

enum kind {
    KIND_IP4,
    KIND_GW4,
    KIND_IP6,
    KIND_GW6,
    KIND_DNS,
    KIND_HOSTNAME,
    KIND_CHOICE,
    KIND_VLAN,
    KIND_RXBUF,
    KIND_MMIO
};
enum group { GROUP_NETWORK, GROUP_IMAGE, GROUP_VNET };

struct choice {
    const char *word;
    uint8_t value;
};

/* One option. Parsing, defaults, error messages and the manual all come from here. */
struct option_row {
    const char *key;
    enum kind kind;
    enum group group;
    bool repeats;                 /* may be given several times, and each counts */
    bool per_nic;                 /* may be written netN.key; offset is in struct opt_nic */
    uint16_t offset;              /* of the member, in struct options or struct opt_nic */
    uint16_t width;               /* bytes of the member, for KIND_CHOICE */
    const struct choice *choices; /* for KIND_CHOICE; ends with a NULL word */
    const char *allowed;          /* what may be given, for people */
    const char *initial;          /* default, as it would be typed; NULL: the member stays zero */
    const char *otherwise;        /* default, for people, where `initial` doesn't say it */
    const char *help;
};

static const struct choice log_choices[] = {
    {"error", LOG_ERROR}, {"warn", LOG_WARN}, {"info", LOG_INFO}, {"debug", LOG_DEBUG}, {NULL, 0}};
static const struct choice switch_choices[] = {{"on", OPT_ON}, {"off", OPT_OFF}, {NULL, 0}};
static const struct choice txirq_choices[] = {
    {"lazy", OPT_TXIRQ_LAZY}, {"each", OPT_TXIRQ_EACH}, {NULL, 0}};
static const struct choice kick_choices[] = {
    {"batch", OPT_KICK_BATCH}, {"each", OPT_KICK_EACH}, {NULL, 0}};
static const struct choice poll_choices[] = {
    {"adaptive", OPT_POLL_ADAPTIVE}, {"irq", OPT_POLL_IRQ}, {"spin", OPT_POLL_SPIN}, {NULL, 0}};

#define IN_NIC(member) .per_nic = true, .offset = offsetof(struct opt_nic, member)
#define IN_OPTIONS(member)                                                                         \
    .offset = offsetof(struct options, member), .width = sizeof(((struct options *)NULL)->member)
#define FEATURE(name, id, by_default, text)                                                        \
    {                                                                                              \
        .key = "vnet." name, .kind = KIND_CHOICE, .group = GROUP_VNET,                             \
        IN_OPTIONS(vnet.feature[id]), .choices = switch_choices, .allowed = "on, off",             \
        .otherwise = by_default, .help = text                                                      \
    }

static const struct option_row rows[] = {
    {.key = "ip",
     .kind = KIND_IP4,
     .group = GROUP_NETWORK,
     IN_NIC(ip),
     .allowed = "dhcp, off, or ADDRESS/PREFIX such as 192.0.2.2/24",
     .initial = "dhcp",
     .help = "IPv4 address. The prefix is 1 to 32; with 30 or less, the network's own address and "
             "its broadcast address are refused."},
    {.key = "gw",
     .kind = KIND_GW4,
     .group = GROUP_NETWORK,
     IN_NIC(gw),
     .allowed = "an IPv4 address such as 192.0.2.1",
     .otherwise = "from DHCP, else none",
     .help =
         "IPv4 gateway. With a static address it must be on that network, unless the prefix is 32. "
         "With `ip=dhcp` it replaces the one DHCP names."},
    {.key = "ip6",
     .kind = KIND_IP6,
     .group = GROUP_NETWORK,
     IN_NIC(ip6),
     .allowed = "auto, off, or ADDRESS/PREFIX such as fd00::2/64",
     .initial = "auto",
     .help = "IPv6: link-local and SLAAC, none, or static (besides link-local). The prefix is 1 to "
             "128."},
    {.key = "gw6",
     .kind = KIND_GW6,
     .group = GROUP_NETWORK,
     IN_NIC(gw6),
     .allowed = "an IPv6 address such as fd00::1",
     .otherwise = "from router advertisements, else none",
     .help =
         "IPv6 gateway. With a static address it must be link-local or on that network, unless the "
         "prefix is 128."},
    {.key = "vlan",
     .kind = KIND_VLAN,
     .group = GROUP_NETWORK,
     IN_NIC(vlan),
     .allowed = "off, or 1 to 4094",
     .initial = "off",
     .help = "The VLAN (IEEE 802.1Q) that this NIC's interface is in: what it sends is tagged, and "
             "only frames with this tag are taken. When off, frames with a tag are not taken, but "
             "for those that only have a priority."},
    {.key = "dns",
     .kind = KIND_DNS,
     .group = GROUP_NETWORK,
     IN_OPTIONS(dns),
     .allowed = "one or two addresses, IPv4 or IPv6, as A or A,B",
     .otherwise = "from DHCP and router advertisements",
     .help = "Resolvers, in order of preference."},
    {.key = "hostname",
     .kind = KIND_HOSTNAME,
     .group = GROUP_NETWORK,
     IN_OPTIONS(hostname),
     .allowed = "letters, digits, '-' and '.', 63 at most (RFC 1123)",
     .initial = "ringlet",
     .help = "Sent with DHCP."},
    {.key = "log",
     .kind = KIND_CHOICE,
     .group = GROUP_IMAGE,
     IN_OPTIONS(log_level),
     .choices = log_choices,
     .allowed = "error, warn, info, debug",
     .initial = "info",
     .help = "How much is written to the console."},
    {.key = "virtio_mmio.device",
     .kind = KIND_MMIO,
     .group = GROUP_IMAGE,
     .repeats = true,
     .allowed = "SIZE@BASE:IRQ[:ID] such as 512@0xfeb00000:5, up to 32 times",
     .otherwise = "from ACPI",
     .help = "Where a virtio-mmio device is, in Linux's words: as hypervisors write it that have "
             "no ACPI. It may be "
             "given several times; an empty place is skipped."},
    FEATURE("mrg", OPT_F_MRG, "on", "MRG_RXBUF: a large frame may fill several receive buffers."),
    FEATURE("csum", OPT_F_CSUM, "on", "CSUM: the device completes checksums of what is sent."),
    FEATURE(
        "guest_csum", OPT_F_GUEST_CSUM, "on",
        "GUEST_CSUM: received frames may come with their checksum left out or already checked."),
    FEATURE("tso", OPT_F_TSO, "on",
            "HOST_TSO4, HOST_TSO6, HOST_ECN: the device cuts large TCP frames. Needs csum. "
            "Negotiated, but not used yet."),
    FEATURE("lro", OPT_F_LRO, "on",
            "GUEST_TSO4, GUEST_TSO6, GUEST_ECN: received TCP frames may be up to 64 KiB. Needs "
            "guest_csum."),
    FEATURE("event_idx", OPT_F_EVENT_IDX, "on",
            "EVENT_IDX: each side says from which buffer on it wants to be told."),
    FEATURE("indirect", OPT_F_INDIRECT, "on",
            "INDIRECT_DESC: a frame of many pieces takes one slot of the ring."),
    FEATURE("packed", OPT_F_PACKED, "off",
            "RING_PACKED: the packed ring instead of the split one. indirect has no effect then."),
    FEATURE(
        "mq", OPT_F_MQ, "off",
        "MQ: several pairs of queues. There is one processor to serve them, so one pair is used, "
        "and `on` only tells the device so. Needs ctrl."),
    FEATURE("mtu", OPT_F_MTU, "on", "MTU: take the MTU that the device advises."),
    FEATURE("status", OPT_F_STATUS, "on", "STATUS: watch the state of the link."),
    FEATURE("speed", OPT_F_SPEED, "on", "SPEED_DUPLEX: show the speed of the link."),
    FEATURE("hdrlen", OPT_F_HDRLEN, "on",
            "GUEST_HDRLEN: the device may rely on the length of headers that it is told."),
    FEATURE("ctrl", OPT_F_CTRL, "on",
            "CTRL_VQ: the control queue. Everything below, and mq, needs it."),
    FEATURE("ctrl_rx", OPT_F_CTRL_RX, "on",
            "CTRL_RX, CTRL_RX_EXTRA: the device delivers only frames that are wanted. Without, "
            "the image drops the others itself."),
    FEATURE("ctrl_vlan", OPT_F_CTRL_VLAN, "on",
            "CTRL_VLAN: likewise for VLANs. Only for a NIC with `netN.vlan`."),
    FEATURE("ctrl_mac", OPT_F_CTRL_MAC, "on",
            "CTRL_MAC_ADDR: the device is told the NIC's address, when it gave none."),
    FEATURE("announce", OPT_F_ANNOUNCE, "on",
            "GUEST_ANNOUNCE: after a migration the image makes itself known to the network."),
    FEATURE(
        "guest_offloads", OPT_F_OFFLOADS, "off",
        "CTRL_GUEST_OFFLOADS: say once more by control queue what was negotiated for receiving."),
    FEATURE("notf_coal", OPT_F_NOTF_COAL, "off",
            "NOTF_COAL: ask the device to put interrupts off for some microseconds."),
    {.key = "vnet.rxbuf",
     .kind = KIND_RXBUF,
     .group = GROUP_VNET,
     IN_OPTIONS(vnet),
     .allowed = "auto, page, mtu, split, or 64 to 65536 bytes",
     .initial = "auto",
     .help = "Size of receive buffers: by a moving average of frame lengths; a whole page; header "
             "+ MTU "
             "frame; MTU frame without room for the header (the old fault, kept for measuring); so "
             "many "
             "bytes."},
    {.key = "vnet.txirq",
     .kind = KIND_CHOICE,
     .group = GROUP_VNET,
     IN_OPTIONS(vnet.txirq),
     .choices = txirq_choices,
     .allowed = "lazy, each",
     .initial = "lazy",
     .help = "Transmit completions: taken when there is reason to, or with an interrupt for each."},
    {.key = "vnet.kick",
     .kind = KIND_CHOICE,
     .group = GROUP_VNET,
     IN_OPTIONS(vnet.kick),
     .choices = kick_choices,
     .allowed = "batch, each",
     .initial = "batch",
     .help = "Tell the device about new frames once a turn of the loop, or after each frame."},
    {.key = "vnet.poll",
     .kind = KIND_CHOICE,
     .group = GROUP_VNET,
     IN_OPTIONS(vnet.poll),
     .choices = poll_choices,
     .allowed = "adaptive, irq, spin",
     .initial = "adaptive",
     .help = "Poll while there is work and sleep when idle; wait for an interrupt after each turn; "
             "never "
             "sleep."},
};

enum { ROW_COUNT = ARRAY_COUNT(rows) };
static_assert(ROW_COUNT <= 64, "struct parse keeps a bit for each");

/* A key as found in the table. */
struct found {
    const struct option_row *row;
    unsigned nic; /* 0 for a bare key */
};

struct parse {
    struct options *opt;
    uint64_t given[OPT_NICS_MAX]; /* bit n: rows[n] was given for this NIC */
    int err;
};

/* A word as the log shows it: a long one is cut and marked, so that what follows keeps its place. */
struct shown {
    char text[64];
};

static struct shown show(const char *word)
{
    enum { KEEP = 56 };
    struct shown s;
    size_t len = strlen(word);
    const bool cut = len > KEEP;
    if (cut)
        for (len = KEEP; len > 0 && ((uint8_t)word[len] & 0xc0) == 0x80;)
            len--;
    memcpy(s.text, word, len);
    memcpy(s.text + len, cut ? "…" : "", cut ? sizeof("…") : 1);
    return s;
}

/* "netN." in front of a key: how long that is, and which N. 0 when there is none. */
static size_t nic_prefix(const char *key, unsigned *nic)
{
    if (strncmp(key, "net", 3) != 0)
        return 0;
    const size_t digits = strspn(key + 3, "0123456789");
    if (digits == 0 || key[3 + digits] != '.')
        return 0;
    *nic = digits == 1 ? (unsigned)(key[3] - '0') : OPT_NICS_MAX;
    return digits + 4;
}

static bool find_key(const char *key, struct found *out)
{
    unsigned nic = 0;
    const size_t skip = nic_prefix(key, &nic);
    if (nic >= OPT_NICS_MAX)
        return false;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (strcmp(rows[i].key, key + skip) == 0 && (skip == 0 || rows[i].per_nic)) {
            *out = (struct found){&rows[i], nic};
            return true;
        }
    }
    return false;
}

static const char *parse_choice(const struct option_row *row, void *member, const char *text)
{
    for (const struct choice *c = row->choices; c->word; c++) {
        if (strcmp(c->word, text) != 0)
            continue;
        const uint32_t value = c->value; /* little-endian: lib/types.h */
        memcpy(member, &value, row->width);
        return NULL;
    }
    return "not one of the choices";
}

/* Give the option its value. Returns NULL, or why not. */
static const char *store(struct options *opt, struct found at, const char *text)
{
    struct opt_nic *nic = &opt->nic[at.nic];
    void *member = (char *)(at.row->per_nic ? (void *)nic : (void *)opt) + at.row->offset;
    const char *why = NULL;
    switch (at.row->kind) {
    case KIND_IP4:
        return opt_value_ip4(member, text);
    case KIND_IP6:
        return opt_value_ip6(member, text);
    case KIND_GW4:
        why = opt_value_gw4(member, text);
        nic->gw_set |= !why;
        return why;
    case KIND_GW6:
        why = opt_value_gw6(member, text);
        nic->gw6_set |= !why;
        return why;
    case KIND_DNS:
        return opt_value_dns(member, text);
    case KIND_HOSTNAME:
        return opt_value_hostname(member, text);
    case KIND_VLAN:
        return opt_value_vlan(member, text);
    case KIND_RXBUF:
        return opt_value_rxbuf(member, text);
    case KIND_MMIO:
        if (opt->mmio_count == OPT_MMIO_MAX)
            return "one too many";
        why = opt_value_mmio(&opt->mmio[opt->mmio_count], text);
        opt->mmio_count += !why;
        return why;
    case KIND_CHOICE:
        break;
    }
    return parse_choice(at.row, member, text);
}

void options_defaults(struct options *opt)
{
    static char name[] = "ringlet";
    *opt = (struct options){.argc = 1, .argv = {name}};
    for (size_t i = 0; i < ROW_COUNT; i++) {
        if (!rows[i].initial)
            continue;
        const unsigned nic_count = rows[i].per_nic ? OPT_NICS_MAX : 1;
        for (unsigned nic = 0; nic < nic_count; nic++) {
            const char *why = store(opt, (struct found){&rows[i], nic}, rows[i].initial);
            ASSERT(!why);
        }
    }
}

static void bad_value(struct parse *p, const char *key, const char *value, const char *why,
                      const struct option_row *row)
{
    log_error("options", "%s=%s: %s; allowed: %s", show(key).text, show(value).text, why,
              row->allowed);
    p->err = -EINVAL;
}

/* The known key nearest to this, whole or without its "vnet."; NULL when none is near. */
static const struct option_row *nearest_to(const char *key)
{
    const struct option_row *best = NULL;
    size_t best_distance = SIZE_MAX;
    for (size_t i = 0; i < ROW_COUNT; i++) {
        const char *dot = strchr(rows[i].key, '.');
        const size_t whole = cmdline_near(key, rows[i].key);
        const size_t end = dot ? cmdline_near(key, dot + 1) : SIZE_MAX;
        if (size_min(whole, end) < best_distance) {
            best_distance = size_min(whole, end);
            best = &rows[i];
        }
    }
    return best;
}

/* "net.ip" and "eth0.ip" are near "ip", too. */
static const struct option_row *nearest(const char *key)
{
    const struct option_row *row = nearest_to(key);
    const char *dot = strrchr(key, '.');
    return row || !dot ? row : nearest_to(dot + 1);
}

static void unknown_key(const char *key)
{
    unsigned nic = 0;
    const size_t skip = nic_prefix(key, &nic);
    const struct option_row *near = nearest(key + skip);
    if (!near)
        log_warn("options", "unknown option %s ignored; docs/options.md lists what there is",
                 show(key).text);
    else if (skip && near->per_nic)
        log_warn("options", "unknown option %s ignored; did you mean net%u.%s?", show(key).text,
                 nic < OPT_NICS_MAX ? nic : OPT_NICS_MAX - 1, near->key);
    else
        log_warn("options", "unknown option %s ignored; did you mean %s?", show(key).text,
                 near->key);
}

static void parse_word(struct parse *p, char *word)
{
    char *value = strchr(word, '=');
    if (value)
        *value++ = '\0';
    struct found at;
    if (!find_key(word, &at)) {
        unknown_key(word);
        return;
    }
    const uint64_t bit = 1ULL << (at.row - rows);
    if ((p->given[at.nic] & bit) && !at.row->repeats)
        log_warn("options", "%s given twice; the last one counts", word);
    p->given[at.nic] |= bit;

    const char *why = value ? store(p->opt, at, value) : "has no value";
    if (why)
        bad_value(p, word, value ? value : "", why, at.row);
}

/* Is the first word what the loader puts there: the image's own path? */
static bool is_image_path(const char *word)
{
    const size_t key_len = strcspn(word, "=");
    struct found at;
    if (word[key_len] == '\0')
        return strcmp(word, "--") != 0 && !find_key(word, &at);
    return memchr(word, '/', key_len) != NULL;
}

/* What is left after "--" becomes the program's. */
static void take_arguments(struct parse *p, char *text)
{
    struct options *opt = p->opt;
    for (char *word; (word = cmdline_word(&text));) {
        if (opt->argc > OPT_ARGV_MAX) {
            log_error("options", "more than %d words after --", OPT_ARGV_MAX);
            p->err = -E2BIG;
            return;
        }
        opt->argv[opt->argc++] = word;
        opt->argv[opt->argc] = NULL;
    }
}

static void bad_gateway(struct parse *p, unsigned nic_idx, const char *name, const char *value,
                        const char *why)
{
    char key[16];
    struct found at;
    snprintf(key, sizeof(key), "net%u.%s", nic_idx, name);
    find_key(key, &at);
    bad_value(p, nic_idx ? key : name, value, why, at.row);
}

/* Values that are fine alone, but not together: looked at when all are known, in whatever order they came. */
static void check_gateways(struct parse *p, unsigned nic_idx)
{
    const struct opt_nic *nic = &p->opt->nic[nic_idx];
    char value[IP6_TEXT_BYTES];
    const char *why = opt_check_gw4(nic);
    if (why) {
        ip4_format(value, nic->gw);
        bad_gateway(p, nic_idx, "gw", value, why);
    }
    why = opt_check_gw6(nic);
    if (why) {
        ip6_format(value, nic->gw6);
        bad_gateway(p, nic_idx, "gw6", value, why);
    }
}

int options_parse(struct options *opt, char *text)
{
    struct parse p = {.opt = opt};
    bool first = true;
    for (char *word; (word = cmdline_word(&text)); first = false) {
        if (strcmp(word, "--") == 0) {
            take_arguments(&p, text);
            break;
        }
        if (!(first && is_image_path(word)))
            parse_word(&p, word);
    }
    for (unsigned nic = 0; nic < OPT_NICS_MAX; nic++)
        check_gateways(&p, nic);
    return p.err;
}

void options_pick_mmio(struct options *opt, char *text)
{
    static const char key[] = "virtio_mmio.device=";
    for (char *word; (word = cmdline_word(&text));) {
        if (strncmp(word, key, sizeof(key) - 1) == 0 && opt->mmio_count < OPT_MMIO_MAX)
            opt->mmio_count += !opt_value_mmio(&opt->mmio[opt->mmio_count], word + sizeof(key) - 1);
    }
}

struct printer {
    void (*put)(void *arg, const char *text);
    void *arg;
};

static void print(const struct printer *p, const char *const *texts)
{
    for (; *texts; texts++)
        p->put(p->arg, *texts);
}
#define PRINT(p, ...) print(p, (const char *const[]){__VA_ARGS__, NULL})

static void print_row(const struct printer *p, const struct option_row *row)
{
    PRINT(p, "| `", row->key, "` | ", row->allowed, " | ");
    if (row->initial)
        PRINT(p, "`", row->initial, "`");
    else
        PRINT(p, row->otherwise);
    PRINT(p, " | ", row->help, " |\n");
}

static void print_group(const struct printer *p, enum group group)
{
    PRINT(p, "\n| key | allowed | default | meaning |\n| --- | --- | --- | --- |\n");
    for (size_t i = 0; i < ROW_COUNT; i++)
        if (rows[i].group == group)
            print_row(p, &rows[i]);
}

void options_markdown(void (*put)(void *arg, const char *text), void *arg)
{
    const struct printer p = {put, arg};
    PRINT(&p, "<!-- Made from the table in lib/options.c by `make docs`. Change it there. -->\n"
              "# Options\n\n"
              "An image reads its options from the loader's command line: QEMU's `-append`, or "
              "what follows "
              "the file name in GRUB. Words are separated by blanks and have the form `key=value`; "
              "`\"…\"` and "
              "`'…'` keep blanks inside a word. After a word `--` everything is the program's "
              "`argv[1…]`. The "
              "image's own path, which loaders put first, is skipped.\n\n"
              "An unknown key is answered with one warning line that names the nearest known key, "
              "and the "
              "image goes on. A bad value is answered with one error line that names the key, the "
              "value and "
              "what is allowed; then the image ends with status 2. When a key is given twice, the "
              "last one "
              "counts, with a warning.\n\n"
              "## Network\n\n"
              "`ip`, `gw`, `ip6` and `gw6` speak of the first NIC. `net0.ip` is the same as `ip`; "
              "`net1.ip` to "
              "`net7.ip`, and so on, speak of the others, in the order in which they are found.\n");
    print_group(&p, GROUP_NETWORK);
    PRINT(&p, "\n## The image\n");
    print_group(&p, GROUP_IMAGE);
    PRINT(
        &p,
        "\n## virtio-net\n\n"
        "For all NICs. They are there to measure one technique at a time: the defaults are what is "
        "best. A feature switched `off` is never negotiated; `on` asks for it, which helps "
        "only when the device offers it.\n");
    print_group(&p, GROUP_VNET);
}
