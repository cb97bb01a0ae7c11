/* The processor's descriptor tables: segments, the task segment's spare stacks, interrupt gates. */
#ifndef ARCH_X86_64_DESCRIPTORS_H
#define ARCH_X86_64_DESCRIPTORS_H

#include <stdint.h>

/* Vectors; isr.S has a stub for each below VECTOR_COUNT. */
enum {
    VECTOR_NMI = 2,
    VECTOR_DOUBLE_FAULT = 8,
    VECTOR_PAGE_FAULT = 14,
    VECTOR_EXCEPTIONS = 32, /* 0 … 31 belong to the processor */
    VECTOR_PIC = 32,        /* 16 legacy lines */
    VECTOR_MSI = 48,
    VECTOR_MSI_COUNT = 45,
    VECTOR_LAPIC_ERROR = 93,
    VECTOR_TIMER = 94,
    VECTOR_SPURIOUS = 95, /* the low four bits must be ones on old LAPICs */
    VECTOR_COUNT = 96,
};

/* What the stubs of isr.S have pushed when they call C; the processor's own part comes last. */
struct trap_frame {
    uint64_t r15, r14, r13, r12, r11, r10, r9, r8;
    uint64_t rdi, rsi, rbp, rbx, rdx, rcx, rax;
    uint64_t vector;
    uint64_t error; /* 0 where the processor pushes none */
    uint64_t rip, cs, rflags, rsp, ss;
};

/* Load GDT, TSS and IDT; every exception then ends in a crash block. First thing at boot. */
void descriptors_init(void);

#endif
