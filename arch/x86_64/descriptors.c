/*
 * Every gate has a stack of its own class (IST): a fault on a bad stack is still reported, and neither
 * interrupts nor faults ever write below the interrupted code's stack pointer, so its red zone is safe.
 */
#include "arch/x86_64/descriptors.h"

#include <assert.h>
#include <stddef.h>

enum { SEL_CODE = 0x08, SEL_DATA = 0x10, SEL_TSS = 0x18 };
enum { IST_IRQ = 1, IST_CRASH = 2, IST_DOUBLE_FAULT = 3, IST_NMI = 4 };
enum { GATE_INTERRUPT = 0x8e }; /* present, ring 0, interrupts off on entry */

/* Intel SDM vol. 3A §8.7. */
struct __attribute__((packed)) tss {
    uint32_t reserved0;
    uint64_t rsp[3];
    uint64_t reserved1;
    uint64_t ist[7]; /* IST n is ist[n - 1] */
    uint64_t reserved2;
    uint16_t reserved3;
    uint16_t io_map; /* offset; at or beyond the limit: none */
};
static_assert(sizeof(struct tss) == 104, "SDM vol. 3A, figure 8-11");

/* SDM vol. 3A §6.14.1. */
struct gate {
    uint16_t offset_low;
    uint16_t selector;
    uint8_t ist;
    uint8_t type;
    uint16_t offset_mid;
    uint32_t offset_high;
    uint32_t reserved;
};
static_assert(sizeof(struct gate) == 16, "SDM vol. 3A, figure 6-8");

struct __attribute__((packed)) table_register {
    uint16_t limit;
    uint64_t base;
};

/* Ends of the stacks; linker.ld. */
extern uint8_t irq_stack_top[], crash_stack_top[], double_fault_stack_top[], nmi_stack_top[];

/* Addresses of the stubs, by vector; isr.S. */
extern const uint64_t isr_stubs[VECTOR_COUNT];

static struct tss tss;
static struct gate idt[VECTOR_COUNT];
static uint64_t gdt[] = {
    0,
    0x00af9b000000ffff, /* SEL_CODE: 64-bit, ring 0; "accessed" set, so the processor never writes here */
    0x00cf93000000ffff, /* SEL_DATA */
    0,
    0, /* SEL_TSS, two slots */
};

static void tss_init(void)
{
    tss.io_map = sizeof(tss);
    tss.ist[IST_IRQ - 1] = (uintptr_t)irq_stack_top;
    tss.ist[IST_CRASH - 1] = (uintptr_t)crash_stack_top;
    tss.ist[IST_DOUBLE_FAULT - 1] = (uintptr_t)double_fault_stack_top;
    tss.ist[IST_NMI - 1] = (uintptr_t)nmi_stack_top;

    const uint64_t base = (uintptr_t)&tss;
    gdt[SEL_TSS / 8] =
        (sizeof(tss) - 1) | (base & 0xffffff) << 16 | 0x89ull << 40 | (base >> 24 & 0xff) << 56;
    gdt[SEL_TSS / 8 + 1] = base >> 32;
}

static uint8_t ist_of(unsigned vector)
{
    if (vector == VECTOR_NMI)
        return IST_NMI;
    if (vector == VECTOR_DOUBLE_FAULT)
        return IST_DOUBLE_FAULT;
    return vector < VECTOR_EXCEPTIONS ? IST_CRASH : IST_IRQ;
}

static void idt_init(void)
{
    for (unsigned i = 0; i < VECTOR_COUNT; i++) {
        const uint64_t stub = isr_stubs[i];
        idt[i] = (struct gate){
            .offset_low = (uint16_t)stub,
            .selector = SEL_CODE,
            .ist = ist_of(i),
            .type = GATE_INTERRUPT,
            .offset_mid = (uint16_t)(stub >> 16),
            .offset_high = (uint32_t)(stub >> 32),
        };
    }
}

void descriptors_init(void)
{
    tss_init();
    idt_init();

    const struct table_register gdtr = {sizeof(gdt) - 1, (uintptr_t)gdt};
    const struct table_register idtr = {sizeof(idt) - 1, (uintptr_t)idt};
    /* The selectors are those of entry.S: what is loaded now stays valid. */
    __asm__ volatile("lgdt %0" : : "m"(gdtr));
    __asm__ volatile("lidt %0" : : "m"(idtr));
    __asm__ volatile("ltr %w0" : : "r"(SEL_TSS));
}
