/* Opening a NIC: what is negotiated, what follows from it, what is refused. virtio 1.2 §3.1, §5.1. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "lib/counters.h"
#include "tests/host/support/vnet_fixture.h"

#define V1 BIT(VNET_F_VERSION_1)
#define ALL (~0ull)

static struct vnet_fixture fix;

static int fresh(void **state)
{
    (void)state;
    memset(&fix, 0, sizeof(fix));
    return 0;
}

static bool has(unsigned bit)
{
    return virtio_has(&fix.fake.dev, bit);
}

/* ---- features ---------------------------------------------------------------------------- */

static void nothing_is_accepted_that_is_not_implemented(void **state)
{
    (void)state;
    static const unsigned known[] = {
        VNET_F_VERSION_1,
        VNET_F_ANY_LAYOUT,
        VNET_F_EVENT_IDX,
        VNET_F_INDIRECT_DESC,
        VNET_F_MAC,
        VNET_F_STATUS,
        VNET_F_MTU,
        VNET_F_CSUM,
        VNET_F_GUEST_CSUM,
        VNET_F_MRG_RXBUF,
        VNET_F_HOST_TSO4,
        VNET_F_HOST_TSO6,
        VNET_F_HOST_ECN,
        VNET_F_GUEST_TSO4,
        VNET_F_GUEST_TSO6,
        VNET_F_GUEST_ECN,
        VNET_F_ACCESS_PLATFORM,
        VNET_F_SPEED_DUPLEX,
        VNET_F_GUEST_HDRLEN,
        VNET_F_CTRL_VQ,
        VNET_F_CTRL_RX,
        VNET_F_CTRL_RX_EXTRA,
        VNET_F_CTRL_MAC_ADDR,
        VNET_F_GUEST_ANNOUNCE,
    };
    uint64_t all = 0;

    for (size_t i = 0; i < ARRAY_COUNT(known); i++)
        all |= BIT(known[i]);
    fix_open(&fix, ALL, false, 16);
    assert_true(fix.fake.features == all);
    fix_close(&fix);
    fix_open(&fix, ALL, true, 16);
    assert_true(fix.fake.features == (all & UINT32_MAX));
    fix_close(&fix);
}

static void a_feature_without_its_prerequisite_is_not_accepted(void **state)
{
    (void)state;
    static const struct {
        unsigned missing;
        unsigned dropped[6], count;
    } cases[] = {
        {VNET_F_CSUM, {VNET_F_HOST_TSO4, VNET_F_HOST_TSO6, VNET_F_HOST_ECN}, 3},
        {VNET_F_GUEST_CSUM, {VNET_F_GUEST_TSO4, VNET_F_GUEST_TSO6, VNET_F_GUEST_ECN}, 3},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        fix_open(&fix, ALL & ~BIT(cases[i].missing), false, 16);
        for (unsigned d = 0; d < cases[i].count; d++)
            assert_false(has(cases[i].dropped[d]));
        assert_true(has(VNET_F_MRG_RXBUF));
        fix_close(&fix);
    }
    static const unsigned by_ctrl[] = {
        VNET_F_CTRL_RX,        VNET_F_CTRL_RX_EXTRA,       VNET_F_CTRL_VLAN, VNET_F_CTRL_MAC_ADDR,
        VNET_F_GUEST_ANNOUNCE, VNET_F_CTRL_GUEST_OFFLOADS, VNET_F_NOTF_COAL, VNET_F_MQ,
    };
    fix.vlan_id = 5;
    for (size_t i = 0; i < OPT_F_COUNT; i++)
        fix.opt.feature[i] = OPT_ON;
    fix_open(&fix, ALL & ~BIT(VNET_F_CTRL_VQ), false, 16);
    for (size_t i = 0; i < ARRAY_COUNT(by_ctrl); i++)
        assert_false(has(by_ctrl[i]));
    fix_close(&fix);
    fix_open(&fix, V1 | BIT(VNET_F_CSUM) | BIT(VNET_F_HOST_ECN), false, 16);
    assert_false(has(VNET_F_HOST_ECN));
    fix_close(&fix);
}

static void every_switch_turns_its_features_off(void **state)
{
    (void)state;
    static const struct {
        enum opt_feature option;
        unsigned bit;
    } cases[] = {
        {OPT_F_MRG, VNET_F_MRG_RXBUF},          {OPT_F_CSUM, VNET_F_CSUM},
        {OPT_F_CSUM, VNET_F_HOST_TSO4},         {OPT_F_GUEST_CSUM, VNET_F_GUEST_CSUM},
        {OPT_F_GUEST_CSUM, VNET_F_GUEST_TSO6},  {OPT_F_TSO, VNET_F_HOST_TSO4},
        {OPT_F_TSO, VNET_F_HOST_TSO6},          {OPT_F_LRO, VNET_F_GUEST_TSO4},
        {OPT_F_LRO, VNET_F_GUEST_ECN},          {OPT_F_EVENT_IDX, VNET_F_EVENT_IDX},
        {OPT_F_INDIRECT, VNET_F_INDIRECT_DESC}, {OPT_F_MTU, VNET_F_MTU},
        {OPT_F_STATUS, VNET_F_STATUS},          {OPT_F_SPEED, VNET_F_SPEED_DUPLEX},
        {OPT_F_HDRLEN, VNET_F_GUEST_HDRLEN},    {OPT_F_CTRL, VNET_F_CTRL_VQ},
        {OPT_F_CTRL, VNET_F_GUEST_ANNOUNCE},    {OPT_F_CTRL_RX, VNET_F_CTRL_RX},
        {OPT_F_CTRL_RX, VNET_F_CTRL_RX_EXTRA},  {OPT_F_CTRL_VLAN, VNET_F_CTRL_VLAN},
        {OPT_F_CTRL_MAC, VNET_F_CTRL_MAC_ADDR}, {OPT_F_ANNOUNCE, VNET_F_GUEST_ANNOUNCE},
    };

    fix.vlan_id = 5;

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        memset(&fix.opt, 0, sizeof(fix.opt));
        fix_open(&fix, ALL, false, 16);
        assert_true(has(cases[i].bit));
        fix_close(&fix);
        fix.opt.feature[cases[i].option] = OPT_OFF;
        fix_open(&fix, ALL, false, 16);
        assert_false(has(cases[i].bit));
        fix_close(&fix);
    }
}

static void some_features_are_accepted_only_when_asked_for(void **state)
{
    (void)state;
    static const struct {
        enum opt_feature option;
        unsigned bit;
    } cases[] = {{OPT_F_MQ, VNET_F_MQ},
                 {OPT_F_OFFLOADS, VNET_F_CTRL_GUEST_OFFLOADS},
                 {OPT_F_NOTF_COAL, VNET_F_NOTF_COAL}};

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        memset(&fix.opt, 0, sizeof(fix.opt));
        fix_open(&fix, ALL, false, 16);
        assert_false(has(cases[i].bit));
        fix_close(&fix);
        fix.opt.feature[cases[i].option] = OPT_ON;
        fix_open(&fix, ALL, false, 16);
        assert_true(has(cases[i].bit));
        fix_close(&fix);
    }
    fix_open(&fix, ALL, false, 16);
    assert_false(has(VNET_F_CTRL_VLAN)); /* it would drop every tagged frame */
    fix_close(&fix);
}

/* A4: 12 bytes whenever VERSION_1 or MRG_RXBUF, else 10. */
static void the_header_is_12_bytes_with_version_1_or_merging(void **state)
{
    (void)state;
    static const struct {
        uint64_t offered;
        bool legacy;
        uint8_t len;
    } cases[] = {
        {V1 | BIT(VNET_F_MRG_RXBUF), false, 12},
        {V1, false, 12},
        {BIT(VNET_F_MRG_RXBUF), true, 12},
        {0, true, 10},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        fix_open(&fix, cases[i].offered, cases[i].legacy, 16);
        assert_int_equal(fix.nic.hdr_len, cases[i].len);
        assert_int_equal(fake_net_hdr_len(&fix.fake), cases[i].len);
        fix_close(&fix);
    }
}

static void one_line_tells_what_was_negotiated(void **state)
{
    (void)state;
    fix_open(&fix, ALL, false, 16);
    assert_true(net_env_logged("net0: fake virtio modern, intx, rx 16 tx 16, "
                               "mac 52:54:00:12:34:56, mtu 1500"));
    assert_true(net_env_logged("net0: negotiated: version_1 "));
    assert_true(net_env_logged(" lro4 lro6 lro_ecn speed "));
    assert_int_equal(net_env_errors(), 0);
    fix_close(&fix);
}

static void facts_about_offloads_are_told_to_the_stack(void **state)
{
    (void)state;
    fix_open(&fix, ALL, false, 16);
    const struct netdev_features *f = &fix.nic.net.features;
    assert_true(f->tx_csum && f->tx_tso4 && f->tx_tso6 && f->rx_csum && f->rx_gso);
    fix_close(&fix);
    fix_open(&fix, V1, false, 16);
    assert_false(f->tx_csum || f->tx_tso4 || f->tx_tso6 || f->rx_csum || f->rx_gso);
    fix_close(&fix);
}

/* ---- configuration ----------------------------------------------------------------------- */

static void the_mac_is_the_devices_or_a_local_one(void **state)
{
    (void)state;
    static const uint8_t mac[6] = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
    uint8_t first[6];

    fix_open(&fix, V1 | BIT(VNET_F_MAC), false, 16);
    assert_memory_equal(fix.nic.net.mac, mac, 6);
    fix_close(&fix);
    fix_open(&fix, V1, false, 16);
    memcpy(first, fix.nic.net.mac, 6);
    assert_int_equal(first[0] & 3, 2);
    fix_close(&fix);
    fix_open(&fix, V1, false, 16);
    assert_memory_not_equal(fix.nic.net.mac, first, 6);
    fix_close(&fix);
}

static void the_mtu_is_the_devices_and_buffers_hold_it(void **state)
{
    (void)state;
    static const uint16_t mtus[] = {68, 1280, 1400, 1500, 4000, 9000, 65535};
    static uint8_t bytes[65550];

    for (size_t i = 0; i < ARRAY_COUNT(mtus); i++)
        for (unsigned mrg = 0; mrg < 2; mrg++) {
            struct frame_in frame;
            const size_t len = size_min(mtus[i] + 14u, 65549);

            fix_prepare(&fix, V1 | BIT(VNET_F_MTU) | (mrg ? BIT(VNET_F_MRG_RXBUF) : 0), false, 16);
            fake_config_set(&fix.fake, 10, &mtus[i], 2);
            assert_int_equal(fix_start(&fix), 0);
            assert_int_equal(fix.nic.net.mtu, mtus[i]);
            fix_fill(bytes, len, 1);
            assert_true(fake_net_receive(&fix.fake, bytes, len, NULL));
            assert_true(fix_poll(&fix, &frame));
            assert_true(fix_same(&frame, len, 1));
            assert_null(frame.head->next); /* a full frame takes one buffer */
            frag_give_list(frame.head);
            fix_close(&fix);
        }
}

static void an_mtu_too_small_for_ipv4_is_refused(void **state)
{
    (void)state;
    const uint16_t mtu = 67;

    fix_prepare(&fix, V1 | BIT(VNET_F_MTU), false, 16);
    fake_config_set(&fix.fake, 10, &mtu, 2);
    assert_int_equal(fix_start(&fix), -ENOTSUP);
    assert_true(net_env_logged("MTU of 67"));
    assert_int_equal(fix.fake.status, 0);
    assert_true(net_env_clean());
}

static void the_link_follows_the_device(void **state)
{
    (void)state;
    uint16_t down = 0, up = VNET_S_LINK_UP;
    struct frame_in frame;

    fix_prepare(&fix, V1 | BIT(VNET_F_STATUS), false, 16);
    fake_config_set(&fix.fake, 6, &down, 2);
    assert_int_equal(fix_start(&fix), 0);
    assert_false(fix.nic.net.link_up);
    fake_config_set(&fix.fake, 6, &up, 2);
    fix_poll(&fix, &frame);
    assert_false(fix.nic.net.link_up); /* the device says when to look */
    vnet_interrupt(&fix.nic, true);
    assert_true(fix.nic.net.irq_seen);
    assert_true(fix.nic.net.ops->arm(&fix.nic.net)); /* there is work */
    fix_poll(&fix, &frame);
    assert_true(fix.nic.net.link_up);
    assert_true(net_env_logged("link up"));
    fix_close(&fix);
    fix_open(&fix, V1, false, 16);
    assert_true(fix.nic.net.link_up); /* without STATUS it is always up */
    fix_close(&fix);
}

static void a_configuration_that_ends_early_is_refused(void **state)
{
    (void)state;
    for (uint32_t len = 0; len < 12; len++) {
        fix_prepare(&fix, V1 | BIT(VNET_F_MAC) | BIT(VNET_F_MTU), false, 16);
        fix.fake.config_len = len;
        assert_int_equal(fix_start(&fix), -ERANGE);
        assert_true(net_env_clean());
    }
}

/* ---- life -------------------------------------------------------------------------------- */

static void every_ring_size_opens_and_works(void **state)
{
    (void)state;
    static uint8_t bytes[1514];

    for (unsigned legacy = 0; legacy < 2; legacy++)
        for (uint32_t size = 2; size <= 32768; size *= 2) {
            struct frame_in frame;

            fix.pages = 65536;
            fix_open(&fix, legacy ? 0 : V1, legacy, (uint16_t)size);
            for (unsigned n = 0; n < 10; n++) {
                assert_true(fake_net_receive(&fix.fake, bytes, sizeof(bytes), NULL));
                assert_true(fix_poll(&fix, &frame));
                frag_give_list(frame.head);
                assert_int_equal(fix_send(&fix, bytes, sizeof(bytes), bytes), 0);
                assert_int_equal(fake_net_transmit(&fix.fake, 10, NULL, NULL), 1);
            }
            fix_close(&fix);
        }
}

static void a_small_ring_holds_the_largest_frame_or_it_is_declined(void **state)
{
    (void)state;
    static uint8_t bytes[65550];
    static const enum opt_rxbuf all[] = {OPT_RXBUF_AUTO, OPT_RXBUF_PAGE, OPT_RXBUF_MTU,
                                         OPT_RXBUF_SPLIT, OPT_RXBUF_BYTES};

    for (size_t i = 0; i < ARRAY_COUNT(all); i++)
        for (unsigned f = 0; f < VNET_FLAVOURS; f++)
            for (uint16_t size = 2; size <= 256; size *= 2) {
                struct frame_in frame;

                fix.pages = 16384;
                fix.opt.rxbuf = all[i];
                fix.opt.rxbuf_bytes = 100;
                fix_open(&fix, vnet_flavours[f].offered, vnet_flavours[f].legacy, size);
                const size_t len = fix.nic.net.features.rx_gso ? 65550 : 1514;
                fix_fill(bytes, len, size);
                const bool fits = fake_net_receive(&fix.fake, bytes, len, NULL);
                if (!fits && len == 65550)
                    fail_msg("%s: a ring of %u can't take what was promised", vnet_flavours[f].name,
                             size);
                if (fits) {
                    assert_true(fix_poll(&fix, &frame));
                    assert_true(fix_same(&frame, len, size));
                    frag_give_list(frame.head);
                }
                fix_close(&fix);
            }
    memset(&fix.opt, 0, sizeof(fix.opt));
    fix.opt.rxbuf = OPT_RXBUF_BYTES;
    fix.opt.rxbuf_bytes = 100;
    fix_open(&fix, vnet_flavours[0].offered, false, 256);
    assert_false(fix.nic.net.features.rx_gso);
    assert_true(net_env_logged("declined"));
    fix_close(&fix);
}

static void a_ring_of_one_entry_is_refused(void **state)
{
    (void)state;
    fix_prepare(&fix, V1, false, 1);
    assert_int_equal(fix_start(&fix), -ENOTSUP);
    assert_true(net_env_clean());
}

static void a_failed_start_holds_nothing(void **state)
{
    (void)state;
    static const struct {
        enum fake_fault fault;
        int err;
    } cases[] = {
        {FAKE_QUEUE_SIZE_ZERO, -ENOENT},      {FAKE_QUEUE_SIZE_ODD, -EPROTO},
        {FAKE_QUEUE_SIZE_HUGE, -EPROTO},      {FAKE_QUEUE_REFUSED, -EIO},
        {FAKE_RESET_NEVER_ENDS, -ETIMEDOUT},  {FAKE_FEATURES_REFUSED, -ENOTSUP},
        {FAKE_CONFIG_NEVER_SETTLES, -EAGAIN}, {FAKE_GONE, -ENODEV},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        fix_prepare(&fix, ALL, false, 16);
        fix.fake.fault = cases[i].fault;
        assert_int_equal(fix_start(&fix), cases[i].err);
        assert_true(net_env_clean());
    }
}

static void without_memory_for_one_buffer_the_start_fails(void **state)
{
    (void)state;
    for (size_t pages = 8; pages < 120; pages++) {
        fix.pages = pages;
        fix_prepare(&fix, V1, false, 256);
        const int err = fix_start(&fix);
        if (err == 0) {
            assert_true(vq_posted_count(&fix.nic.rx.vq) > 0);
            fix_close(&fix);
            continue;
        }
        assert_int_equal(err, -ENOMEM);
        assert_true(net_env_clean());
    }
}

struct found {
    unsigned count;
    uint64_t rx_frames, posted;
};

static void find(void *arg, const struct counter *c, uint64_t value)
{
    struct found *f = arg;

    if (strncmp(c->name, "vnet_", 5) || strcmp(c->labels, "nic=\"net0\""))
        return;
    f->count++;
    if (!strcmp(c->name, "vnet_rx_frames_total"))
        f->rx_frames = value;
    if (!strcmp(c->name, "vnet_rx_posted"))
        f->posted = value;
}

static void counters_are_seen_while_the_nic_is_open(void **state)
{
    (void)state;
    struct found f = {0}, after = {0};
    struct frame_in frame;
    static uint8_t bytes[60];

    fix_open(&fix, V1, false, 16);
    assert_true(fake_net_receive(&fix.fake, bytes, 60, NULL));
    assert_true(fix_poll(&fix, &frame));
    frag_give_list(frame.head);
    counters_each(find, &f);
    assert_true(f.count >= 30);
    assert_int_equal(f.rx_frames, 1);
    assert_int_equal(f.posted, 16);
    fix_close(&fix);
    counters_each(find, &after);
    assert_int_equal(after.count, 0);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, fresh)
        T(nothing_is_accepted_that_is_not_implemented),
        T(a_feature_without_its_prerequisite_is_not_accepted),
        T(every_switch_turns_its_features_off),
        T(some_features_are_accepted_only_when_asked_for),
        T(the_header_is_12_bytes_with_version_1_or_merging),
        T(one_line_tells_what_was_negotiated),
        T(facts_about_offloads_are_told_to_the_stack),
        T(the_mac_is_the_devices_or_a_local_one),
        T(the_mtu_is_the_devices_and_buffers_hold_it),
        T(an_mtu_too_small_for_ipv4_is_refused),
        T(the_link_follows_the_device),
        T(a_configuration_that_ends_early_is_refused),
        T(every_ring_size_opens_and_works),
        T(a_small_ring_holds_the_largest_frame_or_it_is_declined),
        T(a_ring_of_one_entry_is_refused),
        T(a_failed_start_holds_nothing),
        T(without_memory_for_one_buffer_the_start_fails),
        T(counters_are_seen_while_the_nic_is_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
