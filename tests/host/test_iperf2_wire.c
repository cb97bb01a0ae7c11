/* apps/iperf/iperf2_wire.c: what clients of 2.1 and 2.2 sent, byte for byte, and what nobody should send. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "apps/iperf/iperf2_wire.h"

/* The shortest header with ext: before version 2.2 its last word was missing. */
enum { EXT_LEN = sizeof(struct iperf2_base) + sizeof(struct iperf2_ext) - sizeof(be32) };

static struct iperf2_tcp_header tcp_header(uint32_t flags, uint16_t upper)
{
    struct iperf2_tcp_header h = {0};
    h.base.flags = be32_make(flags);
    h.base.port = be32_make(5001);
    h.base.amount = be32_make((uint32_t)-1000); /* ten seconds */
    h.ext.upper = be16_make(upper);
    h.ext.version_hi = be32_make(0x00020001);
    return h;
}

static struct iperf2_request decode(const struct iperf2_tcp_header *h)
{
    struct iperf2_request req;
    assert_int_equal(iperf2_decode_tcp(h, sizeof(*h), &req), 0);
    return req;
}

/* ---- the header's length ---- */

static void data_without_known_flags_has_no_header(void **state)
{
    (void)state;
    assert_int_equal(iperf2_tcp_header_len(0x30313233), 0);
    assert_int_equal(iperf2_tcp_header_len(0), 0);
}

static void the_length_follows_from_the_flags_or_is_told(void **state)
{
    (void)state;
    assert_int_equal(iperf2_tcp_header_len((uint32_t)IPERF2_VERSION1), 24);
    assert_int_equal(iperf2_tcp_header_len(IPERF2_EXTEND), 64);
    assert_int_equal(iperf2_tcp_header_len(IPERF2_VERSION2), 40);
    assert_int_equal(iperf2_tcp_header_len(IPERF2_EXTEND | IPERF2_LEN | 80 << 1), 80);
    assert_int_equal(iperf2_tcp_header_len(IPERF2_EXTEND | IPERF2_LEN), 0);
    assert_int_equal(iperf2_tcp_header_len(IPERF2_BOUNCEBACK), 64);
}

static void no_flags_promise_more_than_the_buffer_holds(void **state)
{
    (void)state;
    for (uint32_t bits = 0; bits < 1u << 16; bits++)
        assert_true(iperf2_tcp_header_len(bits << 16 | 0x1ff) <= IPERF2_HEADER_MAX);
}

/* ---- TCP requests ---- */

static void a_plain_client_wants_an_ack_and_sends(void **state)
{
    (void)state;
    const struct iperf2_tcp_header h = tcp_header(IPERF2_EXTEND, 0);
    const struct iperf2_request req = decode(&h);
    assert_int_equal(req.mode, IPERF2_RECEIVE);
    assert_true(req.want_ack);
    assert_int_equal(req.duration_us, 10000000);
    assert_int_equal(req.amount_bytes, 0);
}

static void an_amount_of_bytes_has_no_duration(void **state)
{
    (void)state;
    struct iperf2_tcp_header h = tcp_header(IPERF2_EXTEND, 0);
    h.base.amount = be32_make(10485760);
    const struct iperf2_request req = decode(&h);
    assert_int_equal(req.duration_us, 0);
    assert_int_equal(req.amount_bytes, 10485760);
}

static void the_flags_say_which_way_data_flows(void **state)
{
    (void)state;
    const uint32_t v1 = (uint32_t)IPERF2_VERSION1 | IPERF2_EXTEND;
    const uint32_t v2 = IPERF2_VERSION2 | IPERF2_EXTEND;
    const struct {
        uint32_t flags;
        uint16_t upper;
        enum iperf2_mode mode;
    } table[] = {
        {v1, 0, IPERF2_TRADEOFF},
        {v1 | IPERF2_RUN_NOW, 0, IPERF2_DUALTEST},
        {v2, IPERF2_UP_REVERSE, IPERF2_REVERSE},
        {v2, IPERF2_UP_FULL_DUPLEX, IPERF2_FULL_DUPLEX},
        {v2 | (uint32_t)IPERF2_VERSION1, IPERF2_UP_REVERSE, IPERF2_REVERSE},
        {v2, 0, IPERF2_RECEIVE},
    };
    for (size_t i = 0; i < ARRAY_COUNT(table); i++) {
        const struct iperf2_tcp_header h = tcp_header(table[i].flags, table[i].upper);
        assert_int_equal(decode(&h).mode, table[i].mode);
    }
}

static void a_transfer_id_is_no_two_way_test(void **state)
{
    (void)state;
    struct iperf2_tcp_header h = tcp_header((uint32_t)IPERF2_VERSION1 | IPERF2_EXTEND, 0);
    h.base.threads = be32_make(0x80000000u | 3u << 20 | 1);
    assert_int_equal(decode(&h).mode, IPERF2_RECEIVE);
}

static void only_old_or_asking_clients_get_an_ack(void **state)
{
    (void)state;
    const struct iperf2_tcp_header quiet =
        tcp_header(IPERF2_EXTEND | IPERF2_VERSION2, IPERF2_UP_REVERSE);
    const struct iperf2_tcp_header asking =
        tcp_header(IPERF2_EXTEND | IPERF2_VERSION2 | IPERF2_PEERDETECT, 0);
    assert_false(decode(&quiet).want_ack);
    assert_true(decode(&asking).want_ack);
}

static void a_rate_beyond_32_bits_survives(void **state)
{
    (void)state;
    struct iperf2_tcp_header h = tcp_header(IPERF2_EXTEND, 0);
    h.ext.rate_lo = be32_make(0x54c2d6c0); /* 40 Gbit/s = 0x9_502F9000 */
    h.ext.rate_hi = be32_make(9u << 8);
    assert_int_equal(decode(&h).rate_bit_s, 9ull << 32 | 0x54c2d6c0);
}

static void a_permit_key_is_refused(void **state)
{
    (void)state;
    const struct iperf2_tcp_header h = tcp_header(IPERF2_EXTEND | IPERF2_KEY, 0);
    struct iperf2_request req;
    assert_int_equal(iperf2_decode_tcp(&h, sizeof(h), &req), -EPERM);
}

static void a_header_shorter_than_its_flags_need_is_refused(void **state)
{
    (void)state;
    const struct iperf2_tcp_header h = tcp_header(IPERF2_EXTEND, 0);
    struct iperf2_request req;
    assert_int_equal(iperf2_decode_tcp(&h, EXT_LEN - 1, &req), -EPROTO);
    assert_int_equal(iperf2_decode_tcp(&h, EXT_LEN, &req), 0);
    assert_int_equal(iperf2_decode_tcp(&h, 4, &req), -EPROTO);
}

static void a_duration_of_months_is_cut_to_a_day(void **state)
{
    (void)state;
    struct iperf2_tcp_header h = tcp_header(IPERF2_EXTEND, 0);
    h.base.amount = be32_make(0x80000000u);
    assert_int_equal(decode(&h).duration_us, 86400000000ull);
}

static void trip_times_and_start_are_microseconds(void **state)
{
    (void)state;
    struct iperf2_tcp_header h =
        tcp_header(IPERF2_EXTEND, IPERF2_UP_TRIP_TIMES | IPERF2_UP_EPOCH_START);
    h.start.sec = be32_make(1700000000);
    h.start.usec = be32_make(250000);
    const struct iperf2_request req = decode(&h);
    assert_true(req.trip_times);
    assert_int_equal(req.sent_wall_us, 1700000000250000);
    assert_int_equal(req.start_wall_us, 1700000000250000);
}

/* ---- bursts ---- */

static void isochronous_bursts_are_the_rate_over_the_frequency(void **state)
{
    (void)state;
    struct iperf2_tcp_header h = tcp_header(IPERF2_EXTEND, IPERF2_UP_ISOCH);
    h.isoch.fps = be32_make(60);
    h.isoch.mean = be32_make(48000000);
    const struct iperf2_request req = decode(&h);
    assert_int_equal(req.pacing, IPERF2_ISOCHRONOUS);
    assert_int_equal(req.burst_period_us, 16666);
    assert_int_equal(req.burst_mean, 100000);
}

static void no_frequency_means_once_a_second_and_no_flood(void **state)
{
    (void)state;
    struct iperf2_tcp_header h = tcp_header(IPERF2_EXTEND, IPERF2_UP_PERIODIC_BURST);
    h.isoch.mean = be32_make(UINT32_MAX);
    assert_int_equal(decode(&h).burst_period_us, 1000000);
    assert_int_equal(decode(&h).burst_mean, IPERF2_BURST_MAX);
    h.isoch.fps = be32_make(UINT32_MAX);
    assert_int_equal(decode(&h).burst_period_us, 100);
}

static void a_burst_header_tells_its_size_and_times(void **state)
{
    (void)state;
    struct iperf2_burst b;
    iperf2_encode_burst(&b, &(struct iperf2_burst_facts){.start_us = 5000001,
                                                         .now_us = 6000002,
                                                         .period_us = 100,
                                                         .id = 7,
                                                         .size = 131072,
                                                         .seq = 0x100000001});
    const uint8_t *raw = (const uint8_t *)&b;
    assert_memory_equal(raw + 12, "\0\0\0\5\0\0\0\1\0\0\0\6\0\0\0\2", 16);
    assert_memory_equal(raw + 40, "\0\0\0\x64\0\0\0\7\0\2\0\0\0\0\0\1\0\0\0\1", 20);
}

/* ---- UDP ---- */

static void an_id_is_a_signed_64_bit_number_with_its_low_half_first(void **state)
{
    (void)state;
    uint8_t raw[16] = {0, 0, 0, 5, [12] = 0, 0, 0, 1};
    assert_int_equal(iperf2_datagram_id(raw, sizeof(raw)), 0x100000005);

    struct iperf2_datagram d;
    iperf2_datagram_put(&d, -1704, 1700000000250000);
    assert_int_equal(iperf2_datagram_id(&d, sizeof(d)), -1704);
    assert_int_equal(iperf2_datagram_sent_us(&d), 1700000000250000);
}

static void flags_without_seq64_make_it_a_32_bit_number(void **state)
{
    (void)state;
    uint8_t raw[20] = {0xff, 0xff, 0xff, 0xff, [16] = 0x40};
    assert_int_equal(iperf2_datagram_id(raw, sizeof(raw)), -1);
    raw[16] = 0x48;
    assert_int_equal(iperf2_datagram_id(raw, sizeof(raw)), 0xffffffff);
}

static void a_datagram_without_header_is_a_plain_test(void **state)
{
    (void)state;
    const uint8_t raw[64] = {0, 0, 0, 1};
    struct iperf2_request req;
    for (size_t len = 16; len <= sizeof(raw); len++) {
        assert_int_equal(iperf2_decode_udp(raw, len, &req), 0);
        assert_int_equal(req.mode, IPERF2_RECEIVE);
    }
    assert_int_equal(iperf2_decode_udp(raw, 15, &req), -EPROTO);
}

static struct iperf2_udp_header reverse_udp_header(void)
{
    struct iperf2_udp_header h = {0};
    h.base.flags = be32_make(IPERF2_EXTEND | IPERF2_SEQ64 | IPERF2_UDP_TESTS | IPERF2_VERSION2);
    h.base.port = be32_make(5001);
    h.base.buf_len = be32_make(IPERF2_UDP_MAX);
    h.ext.upper = be16_make(IPERF2_UP_REVERSE | IPERF2_UP_NO_UDP_FIN);
    h.ext.version_hi = be32_make(0x00020001);
    h.ext.rate_lo = be32_make(10000000);
    return h;
}

static void a_reverse_udp_client_says_rate_and_length(void **state)
{
    (void)state;
    const struct iperf2_udp_header h = reverse_udp_header();
    struct iperf2_request req;
    assert_int_equal(iperf2_decode_udp(&h, sizeof(h), &req), 0);
    assert_int_equal(req.mode, IPERF2_REVERSE);
    assert_int_equal(req.rate_bit_s, 10000000);
    assert_int_equal(req.buf_len, IPERF2_UDP_MAX);
    assert_true(req.no_udp_fin);
}

static enum iperf2_mode udp_mode(const struct iperf2_udp_header *h)
{
    struct iperf2_request req;
    assert_int_equal(iperf2_decode_udp(h, sizeof(*h), &req), 0);
    return req.mode;
}

static void a_udp_header_that_no_client_writes_makes_nobody_send(void **state)
{
    (void)state;
    struct iperf2_udp_header h = reverse_udp_header();
    h.base.port = be32_make(65536);
    assert_int_equal(udp_mode(&h), IPERF2_RECEIVE);
    h = reverse_udp_header();
    h.base.buf_len = be32_make(IPERF2_UDP_MAX + 1);
    assert_int_equal(udp_mode(&h), IPERF2_RECEIVE);
    h = reverse_udp_header();
    h.ext.version_hi = be32_make(0x00030001);
    assert_int_equal(udp_mode(&h), IPERF2_RECEIVE);

    uint64_t x = 88172645463325252u; /* xorshift64 */
    for (unsigned n = 0; n < 100000; n++) {
        uint64_t words[(sizeof(h) + 7) / 8];
        for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
            x ^= x << 13, x ^= x >> 7, x ^= x << 17;
            words[i] = x;
        }
        memcpy(&h, words, sizeof(h));
        assert_int_equal(udp_mode(&h), IPERF2_RECEIVE);
    }
}

static void the_isoch_fields_follow_the_clients_version(void **state)
{
    (void)state;
    struct iperf2_udp_header h = {0};
    struct iperf2_request req;
    h.base.flags = be32_make(IPERF2_EXTEND);
    h.ext.version_hi = be32_make(0x00020001);
    assert_int_equal(iperf2_decode_udp(&h, sizeof(h), &req), 0);
    assert_true(req.short_ext);
    h.ext.version_hi = be32_make(0x00020002);
    assert_int_equal(iperf2_decode_udp(&h, sizeof(h), &req), 0);
    assert_false(req.short_ext);
}

/* ---- answers ---- */

static void an_ack_has_times_only_with_trip_times(void **state)
{
    (void)state;
    struct iperf2_ack ack;
    struct iperf2_request req = {0};
    assert_int_equal(iperf2_encode_ack(&ack, &req, 1, 2), 28);
    assert_memory_equal(&ack, "\0\0\0\2\0\0\0\x1c", 8);
    req.trip_times = true;
    req.sent_wall_us = 3000004;
    assert_int_equal(iperf2_encode_ack(&ack, &req, 5000006, 7000008), 52);
    assert_memory_equal((uint8_t *)&ack + 28, "\0\0\0\3\0\0\0\4\0\0\0\5\0\0\0\6\0\0\0\7\0\0\0\x8",
                        24);
}

static void our_own_header_is_one_that_we_understand(void **state)
{
    (void)state;
    struct iperf2_tcp_header h;
    const struct iperf2_request asked = {.trip_times = true};
    iperf2_encode_first(&h, &asked, 9000001);
    const uint32_t flags = be32_get(h.base.flags);
    assert_int_equal(iperf2_tcp_header_len(flags), sizeof(h));
    assert_int_equal(decode(&h).sent_wall_us, 9000001);
}

/* ---- bounce back ---- */

static struct iperf2_bounce bounce(uint32_t size, uint16_t flags, uint32_t reply)
{
    struct iperf2_bounce b = {0};
    b.size = be32_make(size);
    b.bounce_flags = be16_make(flags);
    b.reply_size = be32_make(reply);
    return b;
}

static void a_reply_is_as_long_as_the_request_unless_told(void **state)
{
    (void)state;
    struct iperf2_bounce_request req;
    struct iperf2_bounce b = bounce(100, 0, 7777);
    assert_int_equal(iperf2_decode_bounce(&b, sizeof(b), &req), 0);
    assert_int_equal(req.reply_size, 100);
    b = bounce(100, IPERF2_BB_REPLY_SIZE, 7777);
    assert_int_equal(iperf2_decode_bounce(&b, sizeof(b), &req), 0);
    assert_int_equal(req.reply_size, 7777);
}

static void a_bounce_of_an_absurd_size_is_refused(void **state)
{
    (void)state;
    struct iperf2_bounce_request req;
    const uint32_t bad[] = {0, IPERF2_BOUNCE_MIN - 1, IPERF2_BOUNCE_MAX + 1, UINT32_MAX};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        struct iperf2_bounce b = bounce(bad[i], 0, 0);
        assert_int_equal(iperf2_decode_bounce(&b, sizeof(b), &req), -EPROTO);
        b = bounce(100, IPERF2_BB_REPLY_SIZE, bad[i]);
        assert_int_equal(iperf2_decode_bounce(&b, sizeof(b), &req), -EPROTO);
    }
}

static void a_hold_is_cut_to_ten_seconds(void **state)
{
    (void)state;
    struct iperf2_bounce_request req;
    struct iperf2_bounce b = bounce(100, 0, 0);
    b.hold_us = be32_make(UINT32_MAX);
    assert_int_equal(iperf2_decode_bounce(&b, sizeof(b), &req), 0);
    assert_int_equal(req.hold_us, 10000000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(data_without_known_flags_has_no_header),
        cmocka_unit_test(the_length_follows_from_the_flags_or_is_told),
        cmocka_unit_test(no_flags_promise_more_than_the_buffer_holds),
        cmocka_unit_test(a_plain_client_wants_an_ack_and_sends),
        cmocka_unit_test(an_amount_of_bytes_has_no_duration),
        cmocka_unit_test(the_flags_say_which_way_data_flows),
        cmocka_unit_test(a_transfer_id_is_no_two_way_test),
        cmocka_unit_test(only_old_or_asking_clients_get_an_ack),
        cmocka_unit_test(a_rate_beyond_32_bits_survives),
        cmocka_unit_test(a_permit_key_is_refused),
        cmocka_unit_test(a_header_shorter_than_its_flags_need_is_refused),
        cmocka_unit_test(a_duration_of_months_is_cut_to_a_day),
        cmocka_unit_test(trip_times_and_start_are_microseconds),
        cmocka_unit_test(isochronous_bursts_are_the_rate_over_the_frequency),
        cmocka_unit_test(no_frequency_means_once_a_second_and_no_flood),
        cmocka_unit_test(a_burst_header_tells_its_size_and_times),
        cmocka_unit_test(an_id_is_a_signed_64_bit_number_with_its_low_half_first),
        cmocka_unit_test(flags_without_seq64_make_it_a_32_bit_number),
        cmocka_unit_test(a_datagram_without_header_is_a_plain_test),
        cmocka_unit_test(a_reverse_udp_client_says_rate_and_length),
        cmocka_unit_test(a_udp_header_that_no_client_writes_makes_nobody_send),
        cmocka_unit_test(the_isoch_fields_follow_the_clients_version),
        cmocka_unit_test(an_ack_has_times_only_with_trip_times),
        cmocka_unit_test(our_own_header_is_one_that_we_understand),
        cmocka_unit_test(a_reply_is_as_long_as_the_request_unless_told),
        cmocka_unit_test(a_bounce_of_an_absurd_size_is_refused),
        cmocka_unit_test(a_hold_is_cut_to_ten_seconds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
