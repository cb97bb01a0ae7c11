#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "lwip/priv/tcp_priv.h"
#include "lwip/tcp.h"
#include "net/lwip_hooks.h"

enum { LASTACK = 1000, PROBED = LASTACK + 1 };

/* A connection that has sent a zero-window probe. */
static struct tcp_pcb probing(void)
{
    return (struct tcp_pcb){.state = ESTABLISHED,
                            .persist_backoff = 1,
                            .snd_wnd = 0,
                            .lastack = LASTACK,
                            .snd_nxt = PROBED};
}

static void the_probes_byte_is_taken_back_before_the_next_header(void **state)
{
    (void)state;
    struct tcp_pcb pcb = probing();

    assert_int_equal(net_tcp_header_options(&pcb, 12), 12);
    assert_int_equal(pcb.snd_nxt, LASTACK);
}

static void what_the_peer_has_room_for_stays_sent(void **state)
{
    (void)state;
    struct tcp_seg seg = {0};
    struct tcp_pcb open = probing(), in_flight = probing(), quiet = probing();

    open.snd_wnd = 1;
    in_flight.unacked = &seg;
    quiet.persist_backoff = 0;
    net_tcp_header_options(&open, 0);
    net_tcp_header_options(&in_flight, 0);
    net_tcp_header_options(&quiet, 0);
    assert_int_equal(open.snd_nxt, PROBED);
    assert_int_equal(in_flight.snd_nxt, PROBED);
    assert_int_equal(quiet.snd_nxt, PROBED);
}

static void headers_without_a_connection_are_left_alone(void **state)
{
    (void)state;
    struct tcp_pcb_listen listener = {.state = LISTEN};

    assert_int_equal(net_tcp_header_options(NULL, 4), 4);
    assert_int_equal(net_tcp_header_options((struct tcp_pcb *)(void *)&listener, 4), 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_probes_byte_is_taken_back_before_the_next_header),
        cmocka_unit_test(what_the_peer_has_room_for_stays_sent),
        cmocka_unit_test(headers_without_a_connection_are_left_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
