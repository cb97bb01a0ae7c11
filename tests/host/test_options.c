/* lib/options.c and lib/options_value.c: what is taken, what is refused, and what is said about it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/log.h"
#include "lib/options.h"

static struct options opt;
static char text[8192]; /* the line; argv points into it */
static char logged[65536];
static unsigned errors, warnings;

static void keep(const char *line, size_t len)
{
    const size_t used = strlen(logged);
    assert_true(used + len < sizeof(logged));
    memcpy(logged + used, line, len);
    logged[used + len] = '\0';
    errors += memmem(line, len, "] error options: ", 17) != NULL;
    warnings += memmem(line, len, "] warn options: ", 16) != NULL;
}

static int parse(const char *line)
{
    assert_true(strlen(line) < sizeof(text));
    strcpy(text, line);
    logged[0] = '\0';
    errors = warnings = 0;
    log_set_sink(keep);
    options_defaults(&opt);
    return options_parse(&opt, text);
}

static bool said(const char *what)
{
    return strstr(logged, what) != NULL;
}

static void parses_quietly(const char *line)
{
    if (parse(line) != 0 || errors + warnings > 0)
        fail_msg("\"%s\" gives: %s", line, logged);
}

/* A bad value: exactly one error line, with key, value and what is allowed. */
static void is_refused(const char *line)
{
    if (parse(line) != -EINVAL || errors != 1 || warnings != 0)
        fail_msg("\"%s\" gives: %s", line, logged);
    assert_true(said(line));
    assert_true(said("; allowed: "));
}

/* ---- defaults ---- */

static void defaults_are_those_of_the_contract(void **state)
{
    static const uint8_t none[16];

    (void)state;
    parses_quietly("");
    for (size_t i = 0; i < OPT_NICS_MAX; i++) {
        const struct opt_nic *nic = &opt.nic[i];
        assert_int_equal(nic->ip.mode, OPT_IP_AUTO);
        assert_int_equal(nic->ip6.mode, OPT_IP_AUTO);
        assert_false(nic->gw_set || nic->gw6_set);
    }
    assert_int_equal(opt.dns[0].family + opt.dns[1].family, 0);
    assert_memory_equal(opt.dns[0].addr, none, 16);
    assert_string_equal(opt.hostname, "ringlet");
    assert_int_equal(opt.log_level, LOG_INFO);
    for (size_t i = 0; i < OPT_F_COUNT; i++)
        assert_int_equal(opt.vnet.feature[i], OPT_DEFAULT);
    assert_int_equal(opt.vnet.rxbuf, OPT_RXBUF_AUTO);
    assert_int_equal(opt.vnet.txirq, OPT_TXIRQ_LAZY);
    assert_int_equal(opt.vnet.kick, OPT_KICK_BATCH);
    assert_int_equal(opt.vnet.poll, OPT_POLL_ADAPTIVE);
    assert_int_equal(opt.argc, 1);
    assert_string_equal(opt.argv[0], "ringlet");
    assert_null(opt.argv[1]);
}

/* ---- addresses ---- */

static void ip_takes_dhcp_off_and_a_host_address(void **state)
{
    (void)state;
    parses_quietly("ip=dhcp");
    assert_int_equal(opt.nic[0].ip.mode, OPT_IP_AUTO);
    parses_quietly("ip=off");
    assert_int_equal(opt.nic[0].ip.mode, OPT_IP_OFF);
    parses_quietly("ip=192.0.2.2/24");
    assert_int_equal(opt.nic[0].ip.mode, OPT_IP_STATIC);
    assert_int_equal(opt.nic[0].ip.prefix, 24);
    assert_memory_equal(opt.nic[0].ip.addr, ((uint8_t[]){192, 0, 2, 2}), 4);
    assert_int_equal(opt.nic[1].ip.mode, OPT_IP_AUTO);
}

static void ip_refuses_what_is_no_host_on_a_network(void **state)
{
    static const char *const bad[] = {"ip=192.0.2.2",    "ip=",
                                      "ip=DHCP",         "ip=auto",
                                      "ip=192.0.2/24",   "ip=192.0.2.2/",
                                      "ip=192.0.2.2/33", "ip=192.0.2.2/0",
                                      "ip=0.0.0.0/0",    "ip=0.1.2.3/8",
                                      "ip=127.0.0.1/8",  "ip=224.0.0.1/24",
                                      "ip=239.1.2.3/8",  "ip=255.255.255.255/32",
                                      "ip=192.0.2.0/24", "ip=192.0.2.255/24",
                                      "ip=10.0.0.0/8",   "ip=10.255.255.255/8",
                                      "ip=192.0.2.4/30", "ip=192.0.2.7/30",
                                      "ip=fd00::2/64",   "ip=192.0.2.2/24,192.0.2.3/24"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        is_refused(bad[i]);
        assert_int_equal(opt.nic[0].ip.mode, OPT_IP_AUTO);
    }
    parse("ip=192.0.2.2");
    assert_true(
        said("ip=192.0.2.2: the /PREFIX is missing; allowed: dhcp, off, or ADDRESS/PREFIX"));
}

static void prefixes_31_and_32_have_no_network_address(void **state)
{
    (void)state;
    parses_quietly("ip=192.0.2.4/31");
    parses_quietly("ip=192.0.2.5/31");
    parses_quietly("ip=192.0.2.4/32");
    parses_quietly("ip=192.0.2.5/30");
    parses_quietly("ip=10.0.0.1/1");
}

static void ip6_takes_auto_off_and_a_host_address(void **state)
{
    static const uint8_t addr[16] = {0xfd, [15] = 2};

    (void)state;
    parses_quietly("ip6=auto");
    assert_int_equal(opt.nic[0].ip6.mode, OPT_IP_AUTO);
    parses_quietly("ip6=off");
    assert_int_equal(opt.nic[0].ip6.mode, OPT_IP_OFF);
    parses_quietly("ip6=fd00::2/64");
    assert_int_equal(opt.nic[0].ip6.mode, OPT_IP_STATIC);
    assert_int_equal(opt.nic[0].ip6.prefix, 64);
    assert_memory_equal(opt.nic[0].ip6.addr, addr, 16);
    parses_quietly("ip6=fe80::2/64");
    parses_quietly("ip6=2001:db8::/127");
    parses_quietly("ip6=2001:db8::/128");
}

static void ip6_refuses_what_is_no_host_on_a_network(void **state)
{
    static const char *const bad[] = {"ip6=fd00::2",
                                      "ip6=",
                                      "ip6=dhcp",
                                      "ip6=fd00::2/0",
                                      "ip6=fd00::2/129",
                                      "ip6=::/64",
                                      "ip6=::1/128",
                                      "ip6=ff02::1/64",
                                      "ip6=fd00::/64",
                                      "ip6=fd00::4/126",
                                      "ip6=::ffff:1.2.3.4/96",
                                      "ip6=::1.2.3.4/96",
                                      "ip6=fd00:2/64",
                                      "ip6=10.0.0.2/24"};

    (void)state;
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        is_refused(bad[i]);
}

static void gateways_are_hosts_on_the_static_network(void **state)
{
    (void)state;
    parses_quietly("gw=10.0.0.1"); /* replaces DHCP's: any network */
    assert_true(opt.nic[0].gw_set);
    assert_memory_equal(opt.nic[0].gw, ((uint8_t[]){10, 0, 0, 1}), 4);
    parses_quietly("gw=192.0.2.1 ip=192.0.2.2/24"); /* in any order */
    parses_quietly("ip=192.0.2.2/32 gw=10.0.0.1");
    parses_quietly("ip=192.0.2.2/31 gw=192.0.2.3");
    parses_quietly("ip=off gw=10.0.0.1");
    is_refused("gw=10.0.0.1/8");
    is_refused("gw=224.0.0.1");
    is_refused("gw=0.0.0.0");
    is_refused("gw=");
    assert_false(opt.nic[0].gw_set);

    static const char *const bad[] = {"192.0.3.1", "192.0.2.2", "192.0.2.0", "192.0.2.255"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        char line[64], expected[32];
        snprintf(line, sizeof(line), "gw=%s ip=192.0.2.2/24", bad[i]);
        snprintf(expected, sizeof(expected), "gw=%s: ", bad[i]);
        assert_int_equal(parse(line), -EINVAL);
        assert_int_equal(errors, 1);
        assert_true(said(expected));
    }
    assert_int_equal(parse("ip=192.0.2.2/31 gw=192.0.2.4"), -EINVAL);
}

static void ipv6_gateways_are_link_local_or_on_the_static_network(void **state)
{
    (void)state;
    parses_quietly("gw6=fd00::1");
    assert_true(opt.nic[0].gw6_set);
    parses_quietly("ip6=fd00::2/64 gw6=fd00::1");
    parses_quietly("ip6=fd00::2/64 gw6=fe80::1");
    parses_quietly("ip6=fd00::2/128 gw6=2001:db8::1");
    is_refused("gw6=ff02::2");
    is_refused("gw6=::");
    is_refused("gw6=10.0.0.1");
    assert_int_equal(parse("ip6=fd00::2/64 gw6=fd00:0:0:1::1"), -EINVAL);
    assert_true(said("gw6=fd00:0:0:1::1: neither link-local nor on the network"));
    assert_int_equal(parse("ip6=fd00::2/64 gw6=fd00::2"), -EINVAL);
    assert_int_equal(parse("ip6=fd00::2/63 gw6=fd00:0:0:1::1"), 0);
}

static void each_nic_has_its_own_and_net0_is_the_bare_one(void **state)
{
    (void)state;
    parses_quietly(
        "net0.ip=off net1.ip=192.0.2.2/24 net1.gw=192.0.2.1 net7.ip6=fd00::7/64 ip6=off");
    assert_int_equal(opt.nic[0].ip.mode, OPT_IP_OFF);
    assert_int_equal(opt.nic[0].ip6.mode, OPT_IP_OFF);
    assert_int_equal(opt.nic[1].ip.mode, OPT_IP_STATIC);
    assert_true(opt.nic[1].gw_set && !opt.nic[0].gw_set);
    assert_int_equal(opt.nic[7].ip6.addr[15], 7);

    assert_int_equal(parse("net1.ip=192.0.2.2/24 net1.gw=10.0.0.1"), -EINVAL);
    assert_true(said("net1.gw=10.0.0.1: not on the network"));
}

static void dns_takes_one_or_two_of_either_family(void **state)
{
    (void)state;
    parses_quietly("dns=192.0.2.53");
    assert_int_equal(opt.dns[0].family, 4);
    assert_int_equal(opt.dns[0].addr[3], 53);
    assert_int_equal(opt.dns[1].family, 0);
    parses_quietly("dns=fd00::53,192.0.2.53");
    assert_int_equal(opt.dns[0].family, 6);
    assert_int_equal(opt.dns[0].addr[15], 0x53);
    assert_int_equal(opt.dns[1].family, 4);

    static const char *const bad[] = {"dns=",
                                      "dns=,",
                                      "dns=1.2.3.4,",
                                      "dns=,1.2.3.4",
                                      "dns=1.2.3.4,5.6.7.8,9.1.2.3",
                                      "dns=127.0.0.1",
                                      "dns=::",
                                      "dns=ff02::1",
                                      "dns=example.org",
                                      "dns=1.2.3.4;5.6.7.8",
                                      "dns=aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        is_refused(bad[i]);
}

/* ---- the rest of the table ---- */

static void hostnames_follow_rfc_1123(void **state)
{
    static const char *const good[] = {
        "a",     "3com",
        "web-1", "host.example.org",
        "A--b",  "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"};
    static const char *const bad[] = {"hostname=",     "hostname=-a",   "hostname=a-",
                                      "hostname=.a",   "hostname=a.",   "hostname=a..b",
                                      "hostname=a.-b", "hostname=a-.b", "hostname=a_b",
                                      "hostname=é",    "hostname=-"};
    char line[128];

    (void)state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        snprintf(line, sizeof(line), "hostname=%s", good[i]);
        parses_quietly(line);
        assert_string_equal(opt.hostname, good[i]);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        is_refused(bad[i]);
        assert_string_equal(opt.hostname, "ringlet");
    }
    snprintf(line, sizeof(line), "hostname=%s",
             "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa");
    assert_int_equal(parse(line), -EINVAL); /* 64 */
}

static void every_choice_reaches_its_member(void **state)
{
    (void)state;
    parses_quietly("log=debug vnet.txirq=each vnet.kick=each vnet.poll=spin");
    assert_int_equal(opt.log_level, LOG_DEBUG);
    assert_int_equal(opt.vnet.txirq, OPT_TXIRQ_EACH);
    assert_int_equal(opt.vnet.kick, OPT_KICK_EACH);
    assert_int_equal(opt.vnet.poll, OPT_POLL_SPIN);
    parses_quietly("log=error vnet.txirq=lazy vnet.kick=batch vnet.poll=irq");
    assert_int_equal(opt.log_level, LOG_ERROR);
    assert_int_equal(opt.vnet.poll, OPT_POLL_IRQ);
    parses_quietly("log=warn vnet.poll=adaptive");
    assert_int_equal(opt.log_level, LOG_WARN);
    is_refused("log=verbose");
    is_refused("log=3");
    is_refused("vnet.poll=Spin");
    is_refused("vnet.kick=never");
}

static void every_feature_can_be_switched(void **state)
{
    static const char *const names[OPT_F_COUNT] = {[OPT_F_MRG] = "mrg",
                                                   [OPT_F_CSUM] = "csum",
                                                   [OPT_F_GUEST_CSUM] = "guest_csum",
                                                   [OPT_F_TSO] = "tso",
                                                   [OPT_F_LRO] = "lro",
                                                   [OPT_F_EVENT_IDX] = "event_idx",
                                                   [OPT_F_INDIRECT] = "indirect",
                                                   [OPT_F_PACKED] = "packed",
                                                   [OPT_F_MQ] = "mq",
                                                   [OPT_F_MTU] = "mtu",
                                                   [OPT_F_STATUS] = "status",
                                                   [OPT_F_SPEED] = "speed",
                                                   [OPT_F_HDRLEN] = "hdrlen",
                                                   [OPT_F_CTRL] = "ctrl",
                                                   [OPT_F_CTRL_RX] = "ctrl_rx",
                                                   [OPT_F_CTRL_VLAN] = "ctrl_vlan",
                                                   [OPT_F_CTRL_MAC] = "ctrl_mac",
                                                   [OPT_F_ANNOUNCE] = "announce",
                                                   [OPT_F_OFFLOADS] = "guest_offloads",
                                                   [OPT_F_NOTF_COAL] = "notf_coal"};

    (void)state;
    for (size_t f = 0; f < OPT_F_COUNT; f++) {
        char line[64];
        snprintf(line, sizeof(line), "vnet.%s=off", names[f]);
        parses_quietly(line);
        for (size_t other = 0; other < OPT_F_COUNT; other++)
            assert_int_equal(opt.vnet.feature[other], other == f ? OPT_OFF : OPT_DEFAULT);
        snprintf(line, sizeof(line), "vnet.%s=on", names[f]);
        parses_quietly(line);
        assert_int_equal(opt.vnet.feature[f], OPT_ON);
        snprintf(line, sizeof(line), "vnet.%s=1", names[f]);
        is_refused(line);
    }
}

static void a_vlan_is_a_number_that_ieee_802_1q_lets_be_one(void **state)
{
    static const char *const bad[] = {"vlan=0",  "vlan=4095", "vlan=99999999999", "vlan=-1",
                                      "vlan=5x", "vlan=",     "vlan=on"};

    (void)state;
    parses_quietly("");
    assert_int_equal(opt.nic[0].vlan, 0);
    parses_quietly("vlan=5 net1.vlan=4094 net2.vlan=off");
    assert_int_equal(opt.nic[0].vlan, 5);
    assert_int_equal(opt.nic[1].vlan, 4094);
    assert_int_equal(opt.nic[2].vlan, 0);
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++)
        is_refused(bad[i]);
}

static void rxbuf_takes_words_and_bytes_in_range(void **state)
{
    static const char *const bad[] = {
        "vnet.rxbuf=",           "vnet.rxbuf=63",
        "vnet.rxbuf=65537",      "vnet.rxbuf=0x800",
        "vnet.rxbuf=-1",         "vnet.rxbuf=2k",
        "vnet.rxbuf=4294969344", "vnet.rxbuf=99999999999999999999999999",
        "vnet.rxbuf=pages"};
    (void)state;
    parses_quietly("vnet.rxbuf=page");
    assert_int_equal(opt.vnet.rxbuf, OPT_RXBUF_PAGE);
    parses_quietly("vnet.rxbuf=mtu");
    assert_int_equal(opt.vnet.rxbuf, OPT_RXBUF_MTU);
    parses_quietly("vnet.rxbuf=split");
    assert_int_equal(opt.vnet.rxbuf, OPT_RXBUF_SPLIT);
    parses_quietly("vnet.rxbuf=64");
    assert_int_equal(opt.vnet.rxbuf, OPT_RXBUF_BYTES);
    assert_int_equal(opt.vnet.rxbuf_bytes, 64);
    parses_quietly("vnet.rxbuf=65536");
    assert_int_equal(opt.vnet.rxbuf_bytes, 65536);
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        is_refused(bad[i]);
    assert_int_equal(parse("vnet.rxbuf=2048 vnet.rxbuf=auto"), 0);
    assert_int_equal(opt.vnet.rxbuf, OPT_RXBUF_AUTO);
    assert_int_equal(opt.vnet.rxbuf_bytes, 0);
}

/* ---- what is said ---- */

static void all_bad_values_are_reported_and_good_ones_kept(void **state)
{
    (void)state;
    assert_int_equal(parse("ip=x hostname=good log=loud vnet.kick=y gw=z"), -EINVAL);
    assert_int_equal(errors, 4);
    assert_true(said("log=loud: not one of the choices; allowed: error, warn, info, debug\n"));
    assert_string_equal(opt.hostname, "good");
}

static void a_key_without_a_value_is_a_bad_value(void **state)
{
    (void)state;
    assert_int_equal(parse("hostname log="), -EINVAL);
    assert_int_equal(errors, 2);
    assert_true(said("hostname=: has no value; allowed: letters"));
}

static void an_unknown_key_gets_one_warning_and_the_image_goes_on(void **state)
{
    static const struct {
        const char *word, *says;
    } cases[] = {
        {"hostnme=x", "unknown option hostnme ignored; did you mean hostname?"},
        {"HOSTNAME=x", "did you mean hostname?"},
        {"ipp=dhcp", "did you mean ip?"},
        {"pi=dhcp", "did you mean ip?"},
        {"rxbuf=auto", "did you mean vnet.rxbuf?"},
        {"event-idx=off", "did you mean vnet.event_idx?"},
        {"vnet.tos=off", "did you mean vnet.tso?"},
        {"net1.ipp=off", "did you mean net1.ip?"},
        {"net8.ip=off", "did you mean net7.ip?"},
        {"net12.gw=off", "did you mean net7.gw?"},
        {"net1.hostname=x", "did you mean hostname?"},
        {"net1.vnet.mrg=x", "did you mean vnet.mrg?"},
        {"net.ip=off", "unknown option net.ip ignored; did you mean ip?"},
        {"x=1", "unknown option x ignored; docs/options.md lists what there is"},
        {"completely=else", "unknown option completely ignored; docs/options.md"},
        {"=5", "unknown option  ignored; docs/options.md"},
        {"''", "unknown option  ignored"},
        {"flag", "unknown option flag ignored; docs/options.md"},
    };

    (void)state;
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "log=info %s ip=off", cases[i].word);
        assert_int_equal(parse(line), 0);
        if (warnings != 1 || errors != 0 || !said(cases[i].says))
            fail_msg("\"%s\" gives: %s", line, logged);
        assert_int_equal(opt.nic[0].ip.mode, OPT_IP_OFF);
    }
}

static void a_very_long_unknown_word_boots_with_a_line_that_is_cut(void **state)
{
    static char line[8192];

    (void)state;
    /* -append "ip=10.99.0.2/24 x=$(printf %04000d 1)", and the same as a key. */
    snprintf(line, sizeof(line), "build/x.elf ip=10.99.0.2/24 x=%04000d", 1);
    assert_int_equal(parse(line), 0);
    assert_int_equal(warnings, 1);
    assert_int_equal(opt.nic[0].ip.mode, OPT_IP_STATIC);

    snprintf(line, sizeof(line), "/x.elf %04000d=1 ip=10.99.0.2/24", 7);
    assert_int_equal(parse(line), 0);
    assert_int_equal(warnings, 1);
    assert_true(said("0000… ignored; docs/options.md lists what there is\n"));
    assert_true(strlen(logged) < LOG_LINE_MAX);

    snprintf(line, sizeof(line), "log=%04000d", 7);
    assert_int_equal(parse(line), -EINVAL);
    assert_true(said("0000…: not one of the choices; allowed: error, warn, info, debug\n"));
}

static void a_long_word_is_not_cut_inside_a_character(void **state)
{
    (void)state;
    for (int shift = 0; shift < 3; shift++) {
        char line[256] = "log=";
        memset(line + 4, 'a', (size_t)shift);
        for (size_t at = 4 + (size_t)shift; at < 200; at += 3)
            memcpy(line + at, "€", 4);
        assert_int_equal(parse(line), -EINVAL);
        assert_false(said("?"));
        assert_true(said("€…: not one"));
    }
}

static void no_line_can_be_faked_by_a_value(void **state)
{
    (void)state;
    assert_int_equal(parse("log='info\n[0.1] info x: ready'"), -EINVAL);
    assert_true(said("log=info?[0.1]"));
}

static void a_key_given_twice_warns_and_the_last_counts(void **state)
{
    (void)state;
    assert_int_equal(parse("ip=dhcp net0.ip=off"), 0);
    assert_int_equal(warnings, 1);
    assert_true(said("net0.ip given twice; the last one counts"));
    assert_int_equal(opt.nic[0].ip.mode, OPT_IP_OFF);
    parses_quietly("net1.ip=off net2.ip=off ip=off");
}

static void mmio_devices_are_collected_in_linuxs_words(void **state)
{
    (void)state;
    parses_quietly("virtio_mmio.device=512@0xfeb00000:5 virtio_mmio.device=4K@3489660928:017:3 "
                   "virtio_mmio.device=0x1m@0xd0001000:12");
    assert_int_equal(opt.mmio_count, 3);
    assert_int_equal(opt.mmio[0].size, 512);
    assert_int_equal(opt.mmio[0].base, 0xfeb00000);
    assert_int_equal(opt.mmio[0].irq, 5);
    assert_int_equal(opt.mmio[1].size, 4096);
    assert_int_equal(opt.mmio[1].base, 0xd0000000);
    assert_int_equal(opt.mmio[1].irq, 15);
    assert_int_equal(opt.mmio[2].size, 1 << 20);
}

static void mmio_devices_that_make_no_sense_are_refused(void **state)
{
    static const char *const values[] = {"",
                                         "512",
                                         "512@0x1000",
                                         "512@0x1000:",
                                         "@0x1000:5",
                                         "x@0x1000:5",
                                         "512@0x1000:5:",
                                         "512@0x1000:5:1x",
                                         "512@0x1000:5x",
                                         "255@0x1000:5",
                                         "512@0x1001:5",
                                         "512@0xffffffffffffff00:5",
                                         "17179869184G@0x1000:5",
                                         "512@0x1000:65536",
                                         "99999999999999999999@0x1000:5"};

    (void)state;
    for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        char line[96];
        snprintf(line, sizeof(line), "virtio_mmio.device=%s", values[i]);
        assert_int_equal(parse(line), -EINVAL);
        assert_int_equal(opt.mmio_count, 0);
    }
    char many[2048] = "";
    for (unsigned i = 0; i < OPT_MMIO_MAX + 1; i++)
        strcat(many, "virtio_mmio.device=512@0xfeb00000:5 ");
    assert_int_equal(parse(many), -EINVAL);
    assert_int_equal(opt.mmio_count, OPT_MMIO_MAX);
}

static void mmio_devices_are_picked_out_of_somebody_elses_words(void **state)
{
    char theirs[] = "ip=nonsense virtio_mmio.device=512@0xfeb00e00:12 -- virtio_mmio.device=bad "
                    "virtio_mmio.device=512@0xfeb00c00:11";
    char many[2048] = "";
    (void)state;
    assert_int_equal(parse(""), 0);
    options_pick_mmio(&opt, theirs);
    assert_int_equal(opt.mmio_count, 2);
    assert_int_equal(opt.mmio[1].irq, 11);
    for (unsigned i = 0; i < OPT_MMIO_MAX; i++)
        strcat(many, "virtio_mmio.device=512@0xfeb00000:5 ");
    options_pick_mmio(&opt, many);
    assert_int_equal(opt.mmio_count, OPT_MMIO_MAX);
    assert_int_equal(warnings + errors, 0);
}

/* ---- words that are not options ---- */

static void a_loaders_image_path_is_skipped(void **state)
{
    static const char *const paths[] = {"build/iperf.elf", "/boot/iperf.elf", "iperf.elf",
                                        "/a=b/c.elf",      "dir/x=1.elf",     "'/with blank/x'"};

    (void)state;
    for (size_t i = 0; i < sizeof(paths) / sizeof(paths[0]); i++) {
        char line[128];
        snprintf(line, sizeof(line), "%s ip=off", paths[i]);
        parses_quietly(line);
        assert_int_equal(opt.nic[0].ip.mode, OPT_IP_OFF);
        parses_quietly(paths[i]);
    }
    assert_int_equal(parse("ip=off build/iperf.elf"), 0);
    assert_int_equal(warnings, 1); /* only the first word */
    assert_int_equal(parse("x=1 ip=off"), 0);
    assert_int_equal(warnings, 1);           /* an option, though unknown */
    assert_int_equal(parse("log"), -EINVAL); /* a known key is no path */
}

static void words_behind_two_dashes_are_the_programs(void **state)
{
    (void)state;
    parses_quietly("x.elf ip=off -- -c 10.0.0.1 'two words' ip=dhcp -- \"\"");
    assert_int_equal(opt.argc, 7);
    assert_string_equal(opt.argv[1], "-c");
    assert_string_equal(opt.argv[3], "two words");
    assert_string_equal(opt.argv[4], "ip=dhcp");
    assert_string_equal(opt.argv[5], "--");
    assert_string_equal(opt.argv[6], "");
    assert_null(opt.argv[7]);
    assert_int_equal(opt.nic[0].ip.mode, OPT_IP_OFF);

    parses_quietly("-- a");
    assert_string_equal(opt.argv[1], "a");
    parses_quietly("x.elf --");
    assert_int_equal(opt.argc, 1);
}

static void too_many_program_words_are_refused(void **state)
{
    static char line[1024] = "--";

    (void)state;
    for (int i = 0; i < OPT_ARGV_MAX; i++)
        strcat(line, " w");
    parses_quietly(line);
    assert_int_equal(opt.argc, OPT_ARGV_MAX + 1);
    assert_null(opt.argv[opt.argc]);
    strcat(line, " w");
    assert_int_equal(parse(line), -E2BIG);
    assert_int_equal(errors, 1);
    assert_int_equal(opt.argc, OPT_ARGV_MAX + 1);
}

/* ---- the manual ---- */

static char manual[32768];

static void append(void *arg, const char *piece)
{
    size_t *used = arg;
    const size_t len = strlen(piece);
    assert_true(*used + len < sizeof(manual));
    memcpy(manual + *used, piece, len + 1);
    *used += len;
}

static void the_committed_manual_is_what_the_table_prints(void **state)
{
    static char file_text[sizeof(manual)];
    size_t used = 0;
    FILE *file = fopen("docs/options.md", "r");

    (void)state;
    options_markdown(append, &used);
    assert_non_null(file);
    const size_t n = fread(file_text, 1, sizeof(file_text) - 1, file);
    fclose(file);
    file_text[n] = '\0';
    assert_string_equal(file_text, manual); /* else: make docs, and commit */
}

static void the_manual_names_every_key_once_with_its_default(void **state)
{
    size_t used = 0;

    (void)state;
    options_markdown(append, &used);
    assert_non_null(
        strstr(manual, "\n| `ip` | dhcp, off, or ADDRESS/PREFIX such as 192.0.2.2/24 | `dhcp` | "));
    assert_non_null(strstr(manual, "\n| `vnet.packed` | on, off | off | "));
    assert_non_null(strstr(manual, "\n| `hostname` | "));
    /* Four cells in every row. */
    for (const char *row = manual; (row = strstr(row, "\n| ")); row++) {
        size_t bars = 0;
        for (const char *at = row + 1; *at != '\n'; at++)
            bars += *at == '|';
        assert_int_equal(bars, 5);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(defaults_are_those_of_the_contract),
        cmocka_unit_test(ip_takes_dhcp_off_and_a_host_address),
        cmocka_unit_test(ip_refuses_what_is_no_host_on_a_network),
        cmocka_unit_test(prefixes_31_and_32_have_no_network_address),
        cmocka_unit_test(ip6_takes_auto_off_and_a_host_address),
        cmocka_unit_test(ip6_refuses_what_is_no_host_on_a_network),
        cmocka_unit_test(gateways_are_hosts_on_the_static_network),
        cmocka_unit_test(ipv6_gateways_are_link_local_or_on_the_static_network),
        cmocka_unit_test(each_nic_has_its_own_and_net0_is_the_bare_one),
        cmocka_unit_test(dns_takes_one_or_two_of_either_family),
        cmocka_unit_test(hostnames_follow_rfc_1123),
        cmocka_unit_test(every_choice_reaches_its_member),
        cmocka_unit_test(every_feature_can_be_switched),
        cmocka_unit_test(a_vlan_is_a_number_that_ieee_802_1q_lets_be_one),
        cmocka_unit_test(rxbuf_takes_words_and_bytes_in_range),
        cmocka_unit_test(all_bad_values_are_reported_and_good_ones_kept),
        cmocka_unit_test(a_key_without_a_value_is_a_bad_value),
        cmocka_unit_test(an_unknown_key_gets_one_warning_and_the_image_goes_on),
        cmocka_unit_test(a_very_long_unknown_word_boots_with_a_line_that_is_cut),
        cmocka_unit_test(a_long_word_is_not_cut_inside_a_character),
        cmocka_unit_test(no_line_can_be_faked_by_a_value),
        cmocka_unit_test(a_key_given_twice_warns_and_the_last_counts),
        cmocka_unit_test(mmio_devices_are_collected_in_linuxs_words),
        cmocka_unit_test(mmio_devices_that_make_no_sense_are_refused),
        cmocka_unit_test(mmio_devices_are_picked_out_of_somebody_elses_words),
        cmocka_unit_test(a_loaders_image_path_is_skipped),
        cmocka_unit_test(words_behind_two_dashes_are_the_programs),
        cmocka_unit_test(too_many_program_words_are_refused),
        cmocka_unit_test(the_committed_manual_is_what_the_table_prints),
        cmocka_unit_test(the_manual_names_every_key_once_with_its_default),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
