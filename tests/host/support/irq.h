/* Interrupts on the host: port/irq.h for the driver, and the wires that a fake device pulls. */
#ifndef TESTS_HOST_SUPPORT_IRQ_H
#define TESTS_HOST_SUPPORT_IRQ_H

#include <stdbool.h>
#include <stdint.h>

/* No handlers, and as many vectors as may be: HOST_IRQ_VECTORS, or what the limit says. */
enum { HOST_IRQ_VECTORS = 32, HOST_IRQ_LINE_HANDLERS = 8 };
void host_irq_reset(void);
void host_irq_limit(unsigned vectors);
void host_irq_refuse_lines(bool refuse); /* no line is routed: irq_line_attach() fails */

/* A message-signalled interrupt: the device writes data to address. False when nobody takes it. */
bool host_irq_message(uint64_t address, uint32_t data);

/* Line `line` is pulled: every handler on it is called. Returns their number. */
unsigned host_irq_line(uint8_t line);

#endif
