/*
 * The control queue: the bytes of every command, when they are sent, and a device that refuses, forgets or lies.
 * virtio 1.2 §5.1.6.5. The fake device checks features, lengths, values and framing by itself.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/host/support/clock.h"
#include "tests/host/support/vnet_fixture.h"

#define V1 BIT(VNET_F_VERSION_1)
#define CTRL (BIT(VNET_F_MAC) | BIT(VNET_F_CTRL_VQ) | BIT(VNET_F_CTRL_RX))
#define ALL (~0ull)

enum { TICKS_LONG = 200 };

static struct vnet_fixture fix;
static const uint8_t group_a[6] = {0x01, 0x00, 0x5e, 0, 0, 1};
static const uint8_t group_b[6] = {0x33, 0x33, 0xff, 0x12, 0x34, 0x56};

static int fresh(void **state)
{
    (void)state;
    memset(&fix, 0, sizeof(fix));
    return 0;
}

/* Turns of the loop until nothing more is said: what the driver sends, the device answers. */
static unsigned converse(void)
{
    struct frame_in frame;
    unsigned commands = 0, more;

    do {
        fix_poll(&fix, &frame);
        more = fake_ctrl_work(&fix.fake);
        commands += more;
    } while (more);
    fix_poll(&fix, &frame);
    return commands;
}

static void wish(const uint8_t (*groups)[6], size_t count, bool all, bool broadcast)
{
    const struct netdev_filter f = {groups, count, all, broadcast};

    fix.nic.net.ops->set_filter(&fix.nic.net, &f);
}

static void wish_two_groups(void)
{
    uint8_t groups[2][6];

    memcpy(groups[0], group_a, 6);
    memcpy(groups[1], group_b, 6);
    wish((const uint8_t(*)[6])groups, 2, false, true);
}

static void check_data(uint8_t class, uint8_t command, const void *bytes, size_t len)
{
    const struct fake_ctrl_cmd *cmd = fake_ctrl_find(&fix.fake, class, command);

    assert_non_null(cmd);
    assert_int_equal(cmd->len, len);
    if (len)
        assert_memory_equal(cmd->data, bytes, len);
}

static bool was_told(uint8_t class, uint8_t command)
{
    return fake_ctrl_find(&fix.fake, class, command) != NULL;
}

/* ---- the bytes --------------------------------------------------------------------------- */

static void every_command_has_the_specified_bytes(void **state)
{
    (void)state;
    static const struct {
        enum ctrl_item item;
        uint8_t class, command, feature;
        size_t len, first;
        const char *bytes;
    } cases[] = {
        {CTRL_MQ_PAIRS, 4, 0, 22, 2, 2, "\x01\x00"},
        {CTRL_MAC_ADDR, 1, 1, 23, 6, 6, "\x52\x54\x00\x12\x34\x56"},
        {CTRL_OFFLOADS, 5, 0, 2, 8, 8, "\x82\x01\x00\x00\x00\x00\x00\x00"},
        {CTRL_VLAN_ADD, 2, 0, 19, 2, 2, "\xfe\x0f"},
        {CTRL_MAC_TABLE, 1, 0, 18, 20, 4,
         "\0\0\0\0\x02\0\0\0\x01\x00\x5e\0\0\x01\x33\x33\xff\x12\x34\x56"},
        {CTRL_ALLMULTI, 0, 1, 18, 1, 1, "\x01"},
        {CTRL_NOBCAST, 0, 5, 20, 1, 1, "\x01"},
        {CTRL_PROMISC, 0, 0, 18, 1, 1, "\x00"},
        {CTRL_COAL_TX, 6, 0, 53, 8, 8, "\x40\0\0\0\x64\0\0\0"},
        {CTRL_COAL_RX, 6, 1, 53, 8, 8, "\x10\0\0\0\x14\0\0\0"},
        {CTRL_ANNOUNCE_ACK, 3, 0, 21, 0, 0, ""},
    };
    struct ctrl_wish w = {.pairs = 1,
                          .mac = {0x52, 0x54, 0, 0x12, 0x34, 0x56},
                          .offloads = 0x182,
                          .vlan_id = 4094,
                          .allmulti = true,
                          .nobcast = true,
                          .coal_tx_packets = 64,
                          .coal_tx_us = 100,
                          .coal_rx_packets = 16,
                          .coal_rx_us = 20,
                          .group_count = 2};

    memcpy(w.groups[0], group_a, 6);
    memcpy(w.groups[1], group_b, 6);
    assert_int_equal(ARRAY_COUNT(cases), CTRL_ITEMS);
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct ctrl_cmd cmd;
        size_t first;

        assert_int_equal(ctrl_cmd_write(cases[i].item, &w, &cmd, &first), cases[i].len);
        assert_int_equal(first, cases[i].first);
        assert_int_equal(cmd.hdr.class, cases[i].class);
        assert_int_equal(cmd.hdr.command, cases[i].command);
        assert_int_equal(ctrl_cmd_feature(cases[i].item), cases[i].feature);
        if (cases[i].len)
            assert_memory_equal(cmd.data, cases[i].bytes, cases[i].len);
    }
}

static void the_tables_hold_our_own_address_when_the_device_may_not_know_it(void **state)
{
    (void)state;
    struct ctrl_wish w = {.mac = {2, 0, 0, 0, 0, 9}, .unicast = true, .group_count = 64};
    struct ctrl_cmd cmd;
    size_t first;

    assert_int_equal(ctrl_cmd_write(CTRL_MAC_TABLE, &w, &cmd, &first), CTRL_DATA_MAX);
    assert_int_equal(first, 10);
    assert_memory_equal(cmd.data, "\x01\0\0\0\x02\0\0\0\0\x09\x40\0\0\0", 14);
}

/* ---- when -------------------------------------------------------------------------------- */

static void nothing_is_said_until_the_stack_has_wishes(void **state)
{
    (void)state;
    fix_open(&fix, ALL, false, 16);
    assert_int_equal(converse(), 0);
    wish_two_groups();
    assert_int_equal(converse(),
                     4); /* table, all multicast, no broadcast, promiscuous: narrowest last */
    assert_int_equal(fix.fake.ctrl.log[0].class, VNET_CTRL_MAC);
    assert_int_equal(fix.fake.ctrl.log[3].class, VNET_CTRL_RX);
    assert_int_equal(fix.fake.ctrl.log[3].command, VNET_CTRL_RX_PROMISC);
    check_data(VNET_CTRL_MAC, VNET_CTRL_MAC_TABLE_SET,
               "\0\0\0\0\x02\0\0\0\x01\x00\x5e\0\0\x01\x33\x33\xff\x12\x34\x56", 20);
    check_data(VNET_CTRL_RX, VNET_CTRL_RX_ALLMULTI, "\0", 1);
    check_data(VNET_CTRL_RX, VNET_CTRL_RX_NOBCAST, "\0", 1);
    check_data(VNET_CTRL_RX, VNET_CTRL_RX_PROMISC, "\0", 1);
    assert_int_equal(fix.nic.ctrl.commands, 4);
    assert_int_equal(net_env_errors(), 0);
    fix_close(&fix);
}

/* Modern, legacy with and without ANY_LAYOUT: the fake checks the framing. */
static void every_layout_carries_commands(void **state)
{
    (void)state;
    static const struct {
        uint64_t offered;
        bool legacy;
    } cases[] = {
        {V1 | CTRL, false},
        {V1 | CTRL | BIT(VNET_F_EVENT_IDX) | BIT(VNET_F_INDIRECT_DESC), false},
        {CTRL, true},
        {CTRL | BIT(VNET_F_ANY_LAYOUT), true},
        {CTRL | BIT(VNET_F_INDIRECT_DESC) | BIT(VNET_F_EVENT_IDX), true},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++)
        for (uint16_t size = 4; size <= 64; size *= 16) {
            fix_open(&fix, cases[i].offered | BIT(VNET_F_GUEST_ANNOUNCE) | BIT(VNET_F_STATUS),
                     cases[i].legacy, size);
            wish_two_groups();
            vnet_ctrl_tell(&fix.nic, CTRL_ANNOUNCE_ACK); /* a command without data */
            assert_int_equal(converse(), 4);
            for (unsigned n = 0; n < 100; n++) { /* around the ring */
                wish_two_groups();
                assert_int_equal(converse(), 3);
            }
            fix_close(&fix);
        }
}

static void only_what_was_negotiated_is_said(void **state)
{
    (void)state;
    for (unsigned bit = 0; bit < 64; bit++) {
        if (bit == VNET_F_VERSION_1)
            continue;
        for (size_t i = 0; i < OPT_F_COUNT; i++)
            fix.opt.feature[i] = OPT_ON;
        fix.vlan_id = 5;
        fix_open(&fix, ALL & ~BIT(bit), false, 16);
        wish_two_groups();
        fix.nic.announce_due = true;
        converse();
        fix_close(&fix); /* the fake would have complained */
    }
}

static void a_burst_of_wishes_is_one_command_with_the_last(void **state)
{
    (void)state;
    uint8_t groups[NETDEV_GROUPS_MAX][6];

    fix_open(&fix, V1 | CTRL, false, 16);
    for (size_t n = 0; n <= NETDEV_GROUPS_MAX; n++) {
        if (n < NETDEV_GROUPS_MAX)
            memcpy(groups[n], (uint8_t[6]){0x33, 0x33, 0, 0, 0, (uint8_t)n}, 6);
        wish((const uint8_t(*)[6])groups, n, false, true);
    }
    assert_int_equal(converse(), 3);
    const struct fake_ctrl_cmd *cmd = fake_ctrl_find(&fix.fake, 1, 0);
    assert_int_equal(cmd->len, 4 + 4 + 64 * 6);
    assert_memory_equal(cmd->data + 4, "\x40\0\0\0", 4);
    wish((const uint8_t(*)[6])groups, 64, true, true); /* and one more than that */
    converse();
    check_data(VNET_CTRL_RX, VNET_CTRL_RX_ALLMULTI, "\x01", 1);
    check_data(VNET_CTRL_RX, VNET_CTRL_RX_PROMISC, "\0", 1);
    fix_close(&fix);
}

static void without_ipv4_broadcasts_are_not_wanted(void **state)
{
    (void)state;
    fix_open(&fix, V1 | CTRL | BIT(VNET_F_CTRL_RX_EXTRA), false, 16);
    wish(NULL, 0, false, false);
    converse();
    check_data(VNET_CTRL_RX, VNET_CTRL_RX_NOBCAST, "\x01", 1);
    check_data(VNET_CTRL_MAC, VNET_CTRL_MAC_TABLE_SET, "\0\0\0\0\0\0\0\0", 8);
    fix_close(&fix);
}

static void a_vlan_is_told_and_only_then_negotiated(void **state)
{
    (void)state;
    fix.vlan_id = 0x123;
    fix_open(&fix, ALL, false, 16);
    converse();
    check_data(VNET_CTRL_VLAN, VNET_CTRL_VLAN_ADD, "\x23\x01", 2);
    fix_close(&fix);
    fix.vlan_id = 0;
    fix_open(&fix, ALL, false, 16);
    converse();
    assert_false(was_told(VNET_CTRL_VLAN, VNET_CTRL_VLAN_ADD));
    fix_close(&fix);
}

static void a_made_up_address_is_told(void **state)
{
    (void)state;
    fix_open(&fix, (V1 | CTRL | BIT(VNET_F_CTRL_MAC_ADDR)) & ~BIT(VNET_F_MAC), false, 16);
    wish(NULL, 0, false, true);
    converse();
    check_data(VNET_CTRL_MAC, VNET_CTRL_MAC_ADDR_SET, fix.nic.net.mac, 6);
    const struct fake_ctrl_cmd *table = fake_ctrl_find(&fix.fake, 1, 0);
    assert_int_equal(table->data[0], 1);
    assert_memory_equal(table->data + 4, fix.nic.net.mac, 6);
    fix_close(&fix);
    fix_open(&fix, ALL, false, 16);
    converse();
    assert_false(was_told(VNET_CTRL_MAC, VNET_CTRL_MAC_ADDR_SET)); /* the device gave it */
    fix_close(&fix);
}

static void features_only_for_measuring_are_told(void **state)
{
    (void)state;
    const uint64_t lro = BIT(VNET_F_GUEST_CSUM) | BIT(VNET_F_GUEST_TSO4) | BIT(VNET_F_GUEST_TSO6) |
                         BIT(VNET_F_GUEST_ECN);
    fix.opt.feature[OPT_F_OFFLOADS] = fix.opt.feature[OPT_F_NOTF_COAL] = OPT_ON;
    fix_open(&fix, ALL, false, 16);
    converse();
    check_data(VNET_CTRL_GUEST_OFFLOADS, VNET_CTRL_GUEST_OFFLOADS_SET, &lro, 8);
    check_data(VNET_CTRL_NOTF_COAL, VNET_CTRL_NOTF_COAL_TX_SET, "\x40\0\0\0\x64\0\0\0", 8);
    check_data(VNET_CTRL_NOTF_COAL, VNET_CTRL_NOTF_COAL_RX_SET, "\x10\0\0\0\x14\0\0\0", 8);
    fix_close(&fix);
}

/* ---- several pairs ----------------------------------------------------------------------- */

static void with_mq_the_control_queue_stands_behind_all_pairs(void **state)
{
    (void)state;
    const uint16_t pairs = 2;

    fix.opt.feature[OPT_F_MQ] = OPT_ON;
    fix_prepare(&fix, ALL, false, 16);
    fake_config_set(&fix.fake, 8, &pairs, 2);
    assert_int_equal(fix_start(&fix), 0);
    assert_int_equal(fix.nic.ctrl.vq.queue_idx, 4);
    converse();
    check_data(VNET_CTRL_MQ, VNET_CTRL_MQ_PAIRS_SET, "\x01\0", 2);
    assert_int_equal(fix.fake.ctrl.pairs, 1);
    fix_close(&fix);

    fix.opt.feature[OPT_F_MQ] = OPT_DEFAULT;
    fix_prepare(&fix, ALL, false, 16);
    fake_config_set(&fix.fake, 8, &pairs, 2);
    assert_int_equal(fix_start(&fix), 0);
    assert_int_equal(fix.nic.ctrl.vq.queue_idx, 2);
    converse();
    assert_false(was_told(VNET_CTRL_MQ, VNET_CTRL_MQ_PAIRS_SET));
    fix_close(&fix);
}

static void pairs_that_make_no_sense_are_no_reason_to_fail(void **state)
{
    (void)state;
    static const uint16_t bad[] = {0, 3, 100, 0x8000, 0x8001, 0xffff};

    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        fix.opt.feature[OPT_F_MQ] = OPT_ON;
        fix_prepare(&fix, ALL, false, 16);
        fake_config_set(&fix.fake, 8, &bad[i], 2);
        assert_int_equal(fix_start(&fix), 0);
        assert_false(virtio_has(&fix.fake.dev, VNET_F_MQ));
        assert_true(net_env_logged("MQ declined"));
        assert_int_equal(fix.nic.ctrl.vq.queue_idx, 2);
        wish_two_groups();
        assert_int_equal(converse(), 4);
        fix_close(&fix);
    }
}

/* ---- a device that refuses --------------------------------------------------------------- */

static void a_refused_table_becomes_all_multicast(void **state)
{
    (void)state;
    fix_open(&fix, V1 | CTRL, false, 16);
    fake_ctrl_refuse(&fix.fake, VNET_CTRL_MAC, VNET_CTRL_MAC_TABLE_SET);
    for (unsigned n = 1; n <= 3; n++) {
        wish_two_groups();
        assert_int_equal(converse(), 3);
        check_data(VNET_CTRL_RX, VNET_CTRL_RX_ALLMULTI, "\x01", 1);
        check_data(VNET_CTRL_RX, VNET_CTRL_RX_PROMISC, "\0", 1);
        assert_int_equal(fix.nic.ctrl.errors, n);
    }
    fix.fake.ctrl.refuse_count = 0; /* it comes to its senses */
    wish_two_groups();
    converse();
    check_data(VNET_CTRL_RX, VNET_CTRL_RX_ALLMULTI, "\0", 1);
    assert_true(net_env_logged("refuses to be told the multicast addresses (answer 1)"));
    fix_close(&fix);
}

static void what_no_filter_can_do_everything_does(void **state)
{
    (void)state;
    fix_open(&fix, V1 | CTRL, false, 16);
    fake_ctrl_refuse(&fix.fake, VNET_CTRL_MAC, VNET_CTRL_MAC_TABLE_SET);
    fake_ctrl_refuse(&fix.fake, VNET_CTRL_RX, VNET_CTRL_RX_ALLMULTI);
    wish_two_groups();
    converse();
    check_data(VNET_CTRL_RX, VNET_CTRL_RX_PROMISC, "\x01", 1);
    fix_close(&fix);
}

static void a_refused_vlan_is_taken_from_everything(void **state)
{
    (void)state;
    fix.vlan_id = 5;
    fix_open(&fix, V1 | CTRL | BIT(VNET_F_CTRL_VLAN), false, 16);
    fake_ctrl_refuse(&fix.fake, VNET_CTRL_VLAN, VNET_CTRL_VLAN_ADD);
    converse();
    check_data(VNET_CTRL_RX, VNET_CTRL_RX_PROMISC, "\x01", 1);
    wish_two_groups();
    converse();
    check_data(VNET_CTRL_RX, VNET_CTRL_RX_PROMISC, "\x01", 1);
    fix_close(&fix);
}

/* ---- a device that doesn't answer, or lies ----------------------------------------------- */

static void answers_that_are_none_count_as_errors(void **state)
{
    (void)state;
    static const enum fake_fault lies[] = {FAKE_CTRL_ACK_UNWRITTEN, FAKE_CTRL_ACK_ALL_ONES};

    for (size_t i = 0; i < ARRAY_COUNT(lies); i++) {
        fix_open(&fix, V1 | CTRL, false, 16);
        fix.fake.fault = lies[i];
        wish_two_groups();
        assert_int_equal(converse(), 3); /* the others are told all the same */
        assert_true(fix.fake.fault_told);
        assert_int_equal(fix.nic.ctrl.errors, 1);
        assert_true(net_env_logged("(answer 255)"));
        assert_false(fix.nic.net.broken);
        fix_close(&fix);
    }
}

static void a_command_without_an_answer_is_given_up_and_the_nic_goes_on(void **state)
{
    (void)state;
    static uint8_t bytes[60];
    struct frame_in frame;

    fix_open(&fix, V1 | CTRL, false, 16);
    fix.fake.fault = FAKE_CTRL_NEVER;
    wish_two_groups();
    assert_int_equal(converse(), 1);
    fix.nic.net.ops->tick(&fix.nic.net);
    assert_int_equal(fix.nic.ctrl.timeouts, 0);
    host_clock_advance(VNET_CTRL_TIMEOUT_MS * 1000ull + 1);
    for (unsigned n = 0; n < TICKS_LONG; n++) {
        wish_two_groups();
        fix.nic.net.ops->tick(&fix.nic.net);
        assert_false(fix.nic.net.ops->arm(&fix.nic.net)); /* it may sleep */
        fix.nic.net.ops->disarm(&fix.nic.net);
    }
    assert_int_equal(fix.nic.ctrl.timeouts, 1);
    assert_int_equal(fix.nic.ctrl.commands, 1);
    assert_true(net_env_logged("hasn't answered within 5000 ms"));
    assert_true(fake_net_receive(&fix.fake, bytes, 60, NULL));
    assert_true(fix_poll(&fix, &frame));
    frag_give_list(frame.head);
    fix_close(&fix);
}

static void an_answer_that_comes_late_is_taken(void **state)
{
    (void)state;
    struct fake_chain c;
    struct frame_in frame;

    fix_open(&fix, V1 | CTRL, false, 16);
    wish_two_groups();
    fix_poll(&fix, &frame);
    assert_true(fake_pop(&fix.fake, VNET_CTRLQ, &c));
    host_clock_advance(VNET_CTRL_TIMEOUT_MS * 1000ull + 1);
    fix.nic.net.ops->tick(&fix.nic.net);
    assert_int_equal(fix.nic.ctrl.timeouts, 1);
    *c.iov[c.count - 1].base = VNET_CTRL_OK;
    fake_push(&fix.fake, VNET_CTRLQ, c.head, 1);
    assert_int_equal(converse(), 2); /* what was left to say */
    assert_int_equal(fix.nic.ctrl.late, 1);
    assert_int_equal(fix.nic.ctrl.errors, 0);
    fix_close(&fix);
}

static void a_lie_on_this_queue_ends_its_use_and_frames_go_on(void **state)
{
    (void)state;
    static const enum fake_fault lies[] = {FAKE_USED_ID_OUT_OF_RANGE, FAKE_USED_ID_NOT_POSTED,
                                           FAKE_COMPLETED_TWICE,      FAKE_LEN_PAST_CHAIN,
                                           FAKE_USED_IDX_JUMPS,       FAKE_USED_IDX_BACKWARDS};
    static uint8_t bytes[1514];

    for (size_t i = 0; i < ARRAY_COUNT(lies); i++) {
        struct frame_in frame;

        fix_open(&fix, V1 | CTRL | BIT(VNET_F_MRG_RXBUF), false, 16);
        fix.fake.fault = lies[i];
        wish_two_groups();
        converse();
        assert_true(fix.fake.fault_told);
        for (unsigned n = 0; n < TICKS_LONG; n++) {
            wish_two_groups();
            fix.nic.net.ops->tick(&fix.nic.net);
            assert_false(fix.nic.net.ops->arm(&fix.nic.net));
        }
        assert_true(fix.nic.ctrl.vq.broken);
        assert_int_equal(net_env_errors(), 1);
        assert_false(fix.nic.net.broken);
        assert_true(fake_net_receive(&fix.fake, bytes, sizeof(bytes), NULL));
        assert_true(fix_poll(&fix, &frame));
        frag_give_list(frame.head);
        fix.fake.violations = 0; /* the fake lost count of its own lies */
        fix_close(&fix);
    }
}

static void a_queue_too_short_for_a_command_is_left_alone(void **state)
{
    (void)state;
    for (unsigned legacy = 0; legacy < 2; legacy++) {
        fix_prepare(&fix, legacy ? CTRL : V1 | CTRL, legacy, 16);
        fix.fake.queue[VNET_CTRLQ].offered_size = legacy ? 2 : 1;
        assert_int_equal(fix_start(&fix), 0);
        assert_true(net_env_logged("its control queue can't be used"));
        assert_int_equal(fix.fake.queue[VNET_CTRLQ].size, 0);
        wish_two_groups();
        assert_int_equal(converse(), 0);
        fix_close(&fix);
    }
    fix_prepare(&fix, V1 | CTRL, false, 16);
    fix.fake.queue[VNET_CTRLQ].offered_size = 0; /* offered, but not there */
    assert_int_equal(fix_start(&fix), 0);
    assert_int_equal(converse(), 0);
    fix_close(&fix);
}

static void the_answer_interrupts_a_loop_that_sleeps(void **state)
{
    (void)state;
    for (unsigned event = 0; event < 2; event++) {
        struct frame_in frame;

        fix_open(&fix, V1 | CTRL | (event ? BIT(VNET_F_EVENT_IDX) : 0), false, 16);
        wish_two_groups();
        fix_poll(&fix, &frame);
        assert_false(fix.nic.net.ops->arm(&fix.nic.net));
        fix.nic.net.irq_seen = false;
        assert_int_equal(fake_ctrl_work(&fix.fake), 1);
        assert_true(fix.nic.net.irq_seen);
        fix.nic.net.ops->disarm(&fix.nic.net);
        fix_poll(&fix, &frame);
        assert_int_equal(fake_ctrl_work(&fix.fake), 1);
        assert_true(fix.nic.net.ops->arm(&fix.nic.net)); /* answered before it could sleep */
        converse();
        fix_close(&fix);
    }
}

/* ---- a reset ----------------------------------------------------------------------------- */

static void after_a_reset_everything_is_told_again(void **state)
{
    (void)state;
    fix.vlan_id = 5;
    fix.opt.feature[OPT_F_MQ] = OPT_ON;
    fix_open(&fix, ALL, false, 16);
    wish_two_groups();
    const unsigned told = converse();
    vnet_recover(&fix.nic, VNET_FAULT_ASKED);
    assert_int_equal(fix.nic.recover.life, VNET_RUNNING);
    assert_int_equal(fix.fake.ctrl.count, 0);
    assert_int_equal(converse(), told);
    check_data(VNET_CTRL_VLAN, VNET_CTRL_VLAN_ADD, "\x05\0", 2);
    check_data(VNET_CTRL_MQ, VNET_CTRL_MQ_PAIRS_SET, "\x01\0", 2);
    check_data(VNET_CTRL_MAC, VNET_CTRL_MAC_TABLE_SET,
               "\0\0\0\0\x02\0\0\0\x01\x00\x5e\0\0\x01\x33\x33\xff\x12\x34\x56", 20);
    check_data(VNET_CTRL_RX, VNET_CTRL_RX_PROMISC, "\0", 1);
    fix_close(&fix);
}

static void a_reset_ends_the_wait_for_an_answer(void **state)
{
    (void)state;
    fix_open(&fix, V1 | CTRL, false, 16);
    fix.fake.fault = FAKE_CTRL_NEVER;
    wish_two_groups();
    assert_int_equal(converse(), 1);
    vnet_recover(&fix.nic, VNET_FAULT_ASKED);
    assert_int_equal(converse(), 3);
    assert_int_equal(fix.nic.ctrl.timeouts, 0);
    fix_close(&fix);
}

/* ---- announcements ----------------------------------------------------------------------- */

static void set_status(uint16_t status)
{
    fake_config_set(&fix.fake, 6, &status, 2);
    vnet_interrupt(&fix.nic, true);
}

static void an_announcement_is_made_and_then_acknowledged(void **state)
{
    (void)state;
    fix_open(&fix, V1 | CTRL | BIT(VNET_F_STATUS) | BIT(VNET_F_GUEST_ANNOUNCE), false, 16);
    set_status(VNET_S_LINK_UP | VNET_S_ANNOUNCE);
    assert_int_equal(converse(), 1);
    assert_int_equal(fix.announce_calls, 1);
    check_data(VNET_CTRL_ANNOUNCE, VNET_CTRL_ANNOUNCE_ACK, NULL, 0);
    set_status(VNET_S_LINK_UP);
    assert_int_equal(converse(), 0);
    assert_int_equal(fix.announce_calls, 1);
    assert_int_equal(fix.nic.announcements, 1);
    fix_close(&fix);
}

static void an_announcement_waits_for_the_stack(void **state)
{
    (void)state;
    fix_prepare(&fix, V1 | CTRL | BIT(VNET_F_STATUS) | BIT(VNET_F_GUEST_ANNOUNCE), false, 16);
    fix.fake.config[6] |= VNET_S_ANNOUNCE; /* restored from a snapshot */
    assert_int_equal(fix_start(&fix), 0);
    fix.nic.net.on_announce = NULL;
    assert_int_equal(converse(), 0);
    void (*const nothing)(void *) = NULL;
    assert_true(fix.nic.net.on_announce == nothing && fix.nic.announce_due);
    fix_close(&fix);
}

static void the_word_is_nothing_without_the_feature(void **state)
{
    (void)state;
    fix_open(&fix, V1 | CTRL | BIT(VNET_F_STATUS), false, 16);
    set_status(VNET_S_LINK_UP | VNET_S_ANNOUNCE);
    assert_int_equal(converse(), 0);
    assert_int_equal(fix.announce_calls, 0);
    fix_close(&fix);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, fresh)
        T(every_command_has_the_specified_bytes),
        T(the_tables_hold_our_own_address_when_the_device_may_not_know_it),
        T(nothing_is_said_until_the_stack_has_wishes),
        T(every_layout_carries_commands),
        T(only_what_was_negotiated_is_said),
        T(a_burst_of_wishes_is_one_command_with_the_last),
        T(without_ipv4_broadcasts_are_not_wanted),
        T(a_vlan_is_told_and_only_then_negotiated),
        T(a_made_up_address_is_told),
        T(features_only_for_measuring_are_told),
        T(with_mq_the_control_queue_stands_behind_all_pairs),
        T(pairs_that_make_no_sense_are_no_reason_to_fail),
        T(a_refused_table_becomes_all_multicast),
        T(what_no_filter_can_do_everything_does),
        T(a_refused_vlan_is_taken_from_everything),
        T(answers_that_are_none_count_as_errors),
        T(a_command_without_an_answer_is_given_up_and_the_nic_goes_on),
        T(an_answer_that_comes_late_is_taken),
        T(a_lie_on_this_queue_ends_its_use_and_frames_go_on),
        T(a_queue_too_short_for_a_command_is_left_alone),
        T(the_answer_interrupts_a_loop_that_sleeps),
        T(after_a_reset_everything_is_told_again),
        T(a_reset_ends_the_wait_for_an_answer),
        T(an_announcement_is_made_and_then_acknowledged),
        T(an_announcement_waits_for_the_stack),
        T(the_word_is_nothing_without_the_feature),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
