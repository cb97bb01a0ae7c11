/* net/tcp_sack.c: the scoreboard's arithmetic, against a picture of every byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "net/tcp_sack.h"

enum { UNA = (int)0xffffff80u, SPAN = 600 }; /* wraps within */

static struct tcp_scoreboard sb;

static int clear(void **state)
{
    (void)state;
    memset(&sb, 0, sizeof(sb));
    return 0;
}

static bool add(uint32_t from, uint32_t to)
{
    return tcp_sack_add(&sb, (uint32_t)UNA, (uint32_t)UNA + SPAN,
                        (struct seq_range){(uint32_t)UNA + from, (uint32_t)UNA + to});
}

static void check_range(unsigned i, uint32_t from, uint32_t to)
{
    assert_int_equal(sb.range[i].left - (uint32_t)UNA, from);
    assert_int_equal(sb.range[i].right - (uint32_t)UNA, to);
}

static void blocks_join_and_stay_in_order(void **state)
{
    (void)state;
    assert_true(add(200, 300));
    assert_true(add(50, 100));
    assert_true(add(400, 500));
    assert_int_equal(sb.count, 3);
    assert_false(add(210, 290)); /* nothing new */
    assert_true(add(100, 200));  /* touches both */
    assert_int_equal(sb.count, 2);
    check_range(0, 50, 300);
    check_range(1, 400, 500);
    assert_true(add(10, 600));
    assert_int_equal(sb.count, 1);
    check_range(0, 10, 600);
}

static void what_no_honest_peer_says_is_ignored(void **state)
{
    (void)state;
    assert_false(add(100, 100));
    assert_false(add(200, 100));
    assert_false(add(0, 100));            /* the acknowledgement itself would have said so */
    assert_false(add((uint32_t)-50, 20)); /* D-SACK */
    assert_false(add(500, SPAN + 1));     /* never sent */
    assert_false(add(0x80000000u, 0x80000100u));
    assert_int_equal(sb.count, 0);
}

static void a_full_board_forgets_what_comes_last(void **state)
{
    (void)state;
    for (uint32_t i = 0; i < TCP_SACK_RANGES; i++)
        assert_true(add(2 + i * 4, 4 + i * 4));
    assert_false(add(400, 410));
    assert_int_equal(sb.count, TCP_SACK_RANGES);
    assert_true(add(2, 300)); /* what makes room is welcome */
    assert_true(add(400, 410));
    assert_int_equal(sb.count, 2);
}

static void acknowledged_ranges_go(void **state)
{
    (void)state;
    add(50, 100);
    add(200, 300);
    add(400, 500);
    tcp_sack_advance(&sb, (uint32_t)UNA + 250);
    assert_int_equal(sb.count, 2);
    check_range(0, 250, 300);
    tcp_sack_advance(&sb, (uint32_t)UNA + 500);
    assert_int_equal(sb.count, 0);
}

static void three_segments_or_three_gaps_make_a_loss(void **state)
{
    (void)state;
    const uint32_t una = (uint32_t)UNA;

    assert_int_equal(tcp_sack_lost_edge(&sb, una, 10), una);
    add(100, 120);
    assert_int_equal(tcp_sack_lost_edge(&sb, una, 10), una);
    add(120, 121); /* more than two segments */
    assert_int_equal(tcp_sack_lost_edge(&sb, una, 10), una + 100);
    assert_int_equal(tcp_sack_lost_edge(&sb, una, 100), una);
    add(200, 201);
    assert_int_equal(tcp_sack_lost_edge(&sb, una, 100), una);
    add(300, 301); /* the third apart */
    assert_int_equal(tcp_sack_lost_edge(&sb, una, 100), una + 100);
}

static void gaps_come_one_after_the_other(void **state)
{
    (void)state;
    const uint32_t una = (uint32_t)UNA;
    struct seq_range gap;

    add(50, 100);
    add(200, 300);
    assert_true(tcp_sack_next_gap(&sb, una, una + 250, &gap));
    assert_int_equal(gap.left, una);
    assert_int_equal(gap.right, una + 50);
    assert_true(tcp_sack_next_gap(&sb, gap.right, una + 250, &gap));
    assert_int_equal(gap.left, una + 100);
    assert_int_equal(gap.right, una + 200);
    assert_false(tcp_sack_next_gap(&sb, gap.right, una + 250, &gap));
    assert_true(tcp_sack_next_gap(&sb, una + 250, una + 400, &gap));
    assert_int_equal(gap.left, una + 300);
    assert_int_equal(gap.right, una + 400);
}

/* Random blocks, and the same in an array of bytes. */
static void it_agrees_with_a_picture_of_every_byte(void **state)
{
    const uint32_t una = (uint32_t)UNA;

    srandom(20);
    for (int round = 0; round < 300; round++) {
        uint8_t picture[SPAN] = {0};

        clear(state);
        for (int i = 0; i < 12; i++) {
            const uint32_t from = 1 + (uint32_t)random() % (SPAN - 1);
            const uint32_t to = from + (uint32_t)random() % (SPAN - from + 1);

            add(from, to);
            memset(picture + from, 1, to - from);
        }
        const uint32_t from = (uint32_t)random() % SPAN,
                       to = from + (uint32_t)random() % (SPAN - from);
        uint32_t missing = 0;

        for (uint32_t i = from; i < to; i++)
            missing += !picture[i];
        assert_int_equal(tcp_sack_missing(&sb, una + from, una + to), missing);
        for (unsigned i = 0; i + 1 < sb.count; i++)
            assert_true((int32_t)(sb.range[i + 1].left - sb.range[i].right) > 0);

        struct seq_range gap;
        const bool found = tcp_sack_next_gap(&sb, una + from, una + to, &gap);

        assert_int_equal(found, missing > 0);
        if (found) {
            assert_false(picture[gap.left - una]);
            assert_int_equal(tcp_sack_missing(&sb, una + from, gap.left), 0);
            assert_int_equal(tcp_sack_missing(&sb, gap.left, gap.right), gap.right - gap.left);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(blocks_join_and_stay_in_order, clear),
        cmocka_unit_test_setup(what_no_honest_peer_says_is_ignored, clear),
        cmocka_unit_test_setup(a_full_board_forgets_what_comes_last, clear),
        cmocka_unit_test_setup(acknowledged_ranges_go, clear),
        cmocka_unit_test_setup(three_segments_or_three_gaps_make_a_loss, clear),
        cmocka_unit_test_setup(gaps_come_one_after_the_other, clear),
        cmocka_unit_test_setup(it_agrees_with_a_picture_of_every_byte, clear),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
