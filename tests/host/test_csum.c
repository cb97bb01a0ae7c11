/* net/csum.c: the sum against a byte-wise reference, and what is believed of a device's word. */
#include "tests/host/support/net_fixture.h"

#include <stdlib.h>
#include <string.h>

#include "lwip/pbuf.h"
#include "net/csum.h"

enum { ETHER = 14, IP4 = 20, IP6 = 40, TCP = 20, SPACE = 4096 };

/* RFC 1071 as it is written: 16-bit big-endian words, odd byte padded, carries folded. */
static uint16_t reference(const uint8_t *p, size_t len)
{
    uint32_t sum = 0;

    for (size_t i = 0; i < len; i++)
        sum += i % 2 ? p[i] : (uint32_t)p[i] << 8;
    while (sum >> 16)
        sum = (sum & 0xffff) + (sum >> 16);
    return (uint16_t)sum;
}

static bool same_sum(uint16_t memory_order, uint16_t big_endian)
{
    const uint16_t swapped = __builtin_bswap16(memory_order);

    /* 0 and 0xffff are the same number in one's complement. */
    return swapped % 0xffff == big_endian % 0xffff;
}

static void the_sum_is_right_at_every_length_and_alignment(void **state)
{
    uint8_t bytes[320];

    (void)state;
    srand(7);
    for (size_t i = 0; i < sizeof(bytes); i++)
        bytes[i] = (uint8_t)rand();
    for (size_t offset = 0; offset < 9; offset++) {
        for (size_t len = 0; len + offset <= sizeof(bytes); len++)
            assert_true(
                same_sum(csum_lwip(bytes + offset, (int)len), reference(bytes + offset, len)));
    }
}

static void all_ones_keep_their_carries(void **state)
{
    uint8_t bytes[257];

    (void)state;
    memset(bytes, 0xff, sizeof(bytes));
    for (size_t len = 0; len <= sizeof(bytes); len++)
        assert_true(same_sum(csum_lwip(bytes, (int)len), reference(bytes, len)));
}

/* ---- packets ---- */

static void put16(uint8_t *p, unsigned v)
{
    p[0] = (uint8_t)(v >> 8);
    p[1] = (uint8_t)v;
}

/* An IPv4 packet of `payload` L4 bytes. */
static size_t make_ip4(uint8_t *p, uint8_t proto, size_t payload, unsigned fragment_word)
{
    memset(p, 0, IP4);
    p[0] = 0x45;
    put16(p + 2, (unsigned)(IP4 + payload));
    put16(p + 6, fragment_word);
    p[9] = proto;
    memcpy(p + 12, "\x0a\x63\x00\x01\x0a\x63\x00\x02", 8);
    for (size_t i = 0; i < payload; i++)
        p[IP4 + i] = (uint8_t)(i * 7);
    return IP4 + payload;
}

static size_t make_ip6(uint8_t *p, uint8_t next, size_t payload)
{
    memset(p, 0, IP6);
    p[0] = 0x60;
    put16(p + 4, (unsigned)payload);
    p[6] = next;
    p[8] = 0xfd;
    p[23] = 1;
    p[24] = 0xfd;
    p[39] = 2;
    for (size_t i = 0; i < payload; i++)
        p[IP6 + i] = (uint8_t)(i * 5);
    return IP6 + payload;
}

static struct pbuf *chain_of(const uint8_t *bytes, size_t len, size_t first)
{
    struct pbuf *p = pbuf_alloc(PBUF_RAW, (u16_t)size_min(len, first), PBUF_RAM);

    assert_non_null(p);
    if (len > first) {
        struct pbuf *rest = pbuf_alloc(PBUF_RAW, (u16_t)(len - first), PBUF_RAM);

        assert_non_null(rest);
        pbuf_cat(p, rest);
    }
    assert_int_equal(pbuf_take(p, bytes, (u16_t)len), ERR_OK);
    return p;
}

static enum csum_trust ask(const uint8_t *bytes, size_t len, uint8_t flags)
{
    const struct frame_offload offload = {
        .flags = flags, .csum_start = ETHER + IP4, .csum_offset = 2};
    struct pbuf *p = chain_of(bytes, len, len);
    const enum csum_trust trust = csum_in(p, &offload);

    pbuf_free(p);
    return trust;
}

static void tcp_and_udp_are_vouched_for_only_when_the_device_says_so(void **state)
{
    uint8_t p[SPACE];

    (void)state;
    for (unsigned proto = 6; proto <= 17; proto += 11) {
        size_t len = make_ip4(p, (uint8_t)proto, 40, 0);

        assert_int_equal(ask(p, len, 0), CSUM_VERIFY);
        assert_int_equal(ask(p, len, FRAME_CSUM_PARTIAL), CSUM_VOUCHED);
        assert_int_equal(ask(p, len, FRAME_CSUM_VALID), CSUM_VOUCHED);
        len = make_ip6(p, (uint8_t)proto, 40);
        assert_int_equal(ask(p, len, FRAME_CSUM_VALID), CSUM_VOUCHED);
        assert_int_equal(ask(p, len, 0), CSUM_VERIFY);
    }
}

static void a_fragment_is_never_vouched_for(void **state)
{
    uint8_t p[SPACE];

    (void)state;
    assert_int_equal(ask(p, make_ip4(p, 17, 40, 0x2000), FRAME_CSUM_VALID), CSUM_VERIFY);
    assert_int_equal(ask(p, make_ip4(p, 17, 40, 0x0005), FRAME_CSUM_VALID), CSUM_VERIFY);
    assert_int_equal(ask(p, make_ip4(p, 17, 40, 0x4000), FRAME_CSUM_VALID), CSUM_VOUCHED); /* DF */
    assert_int_equal(ask(p, make_ip6(p, 44, 40), FRAME_CSUM_VALID), CSUM_VERIFY);
}

static void a_partial_sum_behind_an_unknown_header_is_completed(void **state)
{
    uint8_t bytes[SPACE];
    const size_t len = make_ip6(bytes, 0 /* hop by hop */, 8 + 101);
    const struct frame_offload offload = {
        .flags = FRAME_CSUM_PARTIAL, .csum_start = ETHER + IP6 + 8, .csum_offset = 6};

    (void)state;
    for (size_t first = IP6 + 8; first <= len; first += 3) { /* every way to cut it, odd ones too */
        struct pbuf *p = chain_of(bytes, len, first);

        assert_int_equal(csum_in(p, &offload), CSUM_VERIFY);
        uint8_t done[SPACE];
        pbuf_copy_partial(p, done, (u16_t)len, 0);
        uint16_t want = (uint16_t)~reference(bytes + IP6 + 8, len - IP6 - 8);
        assert_int_equal(done[IP6 + 8 + 6] << 8 | done[IP6 + 8 + 7], want ? want : 0xffff);
        pbuf_free(p);
    }
}

static void a_partial_sum_that_points_outside_is_bad(void **state)
{
    uint8_t bytes[SPACE];
    const size_t len = make_ip4(bytes, 1, 40, 0);
    struct pbuf *p = chain_of(bytes, len, len);
    struct frame_offload offload = {.flags = FRAME_CSUM_PARTIAL, .csum_start = 4, .csum_offset = 0};

    (void)state;
    assert_int_equal(csum_in(p, &offload), CSUM_BAD); /* inside the Ethernet header */
    offload.csum_start = (uint16_t)(ETHER + len - 1);
    assert_int_equal(csum_in(p, &offload), CSUM_BAD);
    offload.csum_start = 0xffff;
    offload.csum_offset = 0xffff;
    assert_int_equal(csum_in(p, &offload), CSUM_BAD);
    pbuf_free(p);
}

static void a_cut_off_packet_is_verified_in_software(void **state)
{
    uint8_t bytes[SPACE];

    (void)state;
    make_ip4(bytes, 6, 40, 0);
    assert_int_equal(ask(bytes, 19, FRAME_CSUM_VALID), CSUM_VERIFY);
    bytes[0] = 0x44; /* header shorter than a header */
    assert_int_equal(ask(bytes, 60, FRAME_CSUM_VALID), CSUM_VERIFY);
    bytes[0] = 0x55;
    assert_int_equal(ask(bytes, 60, FRAME_CSUM_VALID), CSUM_VERIFY);
}

/* What the device would do (virtio 1.2 §5.1.6.2): add from csum_start on, put the inverse there. */
static void device_completes(uint8_t *frame, size_t len, const struct frame_offload *offload)
{
    const uint16_t sum = reference(frame + offload->csum_start, len - offload->csum_start);

    put16(frame + offload->csum_start + offload->csum_offset, (uint16_t)~sum);
}

static uint16_t l4_sum_with_pseudo(const uint8_t *addrs, size_t addrs_len, const uint8_t *l4,
                                   size_t len)
{
    uint8_t all[SPACE] = {0};

    memcpy(all, addrs, addrs_len);
    put16(all + addrs_len, 6);
    put16(all + addrs_len + 2, (unsigned)len);
    memcpy(all + addrs_len + 4, l4, len);
    return reference(all, addrs_len + 4 + len);
}

static void check_out(size_t ip_header, size_t addrs_at, size_t addrs_len, bool six)
{
    uint8_t frame[SPACE] = {0};
    const size_t payload = TCP + 333;
    const size_t len = ETHER + (six ? make_ip6(frame + ETHER, 6, payload)
                                    : make_ip4(frame + ETHER, 6, payload, 0x4000));

    put16(frame + 12, six ? 0x86dd : 0x0800);
    put16(frame + ETHER + ip_header + 16, 0); /* lwIP leaves the field empty */
    struct pbuf *p = chain_of(frame, len, ETHER + ip_header + TCP);
    struct frame_offload offload = {0};

    csum_out(p, &offload);
    assert_int_equal(offload.flags, FRAME_CSUM_PARTIAL);
    assert_int_equal(offload.csum_start, ETHER + ip_header);
    assert_int_equal(offload.csum_offset, 16);
    pbuf_copy_partial(p, frame, (u16_t)len, 0);
    device_completes(frame, len, &offload);
    assert_int_equal(
        l4_sum_with_pseudo(frame + ETHER + addrs_at, addrs_len, frame + ETHER + ip_header, payload),
        0xffff);
    pbuf_free(p);
}

static void an_outgoing_tcp_sum_comes_out_right_once_the_device_has_completed_it(void **state)
{
    (void)state;
    check_out(IP4, 12, 8, false);
    check_out(IP6, 8, 32, true);
}

static void anything_but_tcp_goes_out_as_it_is(void **state)
{
    uint8_t frame[SPACE] = {0};
    const size_t len = ETHER + make_ip4(frame + ETHER, 17, 60, 0);
    struct pbuf *p = chain_of(frame, len, len);
    struct frame_offload offload = {0};

    (void)state;
    csum_out(p, &offload);
    assert_int_equal(offload.flags, 0);
    assert_memory_equal(p->payload, frame, len);
    pbuf_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        NET_TEST(the_sum_is_right_at_every_length_and_alignment),
        NET_TEST(all_ones_keep_their_carries),
        NET_TEST(tcp_and_udp_are_vouched_for_only_when_the_device_says_so),
        NET_TEST(a_fragment_is_never_vouched_for),
        NET_TEST(a_partial_sum_behind_an_unknown_header_is_completed),
        NET_TEST(a_partial_sum_that_points_outside_is_bad),
        NET_TEST(a_cut_off_packet_is_verified_in_software),
        NET_TEST(an_outgoing_tcp_sum_comes_out_right_once_the_device_has_completed_it),
        NET_TEST(anything_but_tcp_goes_out_as_it_is),
    };

    return cmocka_run_group_tests(tests, net_fixture_start, NULL);
}
