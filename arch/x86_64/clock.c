#include "arch/x86_64/clock.h"

#include "arch/x86_64/cpu.h"
#include "arch/x86_64/irq.h"
#include "arch/x86_64/lapic.h"
#include "arch/x86_64/time_refs.h"
#include "lib/log.h"
#include "lib/tick_scale.h"
#include "port/clock.h"
#include "port/cpu.h"

enum {
    NS_PER_S = 1000000000,
    US_PER_S = 1000000,
    WINDOW_READS_MAX = 100000, /* a reference that hasn't moved by then doesn't count */
    DISAGREE_PERCENT = 2,
    REFINE_AFTER_US = 1000000, /* 1 µs of error in a reading is then 1 ppm */
};
#define TSC_HZ_GUESS 1000000000ull

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
    bool wanted;
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

/* One window on all references at once, and on the LAPIC timer. Returns the TSC's rate, or 0. */
static uint64_t measure(void)
{
    struct time_ref refs[TIME_REFS_MAX];
    struct time_sample from[TIME_REFS_MAX], to[TIME_REFS_MAX];
    uint64_t rate[TIME_REFS_MAX];
    const unsigned count = time_refs_find(refs);

    if (irq_has_lapic())
        lapic_timer_start(UINT32_MAX);
    const uint32_t lapic_from = irq_has_lapic() ? lapic_timer_left() : 0;
    const uint64_t lapic_from_tsc = cpu_cycles();
    for (unsigned i = 0; i < count; i++)
        from[i] = time_ref_sample(&refs[i]);

    for (unsigned i = 0; i < count && !wait_window(&refs[i], from[i].count); i++)
        ;

    for (unsigned i = 0; i < count; i++) {
        to[i] = time_ref_sample(&refs[i]);
        rate[i] = time_ref_rate(&refs[i], from[i], to[i]);
    }
    const uint64_t lapic_tsc = cpu_cycles() - lapic_from_tsc;
    const uint32_t lapic_counted = irq_has_lapic() ? lapic_from - lapic_timer_left() : 0;
    if (irq_has_lapic())
        lapic_timer_start(0);

    const unsigned best = rate[0] != 0 ? 0 : count - 1;
    if (rate[best] == 0)
        return 0;
    if (rate[0] != 0 && rate[count - 1] != 0 && !agree(rate[0], rate[count - 1]))
        log_warn("clock", "%s says %llu MHz, %s says %llu MHz", refs[0].name,
                 (unsigned long long)(rate[0] / 1000000), refs[count - 1].name,
                 (unsigned long long)(rate[count - 1] / 1000000));
    source = refs[best].name;
    refine.ref = refs[best];
    refine.from = to[best];
    refine.wanted =
        best == 0 && count > 1; /* the PIT wraps too soon to be measured against for long */
    if (lapic_hz == 0)
        lapic_hz = (uint64_t)((unsigned __int128)lapic_counted * LAPIC_TIMER_DIVISOR * rate[best] /
                              lapic_tsc);
    return rate[best];
}

static uint64_t find_rate(void)
{
    const bool lapic_known = lapic_hz != 0 || cpu_facts.tsc_deadline || !irq_has_lapic();
    if (cpu_facts.tsc_hz != 0 && lapic_known) {
        source = "CPUID";
        return cpu_facts.tsc_hz;
    }
    uint64_t hz = measure();
    if (hz == 0) {
        source = "RTC";
        hz = rtc_tsc_rate();
    }
    if (hz == 0) {
        source = "a guess";
        hz = TSC_HZ_GUESS;
        log_warn("clock", "no timer to measure the TSC against: taken as 1 GHz");
    }
    return cpu_facts.tsc_hz != 0 ? cpu_facts.tsc_hz : hz;
}

void clock_init(uint64_t boot_tsc)
{
    lapic_hz = cpu_facts.lapic_hz;
    set_rate(find_rate(), boot_tsc, 0);
    refine.from_us = clock_now_us();
}

void clock_refine(void)
{
    if (!refine.wanted)
        return;
    const uint64_t elapsed_us = clock_now_us() - refine.from_us;
    if (elapsed_us < REFINE_AFTER_US)
        return;

    const uint64_t wrap_us = (uint64_t)refine.ref.mask * US_PER_S / refine.ref.hz;
    const struct time_sample now = time_ref_sample(&refine.ref);
    if (elapsed_us > wrap_us * 9 / 10) { /* may have wrapped: start over from here */
        refine.from = now;
        refine.from_us = clock_now_us();
        return;
    }
    const uint64_t hz = time_ref_rate(&refine.ref, refine.from, now);
    refine.wanted = false;
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
