#include "arch/x86_64/copy.h"
#include "arch/x86_64/cpu.h"

#include <string.h>

#include "arch/x86_64/cpu_regs.h"
#include "port/cpu.h"

enum {
    CPUID1_ECX_X2APIC = 1 << 21,
    CPUID1_ECX_TSC_DEADLINE = 1 << 24,
    CPUID1_ECX_XSAVE = 1 << 26,
    CPUID1_ECX_AVX = 1 << 28,
    CPUID1_ECX_RDRAND = 1 << 30,
    CPUID7_EBX_RDSEED = 1 << 18,
    CPUID7_EBX_ERMS = 1 << 9,
    CPUID81_EDX_NX = 1 << 20,
    CPUID81_EDX_PAGE_1G = 1 << 26,
    CR4_OSXSAVE = 1 << 18,
    XCR0_X87_SSE = 3,
    XCR0_AVX = 4,
    MSR_EFER_NXE = 1 << 11,
    PHYS_BITS_DEFAULT = 36, /* before leaf 0x80000008 existed */
    RANDOM_TRIES = 10,      /* Intel's guide: ten failures in a row mean a broken unit */
};
#define CPUID1_ECX_HYPERVISOR (1u << 31)
#define MSR_EFER 0xc0000080u
#define MSR_FS_BASE 0xc0000100u
#define CPUID_HYPERVISOR_BASE 0x40000000u
/* VMware's timing leaf, which KVM and QEMU offer too: EAX = TSC kHz, EBX = LAPIC timer kHz. */
#define CPUID_HYPERVISOR_TIMING 0x40000010u

struct cpu_facts cpu_facts;
bool cpu_has_xsave;

static void find_hypervisor(void)
{
    const struct cpuid base = cpuid(CPUID_HYPERVISOR_BASE, 0);
    const uint32_t words[3] = {base.ebx, base.ecx, base.edx};
    memcpy(cpu_facts.hypervisor, words, sizeof(words));
    if (base.eax < CPUID_HYPERVISOR_TIMING)
        return;
    const struct cpuid timing = cpuid(CPUID_HYPERVISOR_TIMING, 0);
    cpu_facts.tsc_hz = (uint64_t)timing.eax * 1000;
    cpu_facts.lapic_hz = (uint64_t)timing.ebx * 1000;
}

/* Leaf 0x15: TSC = crystal × EBX / EAX. A crystal of 0 means "look it up by model", which we don't. */
static void find_tsc_rate(uint32_t max_leaf)
{
    if (cpu_facts.tsc_hz != 0 || max_leaf < 0x15)
        return;
    const struct cpuid r = cpuid(0x15, 0);
    if (r.eax == 0 || r.ebx == 0 || r.ecx == 0)
        return;
    cpu_facts.tsc_hz = (uint64_t)r.ecx * r.ebx / r.eax;
    cpu_facts.lapic_hz = r.ecx;
}

static void find_brand(uint32_t max_extended)
{
    if (max_extended < 0x80000004)
        return;
    uint32_t words[12];
    for (uint32_t i = 0; i < 3; i++) {
        const struct cpuid r = cpuid(0x80000002 + i, 0);
        memcpy(&words[4 * i], &r, sizeof(r));
    }
    const char *from = (const char *)words;
    size_t len = sizeof(words);
    while (len > 0 && *from == ' ') {
        from++;
        len--;
    }
    memcpy(cpu_facts.brand, from, len);
}

static void enable_extended_state(bool xsave)
{
    if (!xsave)
        return;
    cr4_write(cr4_read() | CR4_OSXSAVE);
    xcr0_write(XCR0_X87_SSE | (cpu_facts.avx ? XCR0_AVX : 0));
    cpu_has_xsave = true;
}

void cpu_init(void)
{
    const uint32_t max_leaf = cpuid(0, 0).eax;
    const uint32_t max_extended = cpuid(0x80000000, 0).eax;
    const struct cpuid basic = cpuid(1, 0);
    const struct cpuid extended = cpuid(0x80000001, 0);

    cpu_facts.x2apic = basic.ecx & CPUID1_ECX_X2APIC;
    cpu_facts.tsc_deadline = basic.ecx & CPUID1_ECX_TSC_DEADLINE;
    cpu_facts.rdrand = basic.ecx & CPUID1_ECX_RDRAND;
    cpu_facts.rdseed = max_leaf >= 7 && (cpuid(7, 0).ebx & CPUID7_EBX_RDSEED);
    const bool xsave = basic.ecx & CPUID1_ECX_XSAVE;
    cpu_facts.avx = xsave && (basic.ecx & CPUID1_ECX_AVX);
    cpu_facts.nx = extended.edx & CPUID81_EDX_NX;
    cpu_facts.page_1g = extended.edx & CPUID81_EDX_PAGE_1G;
    cpu_facts.phys_bits =
        max_extended >= 0x80000008 ? (uint8_t)(cpuid(0x80000008, 0).eax & 0xff) : PHYS_BITS_DEFAULT;
    if (basic.ecx & CPUID1_ECX_HYPERVISOR)
        find_hypervisor();
    /* TCG says that it has ERMS with -cpu max, and is eight times slower at it. */
    copy_by_bytes = max_leaf >= 7 && (cpuid(7, 0).ebx & CPUID7_EBX_ERMS) &&
                    strncmp(cpu_facts.hypervisor, "TCG", 3) != 0;
    find_tsc_rate(max_leaf);
    find_brand(max_extended);

    if (cpu_facts.nx)
        msr_write(MSR_EFER, msr_read(MSR_EFER) | MSR_EFER_NXE);
    enable_extended_state(xsave);
}

void cpu_thread_pointer_set(void *pointer)
{
    msr_write(MSR_FS_BASE, (uintptr_t)pointer);
}

uint64_t cpu_cycles(void)
{
    uint32_t lo, hi;
    __asm__ volatile("rdtsc" : "=a"(lo), "=d"(hi));
    return (uint64_t)hi << 32 | lo;
}

static bool rdseed(uint64_t *out)
{
    bool ok;
    __asm__ volatile("rdseed %0" : "=r"(*out), "=@ccc"(ok));
    return ok;
}

static bool rdrand(uint64_t *out)
{
    bool ok;
    __asm__ volatile("rdrand %0" : "=r"(*out), "=@ccc"(ok));
    return ok;
}

/* Some AMD parts return all ones for ever after a suspend, with the carry flag set: no word is that. */
static bool is_word(uint64_t v)
{
    return v != 0 && v != UINT64_MAX;
}

bool cpu_hw_random(uint64_t *out)
{
    for (int i = 0; cpu_facts.rdseed && i < RANDOM_TRIES; i++) {
        if (rdseed(out) && is_word(*out))
            return true;
        __asm__ volatile("pause");
    }
    for (int i = 0; cpu_facts.rdrand && i < RANDOM_TRIES; i++) {
        if (rdrand(out) && is_word(*out))
            return true;
    }
    return false;
}
