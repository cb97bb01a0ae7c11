/*
 * The image's options: one typed table (options.c), which parses, warns, and prints docs/options.md.
 *
 * Unknown key: one warning with the nearest known key, and on. Bad value: one error
 * with the key, the value and what is allowed; options_parse() returns -EINVAL and the image ends with
 * status 2. A key given twice: a warning, and the last one counts. Nothing is guessed.
 */
#ifndef LIB_OPTIONS_H
#define LIB_OPTIONS_H

#include "lib/types.h"

enum {
    OPT_NICS_MAX = 8,
    OPT_DNS_MAX = 2,
    OPT_HOSTNAME_MAX = 63,
    OPT_ARGV_MAX = 64,
    OPT_MMIO_MAX = 32
};

enum opt_ip_mode { OPT_IP_AUTO /* ip: dhcp; ip6: SLAAC */, OPT_IP_OFF, OPT_IP_STATIC };

struct opt_ip4 {
    enum opt_ip_mode mode;
    uint8_t addr[4]; /* network order; with OPT_IP_STATIC a host's address within its prefix */
    uint8_t prefix;  /* 1 … 32 */
};
struct opt_ip6 {
    enum opt_ip_mode mode;
    uint8_t addr[16];
    uint8_t prefix; /* 1 … 128 */
};
struct opt_addr {     /* either family */
    uint8_t family;   /* 0 = not given, 4, 6 */
    uint8_t addr[16]; /* the first 4, or all */
};

struct opt_nic {
    struct opt_ip4 ip;
    bool gw_set;
    uint8_t gw[4]; /* unicast; on the network of a static ip, unless its prefix is 32 */
    struct opt_ip6 ip6;
    uint16_t vlan; /* 1 … 4094; 0 = none */
    bool gw6_set;
    uint8_t gw6
        [16]; /* unicast; link-local, or on the network of a static ip6, unless its prefix is 128 */
};

/* A feature switch of vnet.<feature>: left alone, forced off, or asked for. */
enum opt_switch { OPT_DEFAULT, OPT_ON, OPT_OFF };
enum opt_rxbuf { OPT_RXBUF_AUTO, OPT_RXBUF_PAGE, OPT_RXBUF_MTU, OPT_RXBUF_SPLIT, OPT_RXBUF_BYTES };
enum opt_txirq { OPT_TXIRQ_LAZY, OPT_TXIRQ_EACH };
enum opt_kick { OPT_KICK_BATCH, OPT_KICK_EACH };
enum opt_poll { OPT_POLL_ADAPTIVE, OPT_POLL_IRQ, OPT_POLL_SPIN };

enum opt_feature {
    OPT_F_MRG,
    OPT_F_CSUM,
    OPT_F_GUEST_CSUM,
    OPT_F_TSO, /* transmit segmentation by the device: HOST_TSO4/6, HOST_ECN */
    OPT_F_LRO, /* received frames larger than the MTU: GUEST_TSO4/6, GUEST_ECN */
    OPT_F_EVENT_IDX,
    OPT_F_INDIRECT,
    OPT_F_PACKED,
    OPT_F_MQ,
    OPT_F_MTU,
    OPT_F_STATUS,
    OPT_F_SPEED,
    OPT_F_HDRLEN,
    OPT_F_CTRL,      /* the control queue, and with it everything below */
    OPT_F_CTRL_RX,   /* CTRL_RX, CTRL_RX_EXTRA */
    OPT_F_CTRL_VLAN, /* only with netN.vlan= */
    OPT_F_CTRL_MAC,  /* CTRL_MAC_ADDR */
    OPT_F_ANNOUNCE,  /* GUEST_ANNOUNCE */
    OPT_F_OFFLOADS,  /* CTRL_GUEST_OFFLOADS; only when asked for */
    OPT_F_NOTF_COAL, /* likewise */
    OPT_F_COUNT
};

struct opt_vnet {
    enum opt_switch feature[OPT_F_COUNT];
    enum opt_rxbuf rxbuf;
    uint32_t rxbuf_bytes; /* with OPT_RXBUF_BYTES: 64 … 65,536 */
    enum opt_txirq txirq;
    enum opt_kick kick;
    enum opt_poll poll;
};

/* A virtio-mmio device, as Linux words it: <size>@<base>:<irq>[:<id>]; the id is ignored. */
struct opt_mmio {
    uint64_t size, base; /* bytes; base is aligned to 4 and base + size doesn't wrap */
    uint32_t irq;
};

struct options {
    struct opt_nic nic[OPT_NICS_MAX];
    struct opt_addr dns[OPT_DNS_MAX];
    char hostname[OPT_HOSTNAME_MAX + 1];
    uint8_t log_level; /* enum log_level */
    struct opt_vnet vnet;
    struct opt_mmio mmio[OPT_MMIO_MAX];
    size_t mmio_count;
    int argc;                     /* program's own words, argv[0] = "ringlet" first */
    char *argv[OPT_ARGV_MAX + 2]; /* point into the parsed text; NULL-terminated */
};

/* What holds when nothing is given; argv is "ringlet" alone. */
void options_defaults(struct options *opt);

/*
 * Parse one command line into what options_defaults() left. `text` is changed (words are cut with NUL) and
 * must live as long as opt (argv points into it). Words are separated by blanks; "…" and '…' group, so that
 * a program's argument may hold blanks. After the word -- everything is the program's. A first word whose key
 * is not known is a loader's image path and skipped, if it holds no '=' or has a '/' in front of it.
 *
 * Returns 0; -EINVAL after logging every bad value; -E2BIG, logged, for more than OPT_ARGV_MAX program words.
 */
int options_parse(struct options *opt, char *text);

/*
 * Pick the virtio_mmio.device= words out of a command line that isn't ours, as a hypervisor leaves it; the rest, and words
 * that make no sense, are passed over. They are added to opt->mmio. `text` is changed.
 */
void options_pick_mmio(struct options *opt, char *text);

/* Print the table as Markdown through `put`, piece by piece (docs/options.md). */
void options_markdown(void (*put)(void *arg, const char *text), void *arg);

#endif
