#ifndef ARCH_X86_64_IDLE_H
#define ARCH_X86_64_IDLE_H

/* Make the one-shot timer ready for cpu_idle(). After irq_init() and clock_init(). */
void idle_init(void);

#endif
