#include "arch/x86_64/clock.h"

#include <string.h>

#include "arch/x86_64/cpu.h"
#include "arch/x86_64/irq.h"
#include "arch/x86_64/lapic.h"
#include "arch/x86_64/time_refs.h"
#include "lib/log.h"
#include "lib/tick_scale.h"
#include "lib/types.h"
#include "port/clock.h"
#include "port/cpu.h"

enum {
    NS_PER_S = 1000000000,
    US_PER_S = 1000000,
    WINDOW_READS_MAX = 100000, /* a reference that is so slow is none */
    STILL_READS_MAX =
        2000, /* nor is one that hasn't moved at all by then: they tick in less than a µs */
    DISAGREE_PERCENT = 2,
    REFINE_AFTER_US = 1000000, /* 1 µs of error in a reading is then 1 ppm */
    REFINE_TRIES = 100, /* the PIT wraps every 55 ms, which a quiet program may sleep through */
};
#define TSC_HZ_GUESS 1000000000ull
#define LAPIC_HZ_VIRTUAL 1000000000u

/* Time is anchor.ns plus what the TSC has counted since anchor.tsc. The anchor moves when the rate changes. */
static struct {
    uint64_t tsc, ns;
    struct tick_scale ns_per_tick, ticks_per_us;
} anchor;

static uint64_t last_ns; /* no time before this is ever told */
static uint64_t tsc_hz, lapic_hz;
static const char *source = "nothing";

static struct {
    struct time_ref ref;
    struct time_sample from;
    uint64_t from_us; /* our time at `from` */
    unsigned tries;   /* left; 0 when it is done or given up */
} refine;

static void set_rate(uint64_t hz, uint64_t anchor_tsc, uint64_t anchor_ns)
{
    tsc_hz = hz;
    anchor.tsc = anchor_tsc;
    anchor.ns = anchor_ns;
    anchor.ns_per_tick = tick_scale_make(hz, NS_PER_S);
    anchor.ticks_per_us = tick_scale_make(US_PER_S, hz);
}

/* ---- Measuring ------------------------------------------------------------------------------------ */

/* Wait until the reference has counted for CLOCK_WINDOW_US. False: it doesn't. */
static bool wait_window(const struct time_ref *ref, uint32_t from)
{
    const uint32_t ticks = (uint32_t)((uint64_t)ref->hz * CLOCK_WINDOW_US / US_PER_S);
    for (int i = 0; i < WINDOW_READS_MAX; i++) {
        const uint32_t counted = (ref->read() - from) & ref->mask;
        if (counted >= ticks && counted < ticks * 16)
            return true;
        if (counted == 0 && i == STILL_READS_MAX)
            return false;
        if (counted >=
            ticks) /* ran far over: an absent port, or the host took the processor away */
            return false;
    }
    return false;
}

static bool agree(uint64_t a, uint64_t b)
{
    const uint64_t difference = a > b ? a - b : b - a;
    return difference < a / 100 * DISAGREE_PERCENT;
}

static uint32_t lapic_read(void)
{
    return UINT32_MAX - lapic_timer_left(); /* it counts down */
}
static const struct time_ref lapic_ref = {.name = "LAPIC", .mask = UINT32_MAX, .read = lapic_read};

static struct time_sample lapic_from, lapic_to;

static uint64_t lapic_rate(void)
{
    const uint64_t counted = (uint64_t)(lapic_to.count - lapic_from.count) * LAPIC_TIMER_DIVISOR;
    return (uint64_t)((unsigned __int128)counted * tsc_hz / (lapic_to.tsc - lapic_from.tsc));
}

/* The rate to believe: the first reference's that has one. Says so if another disagrees. */
static uint64_t judge(const struct time_ref *refs, const uint64_t *rates, unsigned count,
                      unsigned *believed)
{
    *believed = 0;
    while (*believed < count - 1 && rates[*believed] == 0)
        ++*believed;
    const uint64_t hz = rates[*believed];
    for (unsigned i = *believed + 1; hz != 0 && i < count; i++) {
        if (rates[i] != 0 && !agree(hz, rates[i]))
            /* Often no more than a busy host between two readings: nobody need act on it. */
            log_info("clock", "TSC %llu MHz by %s, which is believed, but %llu MHz by %s",
                     (unsigned long long)(hz / US_PER_S), refs[*believed].name,
                     (unsigned long long)(rates[i] / US_PER_S), refs[i].name);
    }
    return hz;
}

/* One window on all references at once, and on the LAPIC timer. Sets tsc_hz; 0: failed. */
static void measure(bool lapic_wanted)
{
    struct time_ref refs[TIME_REFS_MAX];
    struct time_sample from[TIME_REFS_MAX], to[TIME_REFS_MAX];
    uint64_t rates[TIME_REFS_MAX];
    const unsigned count = time_refs_find(refs);

    if (lapic_wanted) {
        lapic_timer_start(UINT32_MAX);
        lapic_from = time_ref_sample(&lapic_ref);
    }
    for (unsigned i = 0; i < count; i++)
        from[i] = time_ref_sample(&refs[i]);
    for (unsigned i = 0; i < count && !wait_window(&refs[i], from[i].count); i++)
        ;
    for (unsigned i = 0; i < count; i++) {
        to[i] = time_ref_sample(&refs[i]);
        rates[i] = time_ref_rate(&refs[i], from[i], to[i]);
    }

    unsigned best;
    tsc_hz = judge(refs, rates, count, &best);
    if (lapic_wanted) {
        lapic_to = time_ref_sample(&lapic_ref);
        lapic_timer_start(0);
    }
    source = refs[best].name;
    refine.ref = refs[best];
    refine.from = to[best];
    refine.tries = tsc_hz != 0 ? REFINE_TRIES : 0;
}

/*
 * KVM and QEMU's TCG both let the LAPIC timer run at 1 GHz: the last resort on a machine without a PIT. Not while
 * the timer goes by the TSC itself.
 */
static void measure_by_lapic(void)
{
    static const char *const known[] = {"TCGTCGTCGTCG", "KVMKVMKVM"};
    const struct time_ref ref = {"LAPIC", LAPIC_HZ_VIRTUAL / LAPIC_TIMER_DIVISOR, UINT32_MAX,
                                 lapic_read};
    bool is_known = false;

    for (unsigned i = 0; i < ARRAY_COUNT(known); i++)
        is_known |= strcmp(cpu_facts.hypervisor, known[i]) == 0;
    if (!is_known || !irq_has_lapic() || cpu_facts.tsc_deadline)
        return;
    lapic_timer_start(UINT32_MAX);
    const struct time_sample from = time_ref_sample(&ref);
    wait_window(&ref, from.count);
    tsc_hz = time_ref_rate(&ref, from, time_ref_sample(&ref));
    lapic_timer_start(0);
    source = ref.name;
}

static void find_rates(void)
{
    const bool lapic_wanted = irq_has_lapic() && !cpu_facts.tsc_deadline && cpu_facts.lapic_hz == 0;
    lapic_hz = cpu_facts.lapic_hz;
    if (cpu_facts.tsc_hz == 0 || lapic_wanted)
        measure(lapic_wanted);
    if (cpu_facts.tsc_hz != 0) {
        tsc_hz = cpu_facts.tsc_hz;
        source = "CPUID";
        refine.tries = 0;
    }
    if (tsc_hz == 0)
        measure_by_lapic();
    if (tsc_hz == 0) {
        tsc_hz = rtc_tsc_rate();
        source = "RTC";
    }
    if (tsc_hz == 0) {
        log_warn("clock", "no timer to measure the TSC against: taken as 1 GHz");
        tsc_hz = TSC_HZ_GUESS;
        source = "a guess";
    }
    if (lapic_wanted)
        lapic_hz = lapic_rate();
}

void clock_init(uint64_t boot_tsc)
{
    find_rates();
    set_rate(tsc_hz, boot_tsc, 0);
    refine.from_us = clock_now_us();
}

void clock_refine(void)
{
    if (refine.tries == 0)
        return;
    const uint64_t wrap_us = (uint64_t)refine.ref.mask * US_PER_S / refine.ref.hz;
    const uint64_t elapsed_us = clock_now_us() - refine.from_us;
    if (elapsed_us < REFINE_AFTER_US && elapsed_us < wrap_us / 2)
        return;

    const struct time_sample now = time_ref_sample(&refine.ref);
    if (elapsed_us > wrap_us / 10 * 9) { /* may have wrapped: start over from here */
        refine.from = now;
        refine.from_us = clock_now_us();
        refine.tries--;
        return;
    }
    const uint64_t hz = time_ref_rate(&refine.ref, refine.from, now);
    refine.tries = 0;
    if (hz != 0 && agree(hz, tsc_hz))
        set_rate(hz, now.tsc,
                 anchor.ns + tick_scale_apply(anchor.ns_per_tick, now.tsc - anchor.tsc));
}

/* ---- Telling -------------------------------------------------------------------------------------- */

const char *clock_source(void)
{
    return source;
}

uint64_t clock_tsc_hz(void)
{
    return tsc_hz;
}

uint64_t clock_lapic_hz(void)
{
    return irq_has_lapic() ? lapic_hz : 0;
}

uint64_t clock_tsc_at_us(uint64_t us)
{
    const uint64_t since_us = us - anchor.ns / 1000;
    return anchor.tsc + tick_scale_apply(anchor.ticks_per_us, since_us);
}

uint64_t clock_now_ns(void)
{
    const uint64_t ns = anchor.ns + tick_scale_apply(anchor.ns_per_tick, cpu_cycles() - anchor.tsc);
    /* A TSC that was set back (a migrated machine) or sampled out of order must not turn time back. */
    if (ns > last_ns)
        last_ns = ns;
    return last_ns;
}

uint64_t clock_cycles_ns(uint64_t cycles)
{
    return tick_scale_apply(anchor.ns_per_tick, cycles);
}

uint64_t clock_now_us(void)
{
    return clock_now_ns() / 1000;
}

uint64_t clock_wall_us(void)
{
    static uint64_t at_boot_us;
    static bool known;
    if (!known) { /* at the first call: an image that doesn't ask need not pay for it */
        struct rtc_regs regs;
        uint64_t seconds = 0;
        known = true;
        if (!rtc_read(&regs) || rtc_to_unix(&regs, &seconds))
            log_warn("clock", "no date from the RTC: time starts at 1970-01-01");
        else
            at_boot_us = seconds * US_PER_S - clock_now_us();
    }
    return at_boot_us + clock_now_us();
}

void clock_spin_us(uint32_t us)
{
    const uint64_t until = clock_now_ns() + (uint64_t)us * 1000;
    while (clock_now_ns() < until)
        __asm__ volatile("pause");
}
