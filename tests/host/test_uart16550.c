/* The serial port: what is sent arrives, and a port that is slow, stuck or absent holds nobody up for ever. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "drivers/serial/uart16550.h"
#include "tests/host/support/bus.h"

/* The port's other side: registers as a terminal sees them. */
static struct {
    char sent[4096];
    size_t sent_count;
    unsigned in_fifo;   /* bytes since it was last empty */
    unsigned overruns;  /* bytes written while the FIFO was full */
    unsigned busy_for;  /* looks at the status until the FIFO is empty */
    unsigned busy_each; /* busy_for after each burst */
    unsigned looks;
    bool stuck;
    uint8_t scratch, line_control, divisor;
} port;

static uint32_t port_read(void *arg, uint64_t offset, unsigned bytes)
{
    (void)arg;
    assert_int_equal(bytes, 1);
    if (offset == 7)
        return port.scratch;
    if (offset != 5)
        return 0;
    port.looks++;
    if (port.stuck)
        return 0;
    if (port.busy_for > 0) {
        port.busy_for--;
        return 0;
    }
    port.in_fifo = 0;
    return 0x60;
}

static void port_write(void *arg, uint64_t offset, unsigned bytes, uint32_t v)
{
    (void)arg;
    assert_int_equal(bytes, 1);
    switch (offset) {
    case 0:
        if (port.line_control & 0x80) {
            port.divisor = (uint8_t)v;
            return;
        }
        if (port.in_fifo++ == 0)
            port.busy_for = port.busy_each;
        port.overruns += port.in_fifo > UART_FIFO_BYTES;
        if (port.sent_count < sizeof(port.sent))
            port.sent[port.sent_count++] = (char)v;
        return;
    case 3:
        port.line_control = (uint8_t)v;
        return;
    case 7:
        port.scratch = (uint8_t)v;
        return;
    default:
        return;
    }
}

static const struct host_bus_ops port_ops = {port_read, port_write};

static int set_up(void **state)
{
    (void)state;
    host_bus_reset();
    memset(&port, 0, sizeof(port));
    host_bus_attach(true, UART_COM1, 8, &port_ops, &port);
    return 0;
}

static void it_runs_at_115200_8n1(void **state)
{
    (void)state;
    struct uart uart;
    assert_int_equal(uart_open(&uart, UART_COM1), 0);
    assert_int_equal(port.divisor, 1);
    assert_int_equal(port.line_control, 3);
}

static void what_is_written_is_sent_in_order_without_overrun(void **state)
{
    (void)state;
    struct uart uart;
    port.busy_each = 50;
    uart_open(&uart, UART_COM1);
    char text[1000];
    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)i;
    uart_write(&uart, text, sizeof(text));
    assert_int_equal(port.sent_count, sizeof(text));
    assert_memory_equal(port.sent, text, sizeof(text));
    assert_int_equal(port.overruns, 0);
    assert_int_equal(uart.dropped, 0);
}

static void one_look_serves_a_whole_fifo(void **state)
{
    (void)state;
    struct uart uart;
    uart_open(&uart, UART_COM1);
    port.looks = 0;
    uart_write(&uart, "0123456789abcdef0123456789abcdef", 32);
    assert_int_equal(port.looks, 2);
}

static void a_stuck_port_costs_one_wait_and_then_none(void **state)
{
    (void)state;
    struct uart uart;
    uart_open(&uart, UART_COM1);
    port.stuck = true;
    uart_write(&uart, "0123456789", 10);
    assert_int_equal(port.looks, UART_WAIT_READS);
    assert_true(uart.stalled);
    uart_write(&uart, "0123456789", 10);
    uart_drain(&uart);
    assert_int_equal(port.looks, UART_WAIT_READS + 1);
    assert_int_equal(uart.dropped, 20);
}

static void a_port_that_comes_back_is_used_again(void **state)
{
    (void)state;
    struct uart uart;
    uart_open(&uart, UART_COM1);
    port.stuck = true;
    uart_write(&uart, "lost", 4);
    port.stuck = false;
    uart_write(&uart, "back", 4);
    assert_false(uart.stalled);
    assert_int_equal(port.sent_count, 4);
    assert_memory_equal(port.sent, "back", 4);
}

static void an_absent_port_drops_everything_without_waiting(void **state)
{
    (void)state;
    struct uart uart;
    host_bus_reset(); /* now everything reads as all ones */
    assert_int_equal(uart_open(&uart, UART_COM1), -ENODEV);
    const unsigned strays = host_bus_strays();
    uart_write(&uart, "nobody", 6);
    uart_drain(&uart);
    assert_int_equal(host_bus_strays(), strays);
    assert_int_equal(uart.dropped, 6);
}

static void a_port_that_vanishes_is_stalled(void **state)
{
    (void)state;
    struct uart uart;
    uart_open(&uart, UART_COM1);
    host_bus_reset();
    uart_write(&uart, "gone", 4);
    assert_true(uart.stalled);
    assert_int_equal(uart.dropped, 4);
}

#define TEST(name) cmocka_unit_test_setup(name, set_up)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(it_runs_at_115200_8n1),
        TEST(what_is_written_is_sent_in_order_without_overrun),
        TEST(one_look_serves_a_whole_fifo),
        TEST(a_stuck_port_costs_one_wait_and_then_none),
        TEST(a_port_that_comes_back_is_used_again),
        TEST(an_absent_port_drops_everything_without_waiting),
        TEST(a_port_that_vanishes_is_stalled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
