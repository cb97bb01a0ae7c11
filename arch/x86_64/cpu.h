/* What this processor is and can do; looked up once at boot. Intel SDM vol. 2A, CPUID. */
#ifndef ARCH_X86_64_CPU_H
#define ARCH_X86_64_CPU_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_facts {
    bool nx, page_1g, x2apic, tsc_deadline, rdrand, rdseed, avx;
    uint8_t phys_bits;   /* width of a physical address */
    char hypervisor[13]; /* "KVMKVMKVM", "TCGTCGTCGTCG" …; "" on bare metal */
    char brand[49];      /* the processor's name, leading blanks cut */
    uint64_t tsc_hz;     /* as CPUID says; 0 when it doesn't */
    uint64_t lapic_hz;   /* LAPIC timer input as CPUID says; 0 when it doesn't */
};
extern struct cpu_facts cpu_facts;

/* Vector state is saved by xsave (isr.S): at most x87, SSE and AVX are switched on. */
extern bool cpu_has_xsave;

/* Fill cpu_facts; switch on no-execute pages and AVX state where there are such. Once, at boot. */
void cpu_init(void);

#endif
