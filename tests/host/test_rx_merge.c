/* Joining received buffers, and the header in front of them. virtio 1.2 §5.1.6.4. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/virtio_net/rx_merge.h"
#include "tests/host/support/net_env.h"

enum { RING = 8, PAGES = 512 };

static const struct net_hdr_rules all_rules = {
    .csum = true, .tso4 = true, .tso6 = true, .ecn = true};
static struct rx_merge merge;
static struct frame_in frame;

static int setup(void **state)
{
    (void)state;
    net_env_init(PAGES);
    rx_merge_init(&merge, &all_rules, VNET_HDR_BYTES, true, RING);
    return 0;
}

static int teardown(void **state)
{
    (void)state;
    rx_merge_close(&merge);
    assert_true(net_env_clean());
    return 0;
}

static struct virtio_net_hdr header(unsigned num_buffers)
{
    return (struct virtio_net_hdr){.num_buffers = le16_make((uint16_t)num_buffers)};
}

/* A completed buffer of `len` bytes, the first `strip` of which are header; like vnet_rx's detach(). */
static struct frag *piece_of(uint32_t len)
{
    struct frag *f = frag_take(len ? len : 1, FRAG_CONTROL);

    f->data = frag_start(f) + merge.strip;
    f->len = len - merge.strip;
    return f;
}

/* Feed one buffer. Returns why it was dropped; *done tells whether a frame is in `frame`. */
static enum rx_drop feed(const struct virtio_net_hdr *hdr, uint32_t len, bool *done)
{
    static _Alignas(4) uint8_t buffer[VNET_HDR_BYTES];
    enum rx_drop drop;

    *done = false;
    if (hdr)
        memcpy(buffer, hdr, sizeof(buffer));
    drop = rx_merge_look(&merge, buffer, len);
    if (drop == RX_KEEP)
        *done = rx_merge_add(&merge, piece_of(len), &frame, &drop) && drop == RX_KEEP;
    return drop;
}

static enum rx_drop feed_first(unsigned num_buffers, uint32_t len, bool *done)
{
    const struct virtio_net_hdr hdr = header(num_buffers);

    return feed(&hdr, len, done);
}

static unsigned list_len(const struct frag *f)
{
    unsigned n = 0;

    for (; f; f = f->next)
        n++;
    return n;
}

static void one_buffer_is_a_frame_without_its_header(void **state)
{
    (void)state;
    bool done;

    assert_int_equal(feed_first(1, 12 + 60, &done), RX_KEEP);
    assert_true(done);
    assert_int_equal(frame.len, 60);
    assert_int_equal(frame.head->len, 60);
    assert_ptr_equal(frame.head->data, frag_start(frame.head) + 12);
    frag_give_list(frame.head);
}

static void only_the_first_piece_has_a_header(void **state)
{
    (void)state;
    bool done;

    assert_int_equal(feed_first(3, 1536, &done), RX_KEEP);
    assert_false(done);
    assert_int_equal(feed(NULL, 1536, &done), RX_KEEP);
    assert_false(done);
    assert_int_equal(feed(NULL, 100, &done), RX_KEEP);
    assert_true(done);
    assert_int_equal(frame.len, 1536 - 12 + 1536 + 100);
    assert_int_equal(list_len(frame.head), 3);
    assert_ptr_equal(frame.head->next->data, frag_start(frame.head->next));
    frag_give_list(frame.head);
}

static void num_buffers_of_0_means_1(void **state)
{
    (void)state;
    bool done;

    assert_int_equal(feed_first(0, 100, &done), RX_KEEP);
    assert_true(done);
    frag_give_list(frame.head);
}

static void num_buffers_beyond_the_ring_costs_one_buffer_only(void **state)
{
    (void)state;
    bool done;

    assert_int_equal(feed_first(RING + 1, 100, &done), RX_DROP_COUNT);
    assert_int_equal(feed_first(65535, 100, &done), RX_DROP_COUNT);
    assert_int_equal(feed_first(1, 100, &done), RX_KEEP);
    assert_true(done);
    frag_give_list(frame.head);
}

static void num_buffers_is_not_looked_at_without_mergeable_buffers(void **state)
{
    (void)state;
    bool done;

    rx_merge_init(&merge, &all_rules, VNET_HDR_BYTES, false, RING);
    assert_int_equal(feed_first(65535, 100, &done), RX_KEEP);
    assert_true(done);
    frag_give_list(frame.head);
}

static void a_ten_byte_header_ends_after_ten_bytes(void **state)
{
    (void)state;
    bool done;

    rx_merge_init(&merge, &all_rules, VNET_HDR_BYTES_LEGACY, false, RING);
    assert_int_equal(feed_first(0x5452, 10 + 14, &done), RX_KEEP); /* the frame's own first bytes */
    assert_true(done);
    assert_int_equal(frame.len, 14);
    assert_ptr_equal(frame.head->data, frag_start(frame.head) + 10);
    frag_give_list(frame.head);
}

static void a_buffer_shorter_than_the_header_is_dropped(void **state)
{
    (void)state;
    bool done;

    for (uint32_t len = 0; len < 12; len++)
        assert_int_equal(feed_first(1, len, &done), RX_DROP_SHORT);
    assert_int_equal(feed_first(1, 12, &done), RX_DROP_RUNT);
    assert_int_equal(feed_first(1, 12 + 13, &done), RX_DROP_RUNT);
    assert_int_equal(feed_first(1, 12 + 14, &done), RX_KEEP);
    assert_true(done);
    frag_give_list(frame.head);
}

static void a_first_piece_may_hold_the_header_alone(void **state)
{
    (void)state;
    bool done;

    assert_int_equal(feed_first(2, 12, &done), RX_KEEP);
    assert_false(done);
    assert_int_equal(feed(NULL, 64, &done), RX_KEEP);
    assert_true(done);
    assert_int_equal(frame.len, 64);
    assert_int_equal(list_len(frame.head), 1);
    frag_give_list(frame.head);
}

static void an_empty_later_piece_loses_the_frame_and_only_that(void **state)
{
    (void)state;
    bool done;

    assert_int_equal(feed_first(4, 1000, &done), RX_KEEP);
    assert_int_equal(feed(NULL, 0, &done), RX_DROP_PIECE);
    assert_int_equal(feed(NULL, 1000, &done), RX_SKIP);
    assert_int_equal(feed(NULL, 1000, &done), RX_SKIP);
    assert_int_equal(feed_first(1, 100, &done), RX_KEEP);
    assert_true(done);
    frag_give_list(frame.head);
}

static void a_frame_over_the_limit_is_dropped_at_the_piece_that_passes_it(void **state)
{
    (void)state;
    bool done;

    rx_merge_init(&merge, &all_rules, VNET_HDR_BYTES, true, 256);
    assert_int_equal(feed_first(3, 12 + 60000, &done), RX_KEEP);
    assert_int_equal(feed(NULL, 5551, &done), RX_DROP_OVERSIZE);
    assert_int_equal(feed(NULL, 10, &done), RX_SKIP);
    assert_int_equal(feed_first(2, 12 + 60000, &done), RX_KEEP);
    assert_int_equal(feed(NULL, 5550, &done), RX_KEEP);
    assert_true(done);
    assert_int_equal(frame.len, RX_FRAME_MAX);
    frag_give_list(frame.head);
    assert_int_equal(feed_first(1, 12 + RX_FRAME_MAX + 1, &done), RX_DROP_OVERSIZE);
}

static void without_memory_the_rest_of_the_frame_is_skipped(void **state)
{
    (void)state;
    struct virtio_net_hdr hdr = header(3);
    bool done;

    assert_int_equal(feed_first(3, 1000, &done), RX_KEEP);
    assert_int_equal(rx_merge_look(&merge, &hdr, 1000), RX_KEEP);
    rx_merge_abort(&merge);
    assert_int_equal(feed(NULL, 1000, &done), RX_SKIP);
    assert_int_equal(feed_first(1, 100, &done), RX_KEEP);
    assert_true(done);
    frag_give_list(frame.head);
}

static void a_frame_whose_pieces_never_come_is_given_up(void **state)
{
    (void)state;
    bool done;

    assert_false(rx_merge_expire(&merge));
    assert_int_equal(feed_first(3, 1000, &done), RX_KEEP);
    assert_false(rx_merge_expire(&merge));
    assert_int_equal(feed(NULL, 1000, &done), RX_KEEP); /* progress: the patience starts again */
    assert_false(rx_merge_expire(&merge));
    assert_true(rx_merge_expire(&merge));
    assert_int_equal(feed_first(1, 100, &done), RX_KEEP);
    assert_true(done);
    frag_give_list(frame.head);
}

static void a_lost_frame_without_its_end_is_counted_once(void **state)
{
    (void)state;
    bool done;

    assert_int_equal(feed_first(3, 1000, &done), RX_KEEP);
    assert_int_equal(feed(NULL, 0, &done), RX_DROP_PIECE);
    assert_false(rx_merge_expire(&merge));
    assert_false(rx_merge_expire(&merge));
    assert_int_equal(feed_first(1, 100, &done), RX_KEEP);
    assert_true(done);
    frag_give_list(frame.head);
}

/* ---- offload facts ----------------------------------------------------------------------- */

static void plain_frames_carry_no_facts(void **state)
{
    (void)state;
    const struct virtio_net_hdr hdr = header(1);
    bool done;

    assert_int_equal(feed(&hdr, 100, &done), RX_KEEP);
    static const struct frame_offload none;
    assert_memory_equal(&frame.offload, &none, sizeof(none));
    frag_give_list(frame.head);
}

static void checksum_words_are_believed_only_when_negotiated(void **state)
{
    (void)state;
    const struct virtio_net_hdr partial = {
        .flags = VNET_HDR_NEEDS_CSUM | 0xf0, .csum_start = {34}, .csum_offset = {16}};
    const struct virtio_net_hdr valid = {.flags = VNET_HDR_DATA_VALID, .csum_start = {9999}};
    const struct virtio_net_hdr both = {.flags = 3, .csum_start = {34}, .csum_offset = {6}};
    static const struct net_hdr_rules nothing;
    struct frame_offload o;

    assert_true(net_hdr_read(&all_rules, &partial, &o));
    assert_int_equal(o.flags, FRAME_CSUM_PARTIAL);
    assert_int_equal(o.csum_start, 34);
    assert_int_equal(o.csum_offset, 16);
    assert_true(net_hdr_read(&all_rules, &valid, &o));
    assert_int_equal(o.flags, FRAME_CSUM_VALID);
    assert_int_equal(o.csum_start, 0);
    assert_true(net_hdr_read(&all_rules, &both, &o));
    assert_int_equal(o.flags, FRAME_CSUM_PARTIAL);
    assert_true(net_hdr_read(&nothing, &partial, &o));
    assert_int_equal(o.flags, 0);
    assert_true(net_hdr_read(&nothing, &valid, &o));
    assert_int_equal(o.flags, 0);
}

static void segmentation_is_accepted_only_as_negotiated(void **state)
{
    (void)state;
    static const struct net_hdr_rules v4 = {.csum = true, .tso4 = true};
    struct frame_offload o;

    for (unsigned type = 0; type < 256; type++) {
        const struct virtio_net_hdr hdr = {.gso_type = (uint8_t)type,
                                           .flags = VNET_HDR_NEEDS_CSUM,
                                           .csum_start = {34},
                                           .gso_size = {1448},
                                           .hdr_len = {66}};
        const bool ecn = type & 0x80, tcp4 = (type & 0x7f) == 1, tcp6 = (type & 0x7f) == 4;

        assert_int_equal(net_hdr_read(&all_rules, &hdr, &o), tcp4 || tcp6 || type == 0);
        if (tcp4 || tcp6) {
            assert_int_equal(o.gso, tcp4 ? FRAME_GSO_TCP4 : FRAME_GSO_TCP6);
            assert_int_equal(o.ecn, ecn);
            assert_int_equal(o.gso_size, 1448);
            assert_int_equal(o.hdr_len, 66);
        }
        assert_int_equal(net_hdr_read(&v4, &hdr, &o), type == 0 || type == 1);
    }
    const struct virtio_net_hdr no_size = {.gso_type = VNET_GSO_TCPV4};
    assert_false(net_hdr_read(&all_rules, &no_size, &o));
}

static void a_frame_with_bad_facts_is_dropped_whole(void **state)
{
    (void)state;
    struct virtio_net_hdr hdr = header(2);
    bool done;

    hdr.gso_type = 77;
    assert_int_equal(feed(&hdr, 1000, &done), RX_DROP_OFFLOAD);
    assert_int_equal(feed(NULL, 1000, &done), RX_SKIP);
    hdr = header(2);
    hdr.flags = VNET_HDR_NEEDS_CSUM;
    hdr.csum_start = le16_make(34);
    hdr.csum_offset = le16_make(65);
    assert_int_equal(feed(&hdr, 12 + 80, &done), RX_KEEP);
    assert_int_equal(feed(NULL, 20, &done), RX_DROP_OFFLOAD); /* the field ends at 101 of 100 */
    assert_int_equal(feed(&hdr, 12 + 80, &done), RX_KEEP);
    assert_int_equal(feed(NULL, 21, &done), RX_KEEP);
    assert_true(done);
    frag_give_list(frame.head);
}

static void a_checksum_field_lies_behind_the_ethernet_header_and_within_the_frame(void **state)
{
    (void)state;
    struct frame_offload o = {.flags = FRAME_CSUM_PARTIAL, .csum_start = 13, .csum_offset = 10};

    assert_false(net_hdr_fits(&o, 1000));
    o.csum_start = 14;
    assert_true(net_hdr_fits(&o, 26));
    assert_false(net_hdr_fits(&o, 25));
    o.csum_start = o.csum_offset = 65535;
    assert_false(net_hdr_fits(&o, 65550));
    o.flags = 0;
    assert_true(net_hdr_fits(&o, 14));
}

static void a_sent_header_says_what_was_asked_and_no_more(void **state)
{
    (void)state;
    struct frame_offload o = {.flags = FRAME_CSUM_PARTIAL, .csum_start = 34, .csum_offset = 16};
    struct virtio_net_hdr h;
    static const struct virtio_net_hdr nothing_said;
    static const struct net_hdr_rules nothing, csum = {.csum = true};

    assert_true(net_hdr_write(&csum, &o, &h));
    assert_int_equal(h.flags, VNET_HDR_NEEDS_CSUM);
    assert_int_equal(le16_get(h.csum_start), 34);
    assert_int_equal(le16_get(h.csum_offset), 16);
    assert_int_equal(le16_get(h.num_buffers), 0);
    assert_false(net_hdr_write(&nothing, &o, &h));

    o.flags |= FRAME_CSUM_VALID; /* DATA_VALID must not be sent */
    assert_true(net_hdr_write(&csum, &o, &h));
    assert_int_equal(h.flags, VNET_HDR_NEEDS_CSUM);

    o = (struct frame_offload){.flags = FRAME_CSUM_PARTIAL,
                               .csum_start = 34,
                               .csum_offset = 16,
                               .gso = FRAME_GSO_TCP6,
                               .gso_size = 1440,
                               .hdr_len = 74,
                               .ecn = true};
    assert_true(net_hdr_write(&all_rules, &o, &h));
    assert_int_equal(h.gso_type, VNET_GSO_TCPV6 | VNET_GSO_ECN);
    assert_int_equal(le16_get(h.gso_size), 1440);
    assert_int_equal(le16_get(h.hdr_len), 74);
    assert_false(net_hdr_write(&csum, &o, &h));
    o.gso = FRAME_GSO_UDP;
    assert_false(net_hdr_write(&all_rules, &o, &h));
    o.gso = FRAME_GSO_TCP4;
    o.flags = 0;
    assert_false(net_hdr_write(&all_rules, &o, &h));
    o.flags = FRAME_CSUM_PARTIAL;
    o.gso_size = 0;
    assert_false(net_hdr_write(&all_rules, &o, &h));

    o = (struct frame_offload){0};
    assert_true(net_hdr_write(&all_rules, &o, &h));
    assert_memory_equal(&h, &nothing_said, sizeof(h));
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
#define T(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
        T(one_buffer_is_a_frame_without_its_header),
        T(only_the_first_piece_has_a_header),
        T(num_buffers_of_0_means_1),
        T(num_buffers_beyond_the_ring_costs_one_buffer_only),
        T(num_buffers_is_not_looked_at_without_mergeable_buffers),
        T(a_ten_byte_header_ends_after_ten_bytes),
        T(a_buffer_shorter_than_the_header_is_dropped),
        T(a_first_piece_may_hold_the_header_alone),
        T(an_empty_later_piece_loses_the_frame_and_only_that),
        T(a_frame_over_the_limit_is_dropped_at_the_piece_that_passes_it),
        T(without_memory_the_rest_of_the_frame_is_skipped),
        T(a_frame_whose_pieces_never_come_is_given_up),
        T(a_lost_frame_without_its_end_is_counted_once),
        T(plain_frames_carry_no_facts),
        T(checksum_words_are_believed_only_when_negotiated),
        T(segmentation_is_accepted_only_as_negotiated),
        T(a_frame_with_bad_facts_is_dropped_whole),
        T(a_checksum_field_lies_behind_the_ethernet_header_and_within_the_frame),
        T(a_sent_header_says_what_was_asked_and_no_more),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
