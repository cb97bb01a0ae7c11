/* Interrupt delivery: which handler a vector belongs to. What drivers may use is port/irq.h. */
#ifndef ARCH_X86_64_IRQ_H
#define ARCH_X86_64_IRQ_H

#include <stdbool.h>

/* Bring up PIC and LAPIC, and let interrupts in. Returns 0, or -ENODEV without a usable LAPIC: then there
 * are legacy lines only, and no timer. */
int irq_init(void);

/* True once irq_init() found a LAPIC. */
bool irq_has_lapic(void);

/* Called on VECTOR_TIMER; set by clock's timer. */
void irq_set_timer_handler(void (*handler)(void));

#endif
