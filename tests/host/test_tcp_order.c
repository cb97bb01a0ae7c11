#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lwip/priv/tcp_priv.h"
#include "net/tcp_order.h"

enum { LASTACK = 5000, MSS = 100, SEGS = 4 };

/* SEGS segments of MSS bytes from LASTACK on, and a connection that has some of them in each list. */
struct fixture {
    struct tcp_pcb pcb;
    struct tcp_hdr hdr[SEGS];
    struct tcp_seg seg[SEGS];
};

static void arrange(struct fixture *f, tcpwnd_size_t window)
{
    *f = (struct fixture){.pcb = {.state = ESTABLISHED, .lastack = LASTACK, .snd_wnd = window}};
    for (unsigned i = 0; i < SEGS; i++) {
        f->hdr[i].seqno = lwip_htonl(LASTACK + i * MSS);
        f->seg[i] = (struct tcp_seg){.tcphdr = &f->hdr[i], .len = MSS};
    }
}

/* The list of segments with these numbers, in this order; -1 ends it. */
static struct tcp_seg *list(struct fixture *f, const int *numbers)
{
    struct tcp_seg *head = NULL, **link = &head;

    for (; *numbers >= 0; numbers++) {
        *link = &f->seg[*numbers];
        link = &(*link)->next;
    }
    *link = NULL;
    return head;
}

static void is_list(struct fixture *f, const struct tcp_seg *seg, const int *numbers)
{
    for (; *numbers >= 0; numbers++, seg = seg->next)
        assert_ptr_equal(seg, &f->seg[*numbers]);
    assert_null(seg);
}

#define NUMBERS(...) ((const int[]){__VA_ARGS__, -1})

static void a_segment_that_waits_for_a_window_goes_back_before_its_successors(void **state)
{
    (void)state;
    struct fixture f;
    arrange(&f, MSS - 1);
    f.pcb.unsent = list(&f, NUMBERS(0, 3));
    f.pcb.unacked = list(&f, NUMBERS(1, 2));

    net_tcp_order(&f.pcb);

    is_list(&f, f.pcb.unacked, NUMBERS(0, 1, 2));
    is_list(&f, f.pcb.unsent, NUMBERS(3));
}

static void several_keep_their_order_and_the_last_ones_room_is_forgotten(void **state)
{
    (void)state;
    struct fixture f;
    arrange(&f, 0);
    f.pcb.unsent = list(&f, NUMBERS(0, 1));
    f.pcb.unacked = list(&f, NUMBERS(2, 3));
    f.pcb.unsent_oversize = 7;

    net_tcp_order(&f.pcb);

    is_list(&f, f.pcb.unacked, NUMBERS(0, 1, 2, 3));
    assert_null(f.pcb.unsent);
    assert_int_equal(f.pcb.unsent_oversize, 0);
}

static void one_that_fits_the_window_stays_to_be_sent(void **state)
{
    (void)state;
    struct fixture f;
    arrange(&f, MSS);
    f.pcb.unsent = list(&f, NUMBERS(0));
    f.pcb.unacked = list(&f, NUMBERS(1));

    net_tcp_order(&f.pcb);

    is_list(&f, f.pcb.unsent, NUMBERS(0));
    is_list(&f, f.pcb.unacked, NUMBERS(1));
}

static void lists_in_order_are_left_alone(void **state)
{
    (void)state;
    struct fixture f;
    arrange(&f, 0);

    f.pcb.unacked = list(&f, NUMBERS(0, 1));
    f.pcb.unsent = list(&f, NUMBERS(2, 3));
    net_tcp_order(&f.pcb);
    is_list(&f, f.pcb.unacked, NUMBERS(0, 1));
    is_list(&f, f.pcb.unsent, NUMBERS(2, 3));

    f.pcb.unacked = NULL;
    net_tcp_order(&f.pcb);
    is_list(&f, f.pcb.unsent, NUMBERS(2, 3));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_segment_that_waits_for_a_window_goes_back_before_its_successors),
        cmocka_unit_test(several_keep_their_order_and_the_last_ones_room_is_forgotten),
        cmocka_unit_test(one_that_fits_the_window_stays_to_be_sent),
        cmocka_unit_test(lists_in_order_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
