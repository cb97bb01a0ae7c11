/*
 * A 16550 serial port, output only: 115200 baud, 8 data bits, no parity, 1 stop bit, FIFO on.
 *
 * Every wait has an end. A port that takes nothing for UART_WAIT_READS looks is `stalled`: text is dropped and
 * counted, without waiting, until it takes a byte again. Callable from anywhere, also from interrupts.
 */
#ifndef DRIVERS_SERIAL_UART16550_H
#define DRIVERS_SERIAL_UART16550_H

#include "lib/types.h"

enum {
    UART_COM1 = 0x3f8,
    UART_FIFO_BYTES = 16,
    /* A look costs about a microsecond on real machines and in emulators: some 0.2 s. A full FIFO
     * takes 1.4 ms to leave at this speed; a terminal at the other end may pause us for longer. */
    UART_WAIT_READS = 200000,
};

struct uart {
    uint16_t base; /* first I/O port */
    bool present;  /* something answered at open */
    bool stalled;
    uint8_t room;     /* bytes the FIFO takes before the next look */
    uint64_t dropped; /* bytes */
};

/* Set the port up. Returns 0, or -ENODEV when nothing is there: uart_write() then drops everything. */
int uart_open(struct uart *uart, uint16_t base);

void uart_write(struct uart *uart, const char *text, size_t len);

/* Wait, at most UART_WAIT_READS looks, until the last bit has left. */
void uart_drain(struct uart *uart);

#endif
