/* Reset, negotiation, start, configuration, over a transport made of C. virtio 1.2 chapters 2 and 3. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/virtio/device.h"
#include "drivers/virtio/spec.h"
#include "port/clock.h"
#include "tests/fake/fake_vdev.h"
#include "tests/host/support/net_env.h"

#define BIT(n) (1ull << (n))
#define V1 VIRTIO_VERSION_1

static struct fake_vdev fake;

/* Every status and feature write, in order: "s01 s03 f… s0b". */
static char trace[512];
static void (*real_set_status)(struct virtio_dev *dev, uint8_t status);
static void (*real_set_features)(struct virtio_dev *dev, uint64_t features);

static void note(char what, unsigned long long value)
{
    const size_t len = strlen(trace);

    snprintf(trace + len, sizeof(trace) - len, "%s%c%llx", len ? " " : "", what, value);
}

static void traced_set_status(struct virtio_dev *dev, uint8_t status)
{
    note('s', status);
    real_set_status(dev, status);
}

static void traced_set_features(struct virtio_dev *dev, uint64_t features)
{
    note('f', features);
    real_set_features(dev, features);
}

static void offer(uint64_t features, bool legacy)
{
    net_env_init(64);
    fake_vdev_init(&fake, features, 256, legacy);
    real_set_status = fake.transport.set_status;
    real_set_features = fake.transport.set_features;
    fake.transport.set_status = traced_set_status;
    fake.transport.set_features = traced_set_features;
    trace[0] = '\0';
}

static int unhurt(void **state)
{
    (void)state;
    if (fake.violations)
        print_error("driver: %s\n", fake.violation);
    return fake.violations ? -1 : 0;
}

/* ---- order ---- */

static void a_modern_device_is_negotiated_in_the_order_of_the_specification(void **state)
{
    (void)state;
    offer(V1 | BIT(5) | BIT(9), false);
    assert_int_equal(virtio_negotiate(&fake.dev, V1 | BIT(5), 0, NULL), 0);
    virtio_start(&fake.dev);
    assert_string_equal(trace, "s0 s1 s3 f100000020 sb sf");
    assert_int_equal(fake.dev.accepted, V1 | BIT(5));
    assert_true(virtio_has(&fake.dev, 5));
    assert_false(virtio_has(&fake.dev, 9));
}

static void a_legacy_device_knows_no_features_ok(void **state)
{
    (void)state;
    offer(BIT(5), true);
    assert_int_equal(virtio_negotiate(&fake.dev, V1 | BIT(5), 0, NULL), 0);
    virtio_start(&fake.dev);
    assert_string_equal(trace, "s0 s1 s3 f20 s7");
}

static void negotiating_again_starts_afresh(void **state)
{
    (void)state;
    offer(V1 | BIT(5), false);
    assert_int_equal(virtio_negotiate(&fake.dev, BIT(5), 0, NULL), 0);
    virtio_start(&fake.dev);
    trace[0] = '\0';
    assert_int_equal(virtio_negotiate(&fake.dev, 0, 0, NULL), 0);
    assert_string_equal(trace, "s0 s1 s3 f100000000 sb");
    assert_int_equal(fake.dev.accepted, V1);
}

/* ---- which bits ---- */

static void version_1_is_accepted_whether_or_not_the_driver_asks(void **state)
{
    (void)state;
    offer(V1, false);
    assert_int_equal(virtio_negotiate(&fake.dev, 0, 0, NULL), 0);
    assert_int_equal(fake.features, V1);
}

static void a_modern_device_without_version_1_is_given_up(void **state)
{
    (void)state;
    offer(BIT(5), false);
    assert_int_equal(virtio_negotiate(&fake.dev, BIT(5), 0, NULL), -ENOTSUP);
    assert_int_equal(fake.status & VIRTIO_S_FAILED, VIRTIO_S_FAILED);
    assert_int_equal(fake.dev.accepted, 0);
    assert_int_equal(net_env_errors(), 1);
}

static void legacy_carries_32_bits_only(void **state)
{
    (void)state;
    offer(V1 | BIT(40) | BIT(31), true);
    assert_int_equal(virtio_negotiate(&fake.dev, UINT64_MAX, 0, NULL), 0);
    assert_int_equal(fake.features, BIT(31));
}

static void a_required_bit_that_is_not_offered_gives_the_device_up(void **state)
{
    (void)state;
    offer(V1 | BIT(5), false);
    assert_int_equal(virtio_negotiate(&fake.dev, BIT(5) | BIT(7), BIT(7), NULL), -ENOTSUP);
    assert_int_equal(fake.status & VIRTIO_S_FAILED, VIRTIO_S_FAILED);
    assert_true(net_env_logged("0x80"));
    assert_int_equal(net_env_errors(), 1);
}

static void a_bit_without_its_prerequisite_is_dropped_and_what_hangs_on_it(void **state)
{
    static const struct virtio_depend depends[] = {
        {BIT(3), BIT(2)}, {BIT(2), BIT(1)}, {BIT(5), BIT(1) | BIT(4)}, {0, 0}};
    (void)state;
    offer(V1 | BIT(2) | BIT(3) | BIT(4) | BIT(5), false);
    assert_int_equal(virtio_negotiate(&fake.dev, 0xff, 0, depends), 0);
    assert_int_equal(fake.features, V1 | BIT(4) | BIT(5)); /* one of two is enough */
}

static void a_required_bit_that_falls_with_its_prerequisite_gives_the_device_up(void **state)
{
    static const struct virtio_depend depends[] = {{BIT(3), BIT(2)}, {0, 0}};
    (void)state;
    offer(V1 | BIT(3), false);
    assert_int_equal(virtio_negotiate(&fake.dev, 0xff, BIT(3), depends), -ENOTSUP);
}

/* ---- lies ---- */

static void refused_features_give_the_device_up(void **state)
{
    (void)state;
    offer(V1, false);
    fake.fault = FAKE_FEATURES_REFUSED;
    assert_int_equal(virtio_negotiate(&fake.dev, 0, 0, NULL), -ENOTSUP);
    assert_int_equal(fake.status & VIRTIO_S_FAILED, VIRTIO_S_FAILED);
    assert_int_equal(fake.dev.accepted, 0);
    assert_int_equal(net_env_errors(), 1);
}

static void a_reset_that_never_ends_is_waited_for_one_second(void **state)
{
    uint64_t start_us;
    (void)state;
    offer(V1, false);
    fake.fault = FAKE_RESET_NEVER_ENDS;
    start_us = clock_now_us();
    assert_int_equal(virtio_negotiate(&fake.dev, 0, 0, NULL), -ETIMEDOUT);
    assert_in_range(clock_now_us() - start_us, 1000000, 3000000);
    assert_int_equal(net_env_errors(), 1);
}

static unsigned reads_until_done;
static uint8_t slow_status(struct virtio_dev *dev)
{
    (void)dev;
    if (reads_until_done == 0)
        return 0;
    reads_until_done--;
    return VIRTIO_S_DRIVER_OK;
}

static void a_slow_reset_is_waited_for(void **state)
{
    (void)state;
    offer(V1, false);
    fake.transport.get_status = slow_status;
    reads_until_done = 5000; /* 50 ms */
    assert_int_equal(virtio_reset(&fake.dev), 0);
    assert_int_equal(reads_until_done, 0);
}

static void a_device_that_is_gone_is_not_waited_for(void **state)
{
    uint64_t start_us;
    (void)state;
    offer(V1, false);
    fake.fault = FAKE_GONE;
    start_us = clock_now_us();
    assert_int_equal(virtio_negotiate(&fake.dev, 0, 0, NULL), -ENODEV);
    assert_true(clock_now_us() - start_us < 500000);
    assert_int_equal(virtio_look(&fake.dev), -ENODEV);
    assert_int_equal(net_env_errors(), 1);
}

static uint8_t gone_after_features(struct virtio_dev *dev)
{
    (void)dev;
    return fake.features ? 0xff : 0;
}

static void a_device_pulled_out_while_negotiating_has_not_agreed(void **state)
{
    (void)state;
    offer(V1, false);
    fake.transport.get_status = gone_after_features;
    assert_int_equal(virtio_negotiate(&fake.dev, 0, 0, NULL), -ENOTSUP);
}

static void a_reset_wished_for_is_noticed_and_its_bit_not_cleared(void **state)
{
    (void)state;
    offer(V1, false);
    assert_int_equal(virtio_negotiate(&fake.dev, 0, 0, NULL), 0);
    assert_int_equal(virtio_look(&fake.dev), -ESTALE); /* not yet */
    fake.status |= VIRTIO_S_NEEDS_RESET;
    assert_int_equal(virtio_look(&fake.dev), -EIO);
    virtio_start(&fake.dev); /* the fake watches */
    assert_int_equal(fake.status, 0x4f);
}

static void a_started_device_is_well_until_its_status_says_otherwise(void **state)
{
    (void)state;
    offer(V1, false);
    assert_int_equal(virtio_negotiate(&fake.dev, 0, 0, NULL), 0);
    virtio_start(&fake.dev);
    assert_int_equal(virtio_look(&fake.dev), 0);
    fake.status = 0;
    assert_int_equal(virtio_look(&fake.dev), -ESTALE);
}

static void a_reset_just_done_is_not_done_again(void **state)
{
    (void)state;
    offer(V1, false);
    virtio_reset_begin(&fake.dev);
    assert_int_equal(virtio_reset_ended(&fake.dev), 0);
    assert_int_equal(virtio_negotiate(&fake.dev, 0, 0, NULL), 0);
    assert_int_equal(fake.resets, 1);
    assert_int_equal(virtio_negotiate(&fake.dev, 0, 0, NULL), 0);
    assert_int_equal(fake.resets, 2);
}

static void a_device_in_service_is_not_waited_for_as_long_as_at_boot(void **state)
{
    (void)state;
    offer(V1, false);
    assert_int_equal(virtio_negotiate(&fake.dev, 0, 0, NULL), 0);
    virtio_start(&fake.dev);
    fake.fault = FAKE_RESET_NEVER_ENDS;
    const uint64_t start_us = clock_now_us();
    assert_int_equal(virtio_reset(&fake.dev), -ETIMEDOUT);
    assert_true(clock_now_us() - start_us < VIRTIO_RESET_TIMEOUT_MS * 1000 / 2);
}

static uint8_t nonsense(struct virtio_dev *dev)
{
    (void)dev;
    return fake.status | 0x30;
}

static void nonsense_in_the_status_is_not_written_back(void **state)
{
    (void)state;
    offer(V1, false);
    assert_int_equal(virtio_negotiate(&fake.dev, 0, 0, NULL), 0);
    fake.transport.get_status = nonsense; /* reserved bits */
    trace[0] = '\0';
    virtio_start(&fake.dev);
    assert_string_equal(trace, "sf");
}

/* ---- configuration ---- */

static void configuration_is_read_when_it_has_settled(void **state)
{
    uint8_t mac[6];
    (void)state;
    offer(V1, false);
    assert_int_equal(virtio_config_read(&fake.dev, 0, mac, 6), 0);
    assert_memory_equal(mac, "\x52\x54\x00\x12\x34\x56", 6);
}

static unsigned changes_left;
static int config_changing(struct virtio_dev *dev, uint32_t offset, void *buf, uint32_t len)
{
    (void)dev;
    if (changes_left) {
        changes_left--;
        fake.generation++;
        fake.config[offset]++;
    }
    memcpy(buf, fake.config + offset, len);
    return 0;
}

static void a_change_between_two_reads_is_noticed(void **state)
{
    for (int legacy = 0; legacy <= 1; legacy++) {
        uint8_t got;
        (void)state;
        offer(V1, legacy);
        fake.transport.config_read = config_changing;
        fake.config[20] = 0;
        changes_left = 3;
        assert_int_equal(virtio_config_read(&fake.dev, 20, &got, 1), 0);
        assert_int_equal(got, 3);
    }
}

static void configuration_that_never_settles_is_an_error(void **state)
{
    for (int legacy = 0; legacy <= 1; legacy++) {
        uint8_t got;
        (void)state;
        offer(V1, legacy);
        fake.transport.config_read = config_changing;
        changes_left = UINT32_MAX;
        assert_int_equal(virtio_config_read(&fake.dev, 20, &got, 1), -EAGAIN);
    }
}

static void configuration_ends_where_the_device_says(void **state)
{
    uint8_t all[VIRTIO_CONFIG_READ_MAX + 1];
    for (int legacy = 0; legacy <= 1; legacy++) {
        (void)state;
        offer(V1, legacy);
        fake.config_len = 12;
        assert_int_equal(virtio_config_read(&fake.dev, 10, all, 2), 0);
        assert_int_equal(virtio_config_read(&fake.dev, 10, all, 3), -ERANGE);
        assert_int_equal(virtio_config_read(&fake.dev, UINT32_MAX, all, 2), -ERANGE);
        fake.config_len = FAKE_CONFIG_BYTES;
        assert_int_equal(virtio_config_read(&fake.dev, 0, all, sizeof(all)), -ERANGE);
        assert_int_equal(virtio_config_read(&fake.dev, 0, all, 0), -ERANGE);
    }
}

#define T(name) cmocka_unit_test_teardown(name, unhurt)

int main(void)
{
    const struct CMUnitTest tests[] = {
        T(a_modern_device_is_negotiated_in_the_order_of_the_specification),
        T(a_legacy_device_knows_no_features_ok),
        T(negotiating_again_starts_afresh),
        T(version_1_is_accepted_whether_or_not_the_driver_asks),
        T(a_modern_device_without_version_1_is_given_up),
        T(legacy_carries_32_bits_only),
        T(a_required_bit_that_is_not_offered_gives_the_device_up),
        T(a_bit_without_its_prerequisite_is_dropped_and_what_hangs_on_it),
        T(a_required_bit_that_falls_with_its_prerequisite_gives_the_device_up),
        T(refused_features_give_the_device_up),
        T(a_reset_that_never_ends_is_waited_for_one_second),
        T(a_slow_reset_is_waited_for),
        T(a_device_that_is_gone_is_not_waited_for),
        T(a_device_pulled_out_while_negotiating_has_not_agreed),
        T(a_reset_wished_for_is_noticed_and_its_bit_not_cleared),
        T(a_started_device_is_well_until_its_status_says_otherwise),
        T(a_reset_just_done_is_not_done_again),
        T(a_device_in_service_is_not_waited_for_as_long_as_at_boot),
        T(nonsense_in_the_status_is_not_written_back),
        T(configuration_is_read_when_it_has_settled),
        T(a_change_between_two_reads_is_noticed),
        T(configuration_that_never_settles_is_an_error),
        T(configuration_ends_where_the_device_says),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
