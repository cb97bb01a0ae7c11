/* net/tcp_send.c, tcp_write.c, tcp_seg.c and tso.c: super-segments, windows, and what is cut where. */
#include "tests/host/support/send_fixture.h"

#include "lib/page_frag.h"

/* ---- how much at once ---- */

static void a_large_write_leaves_in_frames_of_up_to_64_kb(void **state)
{
    (void)state;
    write_stream(0, 120000, 0);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(see_stream(0, 0), 120000);
    if (offload == TSO) {
        assert_true(nic.sent_count <= 4);
        assert_int_equal(see(0).cut, MSS);
        assert_int_equal(see(0).len % MSS, 0);
    } else {
        assert_int_equal(nic.sent_count, (120000 + MSS - 1) / MSS);
    }
    assert_true(see(nic.sent_count - 1).flags & TCP_PSH);
}

static void small_writes_share_frames_and_memory_with_what_waits(void **state)
{
    (void)state;
    pcb->snd_wnd = pcb->cwnd = 0;
    pcb->flags &= (tcpflags_t)~TF_NODELAY;
    for (size_t i = 0; i < 3000; i += 100)
        write_stream(i, 100, TCP_WRITE_FLAG_COPY);
    assert_null(pcb->unsent->next);
    assert_in_range(tcp_sndqueuelen(pcb), 1, 4); /* of thirty writes */
    pcb->snd_wnd = pcb->cwnd = 100000;
    pcb->flags |= TF_NODELAY;
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(see_stream(0, 0), 3000);
}

static void constant_memory_that_goes_on_needs_no_more_pieces(void **state)
{
    (void)state;
    pcb->snd_wnd = pcb->cwnd = 0;
    for (size_t i = 0; i < 10000; i += 1000)
        write_stream(i, 1000, 0);
    assert_int_equal(tcp_sndqueuelen(pcb), 2); /* headers, data */
    pcb->snd_wnd = pcb->cwnd = 100000;
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(see_stream(0, 0), 10000);
}

static void a_segment_has_no_more_pieces_than_a_frame_may_have(void **state)
{
    (void)state;
    pcb->snd_wnd = pcb->cwnd = 0;
    for (size_t i = 0; i < 200; i++) /* from apart, so that none goes on */
        assert_int_equal(tcp_write(pcb, stream + (i % 2 ? 50000 + i * 2 : i * 2), 1, 0), ERR_OK);
    for (const struct tcp_seg *seg = pcb->unsent; seg; seg = seg->next)
        assert_true(pbuf_clen(seg->p) <= NETDEV_PIECES_MAX);
}

static void a_peer_with_a_small_buffer_gets_no_more_than_half_of_it(void **state)
{
    (void)state;
    pcb->snd_wnd = pcb->snd_wnd_max = 8000;
    write_stream(0, 30000, TCP_WRITE_FLAG_COPY);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    for (size_t i = 0; i < nic.sent_count; i++)
        assert_true(see(i).len <= 4000);
    assert_true(see_stream(0, 0) <= 8000);
}

/* ---- windows ---- */

static void a_window_is_filled_with_whole_segments(void **state)
{
    (void)state;
    pcb->snd_wnd = 10000;
    write_stream(0, 50000, TCP_WRITE_FLAG_COPY);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(see_stream(0, 0), 6 * MSS);
    device_is_done();
    const size_t sent = nic.sent_count;

    peer_acks(6 * MSS, 20000);
    assert_int_equal(see_stream(sent, 6 * MSS), 6 * MSS + 13 * MSS);
}

static void a_congestion_window_counts_segments_of_the_wire(void **state)
{
    (void)state;
    pcb->cwnd = 4 * MSS;
    pcb->ssthresh = 1024 * 1024;
    write_stream(0, 60000, 0);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(see_stream(0, 0), 4 * MSS);
}

static void nagle_holds_only_what_does_not_fill_a_segment(void **state)
{
    (void)state;
    pcb->flags &= (tcpflags_t)~TF_NODELAY;
    write_stream(0, 100, TCP_WRITE_FLAG_COPY);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    write_stream(100, MSS + 500, TCP_WRITE_FLAG_COPY);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(see_stream(0, 0), 100 + MSS);
    device_is_done();
    peer_acks(100 + MSS, 100000);
    assert_int_equal(see_stream(0, 0), 100 + MSS + 500);
}

static void a_closed_window_starts_the_persist_timer_and_an_open_one_ends_it(void **state)
{
    (void)state;
    pcb->snd_wnd = 0;
    write_stream(0, 5000, TCP_WRITE_FLAG_COPY);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(nic.sent_count, 0);
    assert_int_equal(pcb->persist_backoff, 1);
    peer_acks(0, 100000);
    assert_int_equal(pcb->persist_backoff, 0);
    assert_int_equal(see_stream(0, 0), 5000);
}

static void the_persist_timer_fills_a_window_smaller_than_a_segment(void **state)
{
    (void)state;
    pcb->snd_wnd = 500;
    write_stream(0, 5000, TCP_WRITE_FLAG_COPY);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(nic.sent_count, 0);
    assert_int_equal(tcp_split_unsent_seg(pcb, 500), ERR_OK);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(see_stream(0, 0), 500);
}

/* ---- again ---- */

static void what_was_acknowledged_of_a_large_segment_is_not_sent_again(void **state)
{
    (void)state;
    write_stream(0, 50000, TCP_WRITE_FLAG_COPY);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    device_is_done();
    peer_acks(10000, 100000);
    const size_t sent = nic.sent_count;

    pcb->cwnd = 2 * MSS; /* as the retransmission timer has it, nearly */
    tcp_rexmit_rto(pcb);
    assert_int_equal(see_stream(sent, 10000), 10000 + 2 * MSS);
}

static void three_duplicates_bring_one_segment_again(void **state)
{
    (void)state;
    write_stream(0, 50000, TCP_WRITE_FLAG_COPY);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    device_is_done();
    peer_acks(3 * MSS, 100096);
    const size_t sent = nic.sent_count;

    for (int i = 0; i < 2; i++)
        peer_acks(3 * MSS, 100096);
    assert_int_equal(nic.sent_count, sent);
    peer_acks(3 * MSS, 100096);
    assert_true(nic.sent_count > sent);
    const struct sight again = see(sent);

    assert_int_equal(again.from, 3 * MSS);
    assert_int_equal(again.len, MSS);
    device_is_done();
    peer_acks(50000, 100096);
    assert_null(pcb->unacked);
    assert_int_equal(tcp_sndqueuelen(pcb), 0);
}

static void a_segment_that_the_device_still_holds_is_left_alone(void **state)
{
    (void)state;
    write_stream(0, 50000, TCP_WRITE_FLAG_COPY);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    const size_t sent = nic.sent_count;

    tcp_rexmit_rto(pcb);
    for (int i = 0; i < 4; i++)
        peer_acks(0, 1024 * 1024);
    assert_int_equal(nic.sent_count, sent);
    assert_non_null(pcb->unacked);
}

static void a_fin_leaves_with_the_last_byte_also_when_that_is_cut_off(void **state)
{
    (void)state;
    pcb->snd_wnd = 3 * MSS;
    write_stream(0, 5 * MSS, TCP_WRITE_FLAG_COPY);
    assert_int_equal(tcp_send_fin(pcb), ERR_OK);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(see_stream(0, 0), 3 * MSS);
    for (size_t i = 0; i < nic.sent_count; i++)
        assert_false(see(i).flags & TCP_FIN);
    device_is_done();
    peer_acks(3 * MSS, 100000);
    assert_int_equal(see_stream(0, 0), 5 * MSS);
    assert_true(see(nic.sent_count - 1).flags & TCP_FIN);
}

/* ---- want of memory ---- */

static void a_write_without_memory_changes_nothing(void **state)
{
    (void)state;
    write_stream(0, 1000, TCP_WRITE_FLAG_COPY);
    const u32_t lbb = pcb->snd_lbb;
    const u16_t queuelen = pcb->snd_queuelen, len = pcb->unsent->len;

    net_fixture_exhaust(FRAG_CONTROL);
    assert_int_equal(tcp_write(pcb, stream + 1000, 60000, TCP_WRITE_FLAG_COPY), ERR_MEM);
    assert_int_equal(tcp_write(pcb, stream + 100000, 60000, 0), ERR_MEM);
    net_fixture_release();
    assert_int_equal(pcb->snd_lbb, lbb);
    assert_int_equal(pcb->snd_queuelen, queuelen);
    assert_int_equal(pcb->unsent->len, len);
    write_stream(1000, 9000, TCP_WRITE_FLAG_COPY);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(see_stream(0, 0), 10000);
}

static void a_segment_is_not_cut_without_memory_but_later(void **state)
{
    (void)state;
    pcb->snd_wnd = 2 * MSS;
    write_stream(0, 10 * MSS, TCP_WRITE_FLAG_COPY);
    net_fixture_exhaust(FRAG_CONTROL);
    (void)tcp_output(pcb);
    assert_int_equal(nic.sent_count, 0);
    net_fixture_release();
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(see_stream(0, 0), 2 * MSS);
}

static void a_full_ring_loses_nothing_of_a_large_segment(void **state)
{
    (void)state;
    nic.ring_size = 2;
    write_stream(0, 200000, 0);
    (void)tcp_output(pcb);
    for (int i = 0; i < 400 && nic.sent_count < 1000; i++) {
        fake_netdev_complete(&nic, 1);
        there_is_room();
        (void)tcp_output(pcb);
    }
    assert_int_equal(see_stream(0, 0), 200000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SEND_TEST(a_large_write_leaves_in_frames_of_up_to_64_kb),
        SEND_TEST(small_writes_share_frames_and_memory_with_what_waits),
        SEND_TEST(constant_memory_that_goes_on_needs_no_more_pieces),
        SEND_TEST(a_segment_has_no_more_pieces_than_a_frame_may_have),
        SEND_TEST(a_peer_with_a_small_buffer_gets_no_more_than_half_of_it),
        SEND_TEST(a_window_is_filled_with_whole_segments),
        SEND_TEST(a_congestion_window_counts_segments_of_the_wire),
        SEND_TEST(nagle_holds_only_what_does_not_fill_a_segment),
        SEND_TEST(a_closed_window_starts_the_persist_timer_and_an_open_one_ends_it),
        SEND_TEST(the_persist_timer_fills_a_window_smaller_than_a_segment),
        SEND_TEST(what_was_acknowledged_of_a_large_segment_is_not_sent_again),
        SEND_TEST(three_duplicates_bring_one_segment_again),
        SEND_TEST(a_segment_that_the_device_still_holds_is_left_alone),
        SEND_TEST(a_fin_leaves_with_the_last_byte_also_when_that_is_cut_off),
        SEND_TEST(a_write_without_memory_changes_nothing),
        SEND_TEST(a_segment_is_not_cut_without_memory_but_later),
        SEND_TEST(a_full_ring_loses_nothing_of_a_large_segment),
    };
    int failed = cmocka_run_group_tests_name("no offload", tests, net_fixture_start_tcp, NULL);

    offload = CSUM;
    failed += cmocka_run_group_tests_name("checksums by the device", tests, NULL, NULL);
    offload = TSO;
    failed += cmocka_run_group_tests_name("segments cut by the device", tests, NULL, NULL);
    return failed;
}
