#include "drivers/serial/uart16550.h"

#include <errno.h>

#include "port/pio.h"

/* Offsets from the base; PC16550D data sheet, table II. */
enum {
    REG_DATA = 0,
    REG_IRQ_ENABLE = 1,
    REG_FIFO_CONTROL = 2,
    REG_LINE_CONTROL = 3,
    REG_MODEM_CONTROL = 4,
    REG_LINE_STATUS = 5,
    REG_SCRATCH = 7,
    REG_DIVISOR_LOW = 0,  /* while LINE_CONTROL has DLAB */
    REG_DIVISOR_HIGH = 1, /* while LINE_CONTROL has DLAB */
};
enum {
    LINE_8N1 = 0x03,
    LINE_DLAB = 0x80,
    FIFO_ENABLE_CLEAR = 0x07,
    MODEM_DTR_RTS = 0x03,
    STATUS_THR_EMPTY = 0x20, /* with the FIFO on: the whole FIFO is empty */
    STATUS_IDLE = 0x40,
    STATUS_ABSENT = 0xff,
    DIVISOR_115200 = 1,
    SCRATCH_PATTERN = 0x5a,
};

static uint8_t reg_read(const struct uart *uart, uint16_t reg)
{
    return pio_read8((uint16_t)(uart->base + reg));
}

static void reg_write(const struct uart *uart, uint16_t reg, uint8_t v)
{
    pio_write8((uint16_t)(uart->base + reg), v);
}

int uart_open(struct uart *uart, uint16_t base)
{
    *uart = (struct uart){.base = base};
    reg_write(uart, REG_SCRATCH, SCRATCH_PATTERN);
    if (reg_read(uart, REG_SCRATCH) != SCRATCH_PATTERN)
        return -ENODEV;

    reg_write(uart, REG_IRQ_ENABLE, 0);
    reg_write(uart, REG_LINE_CONTROL, LINE_DLAB);
    reg_write(uart, REG_DIVISOR_LOW, DIVISOR_115200);
    reg_write(uart, REG_DIVISOR_HIGH, 0);
    reg_write(uart, REG_LINE_CONTROL, LINE_8N1);
    reg_write(uart, REG_FIFO_CONTROL, FIFO_ENABLE_CLEAR);
    reg_write(uart, REG_MODEM_CONTROL, MODEM_DTR_RTS);
    uart->present = true;
    return 0;
}

/* Look at most `reads` times until the status has `bit`. */
static bool wait_status(const struct uart *uart, uint8_t bit, uint32_t reads)
{
    while (reads-- > 0) {
        const uint8_t status = reg_read(uart, REG_LINE_STATUS);
        if (status != STATUS_ABSENT && (status & bit))
            return true;
    }
    return false;
}

static bool make_room(struct uart *uart)
{
    if (uart->room > 0)
        return true;
    if (!wait_status(uart, STATUS_THR_EMPTY, uart->stalled ? 1 : UART_WAIT_READS)) {
        uart->stalled = true;
        return false;
    }
    uart->stalled = false;
    uart->room = UART_FIFO_BYTES;
    return true;
}

void uart_write(struct uart *uart, const char *text, size_t len)
{
    if (!uart->present) {
        uart->dropped += len;
        return;
    }
    for (size_t i = 0; i < len; i++) {
        if (!make_room(uart)) {
            uart->dropped += len - i;
            return;
        }
        reg_write(uart, REG_DATA, (uint8_t)text[i]);
        uart->room--;
    }
}

void uart_drain(struct uart *uart)
{
    if (uart->present && !uart->stalled)
        wait_status(uart, STATUS_IDLE, UART_WAIT_READS);
}
