/* net/tcp_recovery.c over a fake NIC: what is sent again when something was lost, and how fast a sender grows. */
#include "tests/host/support/send_fixture.h"

#include "lib/page_frag.h"
#include "net/tcp_recovery.h"

enum { SEG = MSS, WINDOW = 1024 * 1024 };

/* Twenty segments are under way. */
static size_t twenty_sent(void)
{
    pcb->flags |= TF_SACK;
    write_stream(0, 20 * SEG, TCP_WRITE_FLAG_COPY);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    device_is_done();
    assert_int_equal(see_stream(0, 0), 20 * SEG);
    return nic.sent_count;
}

/* The peer holds segments from number `from` up to `to`, and has acknowledged `acked` of them. */
static void holds(uint32_t acked, uint32_t from, uint32_t to)
{
    peer_sacks(acked * SEG, WINDOW, &(struct sacked){from * SEG, to * SEG}, 1);
}

static void a_gap_goes_again_when_three_segments_behind_it_arrived(void **state)
{
    (void)state;
    const size_t sent = twenty_sent();

    holds(5, 6, 7);
    holds(5, 6, 8);
    assert_int_equal(nic.sent_count, sent);
    holds(5, 6, 9);
    assert_int_equal(nic.sent_count, sent + 1);
    assert_int_equal(see(sent).from, 5 * SEG);
    assert_int_equal(see(sent).len, SEG);
    for (uint32_t i = 10; i <= 20; i++)
        holds(5, 6, i);
    assert_int_equal(nic.sent_count, sent + 1); /* nothing else is missing */
    device_is_done();
    peer_acks(20 * SEG, WINDOW);
    assert_null(pcb->unacked);
    assert_int_equal(pcb->cwnd, pcb->ssthresh);
    assert_int_equal(pcb->ssthresh, 15 * SEG / 2); /* half of what was under way */
}

static void several_gaps_are_filled_in_one_round_trip(void **state)
{
    (void)state;
    const size_t sent = twenty_sent();
    const struct sacked blocks[] = {{3 * SEG, 5 * SEG}, {6 * SEG, 9 * SEG}, {10 * SEG, 20 * SEG}};

    peer_sacks(2 * SEG, WINDOW, blocks, 3);
    assert_int_equal(nic.sent_count, sent + 3);
    assert_int_equal(see(sent).from, 2 * SEG);
    assert_int_equal(see(sent + 1).from, 5 * SEG);
    assert_int_equal(see(sent + 2).from, 9 * SEG);
    for (size_t i = sent; i < sent + 3; i++)
        assert_int_equal(see(i).len, SEG);
}

static void a_wide_gap_is_filled_as_the_window_allows(void **state)
{
    (void)state;
    const size_t sent = twenty_sent();

    /* 12 of 20 lost: the window is half of 20, and 3 are still under way at most. */
    holds(0, 12, 20);
    assert_int_equal(see_stream(sent, 0), 10 * SEG);
}

static void new_data_goes_on_while_gaps_are_filled(void **state)
{
    (void)state;
    const size_t sent = twenty_sent();

    write_stream(20 * SEG, 20 * SEG, TCP_WRITE_FLAG_COPY);
    pcb->cwnd = 20 * SEG;
    holds(1, 2, 20); /* one is missing, and nothing else is under way */
    assert_int_equal(see(sent).from, 1 * SEG);
    assert_true(nic.sent_count > sent + 1);
    assert_int_equal(see_stream(sent + 1, 20 * SEG),
                     20 * SEG + 8 * SEG); /* half of 19, less the one: whole segments */
}

static void what_was_sent_again_and_lost_again_goes_once_more(void **state)
{
    (void)state;
    size_t sent = twenty_sent();

    write_stream(20 * SEG, 20 * SEG, TCP_WRITE_FLAG_COPY);
    pcb->cwnd = 20 * SEG;
    holds(1, 2, 20);
    device_is_done();
    sent = nic.sent_count;
    holds(1, 2, 22); /* two of the new ones: reordering, perhaps */
    for (size_t i = sent; i < nic.sent_count; i++)
        assert_true(see(i).from >= 20 * SEG);
    device_is_done();
    sent = nic.sent_count;
    holds(1, 2, 24);
    assert_true(nic.sent_count > sent);
    assert_int_equal(see(sent).from, 1 * SEG);
}

static void a_partial_acknowledgement_names_the_next_gap(void **state)
{
    (void)state;
    const size_t sent = twenty_sent();

    pcb->flags &= (tcpflags_t)~TF_SACK; /* RFC 6582 */
    peer_acks(2 * SEG, WINDOW);
    for (int i = 0; i < 3; i++)
        peer_acks(2 * SEG, WINDOW);
    assert_int_equal(nic.sent_count, sent + 1);
    assert_int_equal(see(sent).from, 2 * SEG);
    device_is_done();
    peer_acks(7 * SEG, WINDOW);
    assert_int_equal(nic.sent_count, sent + 2);
    assert_int_equal(see(sent + 1).from, 7 * SEG);
    assert_int_equal(see(sent + 1).len, SEG);
    device_is_done();
    peer_acks(20 * SEG, WINDOW);
    assert_false(pcb->flags & TF_INFR);
}

static void duplicates_that_name_no_block_are_no_loss_with_sack(void **state)
{
    (void)state;
    const size_t sent = twenty_sent();

    for (int i = 0; i < 6; i++)
        peer_acks(2 * SEG, WINDOW);
    assert_int_equal(nic.sent_count, sent);
}

static void a_timeout_begins_anew_and_skips_what_the_peer_says_it_holds(void **state)
{
    (void)state;
    size_t sent = twenty_sent();

    holds(1, 2, 4);
    pcb->ssthresh = WINDOW;
    pcb->cwnd = SEG;
    tcp_rexmit_rto(pcb);
    assert_int_equal(nic.sent_count, sent + 1);
    assert_int_equal(see(sent).from, 1 * SEG);
    device_is_done();
    sent = nic.sent_count;
    holds(2, 3, 6);
    assert_int_equal(see(sent).from, 2 * SEG);
    for (size_t i = sent; i < nic.sent_count; i++)
        assert_false(see(i).from >= 3 * SEG && see(i).from < 6 * SEG);
}

static void its_state_goes_when_the_fin_is_acknowledged(void **state)
{
    (void)state;
    (void)twenty_sent();
    holds(5, 6, 9);
    device_is_done();
    assert_int_equal(tcp_shutdown(pcb, 0, 1), ERR_OK);
    device_is_done();
    assert_non_null(pcb->ext_args[TCP_SLOT_RECOVERY].data);
    peer_acks(20 * SEG + 1, WINDOW);
    assert_int_equal(pcb->state, FIN_WAIT_2);
    assert_null(pcb->ext_args[TCP_SLOT_RECOVERY].data);
}

static void slow_start_doubles_also_when_all_is_acknowledged_at_once(void **state)
{
    (void)state;
    pcb->cwnd = 10 * SEG;
    pcb->ssthresh = WINDOW;
    write_stream(0, 60 * SEG, 0);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    assert_int_equal(see_stream(0, 0), 10 * SEG);
    device_is_done();
    peer_acks(10 * SEG, WINDOW);
    assert_int_equal(pcb->cwnd, 20 * SEG);
    assert_int_equal(see_stream(0, 0), 30 * SEG);
}

static void a_window_that_was_not_used_does_not_grow(void **state)
{
    (void)state;
    pcb->cwnd = 40 * SEG;
    pcb->ssthresh = WINDOW;
    write_stream(0, 4 * SEG, 0);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    device_is_done();
    peer_acks(4 * SEG, WINDOW);
    assert_int_equal(pcb->cwnd, 40 * SEG);
}

static void without_memory_for_its_state_the_timer_repairs(void **state)
{
    (void)state;
    const size_t sent = twenty_sent();

    pcb->flags &= (tcpflags_t)~TF_SACK;
    net_fixture_exhaust(FRAG_CONTROL);
    net_tcp_loss_seen(pcb);
    assert_int_equal(tcp_output(pcb), ERR_OK);
    net_fixture_release();
    assert_int_equal(nic.sent_count, sent);
    pcb->cwnd = SEG;
    tcp_rexmit_rto(pcb);
    assert_int_equal(see(sent).from, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        SEND_TEST(a_gap_goes_again_when_three_segments_behind_it_arrived),
        SEND_TEST(several_gaps_are_filled_in_one_round_trip),
        SEND_TEST(a_wide_gap_is_filled_as_the_window_allows),
        SEND_TEST(new_data_goes_on_while_gaps_are_filled),
        SEND_TEST(what_was_sent_again_and_lost_again_goes_once_more),
        SEND_TEST(a_partial_acknowledgement_names_the_next_gap),
        SEND_TEST(duplicates_that_name_no_block_are_no_loss_with_sack),
        SEND_TEST(a_timeout_begins_anew_and_skips_what_the_peer_says_it_holds),
        SEND_TEST(its_state_goes_when_the_fin_is_acknowledged),
        SEND_TEST(slow_start_doubles_also_when_all_is_acknowledged_at_once),
        SEND_TEST(a_window_that_was_not_used_does_not_grow),
        SEND_TEST(without_memory_for_its_state_the_timer_repairs),
    };
    int failed;

    offload = CSUM;
    failed = cmocka_run_group_tests_name("cut by us", tests, net_fixture_start_tcp, NULL);
    offload = TSO;
    failed += cmocka_run_group_tests_name("cut by the device", tests, NULL, NULL);
    return failed;
}
