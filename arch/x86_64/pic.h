/* The two 8259 interrupt controllers: 16 legacy lines, delivered through LINT0 of the LAPIC. */
#ifndef ARCH_X86_64_PIC_H
#define ARCH_X86_64_PIC_H

#include <stdbool.h>
#include <stdint.h>

enum { PIC_LINES = 16 };

/* Move the lines to vector_base … vector_base + 15 and mask them all. vector_base is a multiple of 8. */
void pic_init(uint8_t vector_base);

/* Make a line level-triggered, as PCI lines are, and let it through. */
void pic_unmask_level(uint8_t line);

/* True when the line really is in service: lines 7 and 15 also stand for "it went away again". */
bool pic_in_service(uint8_t line);

/* End of interrupt. For a line that isn't in service too, which some cases of 15 need. */
void pic_end(uint8_t line, bool in_service);

#endif
