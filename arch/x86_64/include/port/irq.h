/* Interrupts, as drivers may ask for them. Handlers run with interrupts off, on a stack of their own,
 * compiled without vector registers; they set a flag and return. */
#ifndef PORT_IRQ_H
#define PORT_IRQ_H

#include <stdbool.h>
#include <stdint.h>

/* Marks what runs in interrupt context. Nobody saves vector registers there, so the compiler must not use them, not
 * even for two flags side by side. (clang, which only builds host tests, has no such word.) */
#if defined(__GNUC__) && !defined(__clang__)
#define IRQ_CONTEXT __attribute__((target("general-regs-only")))
#else
#define IRQ_CONTEXT
#endif

typedef void (*irq_handler)(void *arg);

/*
 * A free CPU vector for message-signalled interrupts: *address and *data are what the device must
 * write to raise it. Returns 0, or -ENOSPC when all are given out. Boot or poll loop only.
 */
int irq_msi_alloc(irq_handler handler, void *arg, uint64_t *address, uint32_t *data);

/*
 * Attach to legacy interrupt `line` (the PCI Interrupt Line register: 0 … 15; 255 = none). Lines are shared:
 * every handler on the line is called. Returns 0, -EINVAL for a line that isn't routed, -ENOSPC.
 */
int irq_line_attach(uint8_t line, irq_handler handler, void *arg);

/* How a line interrupts. None of them: level-triggered, active high. */
enum irq_how { IRQ_EDGE = 1, IRQ_ACTIVE_LOW = 2 };

/*
 * The same for a line of an I/O APIC ("global system interrupt"); on a machine without one, for the legacy line of
 * that number. `how` is enum irq_how's bits; whoever comes first to a line decides. Returns 0; -EINVAL for a line
 * that no controller has; -ENOSPC.
 */
int irq_gsi_attach(uint32_t gsi, unsigned how, irq_handler handler, void *arg);

/* Interrupts taken since boot, per source class, for /metrics. */
uint64_t irq_count(void);

#endif
