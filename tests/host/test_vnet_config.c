/* The device's configuration: what is believed at start, and what is followed when it changes. virtio 1.2 §5.1.4. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "tests/host/support/clock.h"
#include "tests/host/support/vnet_fixture.h"

#define V1 BIT(VNET_F_VERSION_1)

enum { AT_MAC = 0, AT_STATUS = 6, AT_MTU = 10, AT_SPEED = 12, AT_DUPLEX = 16 };

static struct vnet_fixture fix;

static int fresh(void **state)
{
    (void)state;
    memset(&fix, 0, sizeof(fix));
    host_clock_advance(2 * 1000 * 1000); /* no line is held back because of the test before */
    return 0;
}

/* The configuration changes, and the device says so. */
static void change(uint32_t offset, const void *bytes, uint32_t len)
{
    struct frame_in frame;

    fake_config_set(&fix.fake, offset, bytes, len);
    vnet_interrupt(&fix.nic, true);
    fix_poll(&fix, &frame);
}

static void change16(uint32_t offset, uint16_t value)
{
    change(offset, &value, sizeof(value));
}

static void an_address_that_no_station_has_is_not_taken(void **state)
{
    (void)state;
    static const uint8_t bad[][6] = {{0}, {0x01, 0, 0x5e, 0, 0, 1}, {255, 255, 255, 255, 255, 255}};

    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        fix_prepare(&fix, V1 | BIT(VNET_F_MAC), false, 16);
        fake_config_set(&fix.fake, AT_MAC, bad[i], 6);
        assert_int_equal(fix_start(&fix), 0);
        assert_int_equal(fix.nic.net.mac[0] & 3, 2);
        assert_true(net_env_logged("one is made up"));
        fix_close(&fix);
    }
}

static void an_address_that_changes_is_followed(void **state)
{
    (void)state;
    static const uint8_t next[6] = {0x52, 0x54, 0, 0xaa, 0xbb, 0xcc}, group[6] = {0x33, 0x33};

    fix_open(&fix, V1 | BIT(VNET_F_MAC), false, 16);
    change(AT_MAC, next, 6);
    assert_memory_equal(fix.nic.net.mac, next, 6);
    assert_true(net_env_logged("its MAC address is now 52:54:00:aa:bb:cc"));
    change(AT_MAC, group, 6);
    assert_memory_equal(fix.nic.net.mac, next, 6);
    fix_close(&fix);
}

static void an_mtu_that_changes_is_followed_as_far_as_buffers_go(void **state)
{
    (void)state;
    for (unsigned mrg = 0; mrg < 2; mrg++) {
        fix_open(&fix, V1 | BIT(VNET_F_MTU) | (mrg ? BIT(VNET_F_MRG_RXBUF) : 0), false, 16);
        change16(AT_MTU, 1400);
        assert_int_equal(fix.nic.net.mtu, 1400);
        change16(AT_MTU, 67); /* carries no IPv4 */
        assert_int_equal(fix.nic.net.mtu, 1400);
        change16(AT_MTU, 9000);
        if (mrg)
            assert_int_equal(fix.nic.net.mtu, 9000);
        else
            assert_true(fix.nic.net.mtu >= 1500 && fix.nic.net.mtu < 1600);
        fix_close(&fix);
    }
}

static void the_speed_is_read_and_unknown_ones_are_zero(void **state)
{
    (void)state;
    static const struct {
        uint32_t told, mbps;
    } cases[] = {{25000, 25000}, {UINT32_MAX, 0}, {0x80000000, 0}, {INT32_MAX, INT32_MAX}};
    const uint8_t full = VNET_DUPLEX_FULL;

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        fix_prepare(&fix, V1 | BIT(VNET_F_SPEED_DUPLEX), false, 16);
        fake_config_set(&fix.fake, AT_SPEED, &cases[i].told, 4);
        fake_config_set(&fix.fake, AT_DUPLEX, &full, 1);
        assert_int_equal(fix_start(&fix), 0);
        assert_int_equal(fix.nic.speed_mbps, cases[i].mbps);
        fix_close(&fix);
    }
    fix_open(&fix, V1 | BIT(VNET_F_SPEED_DUPLEX), false, 16);
    change(AT_SPEED, &cases[0].told, 4);
    assert_int_equal(fix.nic.speed_mbps, 25000);
    fix_close(&fix);
}

static void a_link_that_flaps_is_told_once_a_second_and_in_the_end_rightly(void **state)
{
    (void)state;
    fix_open(&fix, V1 | BIT(VNET_F_STATUS), false, 16);
    for (unsigned i = 0; i < 1001; i++)
        change16(AT_STATUS, i % 2 ? VNET_S_LINK_UP : 0);
    assert_int_equal(fix.nic.net.link_changes, 1001);
    assert_false(fix.nic.net.link_up);
    assert_true(net_env_logged("link down") && net_env_logged("link up"));
    assert_true(fix.nic.link_said); /* "down", "up", and silence since */
    host_clock_advance(1100 * 1000);
    fix.nic.net.ops->tick(&fix.nic.net);
    assert_false(fix.nic.link_said);
    fix_close(&fix);
}

static unsigned config_reads;
static int (*real_read)(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len);

static int count_read(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len)
{
    config_reads++;
    return real_read(dev, offset, buf, len);
}

/* One vector for everything: each frame's interrupt may have been the configuration's. */
static void nothing_is_read_while_the_generation_stays(void **state)
{
    (void)state;
    struct frame_in frame;

    fix_open(&fix, V1 | BIT(VNET_F_STATUS) | BIT(VNET_F_MTU) | BIT(VNET_F_MAC), false, 16);
    real_read = fix.fake.transport.config_read;
    fix.fake.transport.config_read = count_read;
    config_reads = 0;
    for (unsigned i = 0; i < 10; i++) {
        vnet_interrupt(&fix.nic, true);
        fix_poll(&fix, &frame);
    }
    assert_int_equal(config_reads, 0);
    change16(AT_MTU, 1400);
    assert_true(config_reads > 0);
    assert_int_equal(fix.nic.net.mtu, 1400);
    fix_close(&fix);
    fix_open(&fix, BIT(VNET_F_STATUS), true, 16); /* legacy: no such count */
    change16(AT_STATUS, 0);
    assert_false(fix.nic.net.link_up);
    fix_close(&fix);
}

static void a_word_that_was_not_negotiated_is_not_read(void **state)
{
    (void)state;
    const uint32_t speed = 10;

    fix_open(&fix, V1, false, 16);
    change16(AT_STATUS, 0);
    change16(AT_MTU, 1280);
    change(AT_SPEED, &speed, 4);
    assert_true(fix.nic.net.link_up);
    assert_int_equal(fix.nic.net.mtu, 1500);
    assert_int_equal(fix.nic.speed_mbps, 0);
    fix_close(&fix);
}

static void a_configuration_that_never_settles_changes_nothing(void **state)
{
    (void)state;
    fix_open(&fix, V1 | BIT(VNET_F_STATUS) | BIT(VNET_F_MTU) | BIT(VNET_F_MAC), false, 16);
    fix.fake.fault = FAKE_CONFIG_NEVER_SETTLES;
    change16(AT_STATUS, 0);
    change16(AT_MTU, 1280);
    assert_true(fix.nic.net.link_up);
    assert_int_equal(fix.nic.net.mtu, 1500);
    fix.fake.fault = FAKE_HONEST;
    fix_close(&fix);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup(name, fresh)
        T(an_address_that_no_station_has_is_not_taken),
        T(an_address_that_changes_is_followed),
        T(an_mtu_that_changes_is_followed_as_far_as_buffers_go),
        T(the_speed_is_read_and_unknown_ones_are_zero),
        T(a_link_that_flaps_is_told_once_a_second_and_in_the_end_rightly),
        T(nothing_is_read_while_the_generation_stays),
        T(a_word_that_was_not_negotiated_is_not_read),
        T(a_configuration_that_never_settles_changes_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
