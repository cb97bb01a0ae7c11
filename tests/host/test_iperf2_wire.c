/* apps/iperf: the client's header, the datagrams' books and the report. Bytes are those of a real client (2.1.8). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "apps/iperf/burst.h"
#include "apps/iperf/iperf2_wire.h"
#include "apps/iperf/payload.h"
#include "apps/iperf/udp_stats.h"

/* What `iperf -c HOST -t 1` of version 2.1.8 sends first. */
static const uint8_t plain_tcp[60] = {
    0x40, 0x01, 0x00, 0x78, 0, 0, 0, 1, 0, 0, 0x17, 0x6f, 0, 0, 0, 0, 0, 0, 0, 0,
    0xff, 0xff, 0xff, 0x9c, 0, 0, 0, 0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 2, 0, 1,
    0,    8,    0,    3,    0, 0, 0, 0, 0, 0, 0,    0,    0, 0, 0, 0, 0, 0, 0, 0};

static void the_header_of_a_real_client_is_understood(void **state)
{
    struct iperf2_request req;

    (void)state;
    assert_int_equal(iperf2_tcp_header_len(0x40010078), sizeof(plain_tcp));
    assert_int_equal(iperf2_decode_tcp(plain_tcp, sizeof(plain_tcp), &req), 0);
    assert_int_equal(req.mode, IPERF2_RECEIVE);
    assert_true(req.want_ack);
    assert_int_equal(req.duration_us, 1000000);
    assert_true(req.short_ext);
    assert_false(req.trip_times);
}

static int decode_with(uint32_t flags, uint16_t upper, uint32_t amount, struct iperf2_request *req)
{
    struct iperf2_tcp_header h = {0};

    h.base.flags = be32_make(flags);
    h.base.port = be32_make(5002);
    h.base.buf_len = be32_make(131072);
    h.base.amount = be32_make(amount);
    h.ext.upper = be16_make(upper);
    h.ext.rate_lo = be32_make(1000000);
    return iperf2_decode_tcp(&h, sizeof(h), req);
}

static void every_mode_is_told_apart(void **state)
{
    const uint32_t v1 = (uint32_t)IPERF2_VERSION1;
    struct iperf2_request req;

    (void)state;
    assert_int_equal(decode_with(v1 | IPERF2_RUN_NOW, 0, 1, &req), 0);
    assert_int_equal(req.mode, IPERF2_DUALTEST);
    assert_int_equal(req.back_port, 5002);
    assert_int_equal(decode_with(v1, 0, 1, &req), 0);
    assert_int_equal(req.mode, IPERF2_TRADEOFF);
    assert_int_equal(decode_with(IPERF2_VERSION2 | IPERF2_EXTEND, IPERF2_UP_REVERSE, 1, &req), 0);
    assert_int_equal(req.mode, IPERF2_REVERSE);
    assert_int_equal(req.rate_bit_s, 1000000);
    assert_int_equal(decode_with(IPERF2_VERSION2 | IPERF2_EXTEND, IPERF2_UP_FULL_DUPLEX, 1, &req),
                     0);
    assert_int_equal(req.mode, IPERF2_FULL_DUPLEX);
}

static void amounts_are_bytes_or_hundredths_of_seconds_and_bounded(void **state)
{
    struct iperf2_request req;

    (void)state;
    assert_int_equal(decode_with(IPERF2_EXTEND, 0, 10485760, &req), 0);
    assert_int_equal(req.amount_bytes, 10485760);
    assert_int_equal(req.duration_us, 0);
    assert_int_equal(decode_with(IPERF2_EXTEND, 0, 0x80000000u, &req), 0);
    assert_int_equal(req.duration_us, (uint64_t)IPERF2_DURATION_MAX_S * 1000000);
}

static void a_permit_key_is_refused_and_a_short_header_is_nonsense(void **state)
{
    struct iperf2_request req;

    (void)state;
    assert_int_equal(decode_with(IPERF2_EXTEND | IPERF2_KEY, 0, 1, &req), -EPERM);
    assert_int_equal(iperf2_decode_tcp(plain_tcp, 59, &req), -EPROTO);
    assert_int_equal(iperf2_decode_tcp(plain_tcp, 4, &req), -EPROTO);
    assert_int_equal(iperf2_tcp_header_len(0), 0);          /* netcat's zeros: data */
    assert_int_equal(iperf2_tcp_header_len(0x31323334), 0); /* chargen's, too */
}

static void no_random_header_does_harm(void **state)
{
    uint8_t bytes[IPERF2_HEADER_MAX];
    struct iperf2_request req;
    struct iperf2_bounce_request bounce;

    (void)state;
    srand(5);
    for (int round = 0; round < 200000; round++) {
        for (size_t i = 0; i < sizeof(bytes); i++)
            bytes[i] = (uint8_t)rand();
        const size_t len = (size_t)rand() % sizeof(bytes);

        if (iperf2_decode_tcp(bytes, len, &req) == 0) {
            assert_true(req.duration_us <= (uint64_t)IPERF2_DURATION_MAX_S * 1000000);
            assert_true(burst_size(&req, 92, (uint64_t)rand()) <= IPERF2_BURST_MAX);
        }
        if (iperf2_decode_udp(bytes, len, &req) == 0)
            assert_true(req.buf_len <= IPERF2_UDP_MAX || req.buf_len == 0);
        if (iperf2_decode_bounce(bytes, len, &bounce) == 0)
            assert_true(bounce.size <= IPERF2_BOUNCE_MAX && bounce.hold_us <= IPERF2_HOLD_MAX_US);
    }
}

static void datagram_ids_have_64_signed_bits(void **state)
{
    static const int64_t ids[] = {
        1, -1, 8507, -8508, INT32_MAX, (int64_t)1 << 40, -((int64_t)1 << 40)};
    struct iperf2_datagram d;

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++) {
        iperf2_datagram_put(&d, ids[i], 1234567890123456);
        assert_int_equal(iperf2_datagram_id(&d, sizeof(d)), ids[i]);
        assert_int_equal(iperf2_datagram_sent_us(&d), 1234567890123456);
    }
}

/* ---- books ---- */

static void add(struct udp_stats *s, uint64_t id, uint64_t sent_us, uint64_t now_us)
{
    udp_stats_add(s, id, 100, sent_us, now_us, true);
}

static void losses_and_late_datagrams_are_counted_as_the_client_does(void **state)
{
    static const uint64_t ids[] = {1, 2, 5, 4, 6, 6, 9};
    struct udp_stats s;

    (void)state;
    udp_stats_begin(&s, 1000);
    for (size_t i = 0; i < ARRAY_COUNT(ids); i++)
        add(&s, ids[i], 1000 * i, 1000 * i + 50);
    /* skipped 3, 4, 7, 8; 4 came late, 6 twice */
    assert_int_equal(s.out_of_order, 2);
    assert_int_equal(udp_stats_lost(&s), 2);
    assert_int_equal(s.received, 7);
    assert_int_equal(s.bytes, 700);
}

static void jitter_moves_by_a_sixteenth_of_each_change(void **state)
{
    struct udp_stats s;
    struct iperf2_report report;

    (void)state;
    udp_stats_begin(&s, 0);
    add(&s, 1, 0, 100);
    add(&s, 2, 1000, 1100 + 160); /* transit 160 µs longer: J = 160/16 */
    udp_stats_report(&s, true, &report);
    assert_int_equal(be32_get(report.jitter_usec), 10);
    assert_int_equal(be32_get(report.transit_count), 2);
    assert_int_equal(be32_get(report.datagrams), 2);
    assert_int_equal(be32_get(report.stop_usec), 1260);
}

static void a_clock_that_steps_does_not_spoil_the_report(void **state)
{
    struct udp_stats s;
    struct iperf2_report report;

    (void)state;
    udp_stats_begin(&s, 5000000);
    add(&s, 1, UINT64_MAX / 2, 5000000);
    add(&s, 2, 0, 5000100);
    add(&s, UINT64_MAX / 4, 0, 1); /* an id from nowhere, a clock running backwards */
    udp_stats_report(&s, true, &report);
    assert_int_equal(be32_get(report.flags) & IPERF2_EXTEND, 0);
    assert_true(udp_stats_duration_us(&s) >= 1);
}

/* ---- what is sent ---- */

static void the_payload_is_chargens_at_every_position(void **state)
{
    size_t len;

    (void)state;
    payload_init();
    assert_memory_equal(payload_at(0, &len), " !\"#$%&'()", 10);
    assert_int_equal(len, PAYLOAD_BYTES);
    assert_memory_equal(payload_at(72, &len), "\r\n!\"#", 5); /* the next line starts one further */
    const uint8_t *a = payload_at((uint64_t)PAYLOAD_BYTES * 1000 + 500, &len);
    assert_int_equal(len, PAYLOAD_BYTES - 500);
    assert_int_equal(*a, *payload_at(500, &len));
}

static void bursts_have_the_size_that_was_asked_for(void **state)
{
    struct iperf2_request req = {.burst_mean = 100000};
    uint64_t seed = 1, sum = 0;

    (void)state;
    assert_int_equal(burst_size(&req, 92, 7), 100000);
    req.burst_variance = 10000ull * 10000;
    for (int i = 0; i < 20000; i++)
        sum += burst_size(&req, 92, burst_random(&seed));
    assert_in_range(sum / 20000, 99500, 100500);
    req.burst_mean = 10;
    req.burst_variance = 0;
    assert_int_equal(burst_size(&req, 92, 7), 92);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_header_of_a_real_client_is_understood),
        cmocka_unit_test(every_mode_is_told_apart),
        cmocka_unit_test(amounts_are_bytes_or_hundredths_of_seconds_and_bounded),
        cmocka_unit_test(a_permit_key_is_refused_and_a_short_header_is_nonsense),
        cmocka_unit_test(no_random_header_does_harm),
        cmocka_unit_test(datagram_ids_have_64_signed_bits),
        cmocka_unit_test(losses_and_late_datagrams_are_counted_as_the_client_does),
        cmocka_unit_test(jitter_moves_by_a_sixteenth_of_each_change),
        cmocka_unit_test(a_clock_that_steps_does_not_spoil_the_report),
        cmocka_unit_test(the_payload_is_chargens_at_every_position),
        cmocka_unit_test(bursts_have_the_size_that_was_asked_for),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
