#include "arch/x86_64/time_refs.h"

#include "arch/x86_64/firmware.h"
#include "port/cpu.h"
#include "port/pio.h"

enum {
    PM_TIMER_HZ = 3579545, /* ACPI 6.5 §4.8.3.3 */
    PIT_HZ = 1193182,      /* Intel 8254; the same crystal divided by 12 */
    PIT_CHANNEL0 = 0x40,
    PIT_CONTROL = 0x43,
    PIT_CH0_MODE0 = 0x30, /* both bytes, interrupt once at the end: the PIT is then quiet */
    PIT_CH0_LATCH = 0x00,
    SAMPLE_TRIES = 5,
};
#define TSC_HZ_MIN 10000000ull
#define TSC_HZ_MAX 100000000000ull

static uint32_t pm_timer_read(void)
{
    return pio_read32(firmware.pm_timer);
}

static uint32_t pit_read(void)
{
    pio_write8(PIT_CONTROL, PIT_CH0_LATCH);
    const uint32_t low = pio_read8(PIT_CHANNEL0);
    const uint32_t high = pio_read8(PIT_CHANNEL0);
    return 0xffff - (high << 8 | low); /* it counts down */
}

/* Channel 0 rather than channel 2: its count can be read without port 0x61, which microvm hasn't got. */
static void pit_start(void)
{
    pio_write8(PIT_CONTROL, PIT_CH0_MODE0);
    pio_write8(PIT_CHANNEL0, 0xff);
    pio_write8(PIT_CHANNEL0, 0xff);
}

unsigned time_refs_find(struct time_ref refs[TIME_REFS_MAX])
{
    unsigned count = 0;
    if (firmware.pm_timer != 0)
        refs[count++] = (struct time_ref){
            .name = "ACPI timer",
            .hz = PM_TIMER_HZ,
            .mask = firmware.pm_timer_32bit ? 0xffffffff : 0xffffff,
            .read = pm_timer_read,
        };
    pit_start();
    refs[count++] = (struct time_ref){"PIT", PIT_HZ, 0xffff, pit_read};
    return count;
}

struct time_sample time_ref_sample(const struct time_ref *ref)
{
    struct time_sample best = {0};
    uint64_t best_width = UINT64_MAX;
    /* An interrupted host thread makes a try wide; the narrowest one is nearest to the truth. */
    for (int i = 0; i < SAMPLE_TRIES; i++) {
        const uint64_t before = cpu_cycles();
        const uint32_t count = ref->read();
        const uint64_t width = cpu_cycles() - before;
        if (width < best_width) {
            best_width = width;
            best = (struct time_sample){count & ref->mask, before + width / 2};
        }
    }
    return best;
}

static uint64_t plausible(uint64_t hz)
{
    return hz >= TSC_HZ_MIN && hz <= TSC_HZ_MAX ? hz : 0;
}

uint64_t time_ref_rate(const struct time_ref *ref, struct time_sample from, struct time_sample to)
{
    const uint32_t counted = (to.count - from.count) & ref->mask;
    if (counted == 0)
        return 0;
    return plausible((uint64_t)((unsigned __int128)(to.tsc - from.tsc) * ref->hz / counted));
}

/* ---- RTC ------------------------------------------------------------------------------------------ */

/* MC146818 data sheet. */
enum {
    CMOS_INDEX = 0x70,
    CMOS_DATA = 0x71,
    RTC_SECOND = 0,
    RTC_MINUTE = 2,
    RTC_HOUR = 4,
    RTC_DAY = 7,
    RTC_MONTH = 8,
    RTC_YEAR = 9,
    RTC_A = 10,
    RTC_B = 11,
    RTC_A_UPDATING = 0x80,
    RTC_B_24H = 0x02,
    RTC_B_BINARY = 0x04,
    RTC_WAIT_READS = 20000, /* an update lasts 2 ms at most; two port accesses take about 2 µs */
    RTC_READ_TRIES = 4,
    RTC_TICK_READS = 4000000, /* some seconds */
};

static uint8_t cmos_read(uint8_t reg)
{
    pio_write8(CMOS_INDEX, reg);
    return pio_read8(CMOS_DATA);
}

static bool rtc_wait_settled(void)
{
    for (int i = 0; i < RTC_WAIT_READS; i++) {
        if (!(cmos_read(RTC_A) & RTC_A_UPDATING))
            return true;
    }
    return false;
}

bool rtc_read(struct rtc_regs *regs)
{
    if (firmware.no_cmos_rtc)
        return false;
    for (int i = 0; i < RTC_READ_TRIES && rtc_wait_settled(); i++) {
        const uint8_t mode = cmos_read(RTC_B);
        *regs = (struct rtc_regs){
            .second = cmos_read(RTC_SECOND),
            .minute = cmos_read(RTC_MINUTE),
            .hour = cmos_read(RTC_HOUR),
            .day = cmos_read(RTC_DAY),
            .month = cmos_read(RTC_MONTH),
            .year = cmos_read(RTC_YEAR),
            .century = firmware.century_reg ? cmos_read(firmware.century_reg) : 0,
            .binary = mode & RTC_B_BINARY,
            .hour_24 = mode & RTC_B_24H,
        };
        /* If the second is still the same, no update has come between the first and the last read. */
        if (rtc_wait_settled() && cmos_read(RTC_SECOND) == regs->second)
            return true;
    }
    return false;
}

static bool rtc_wait_tick(uint64_t *tsc)
{
    const uint8_t second = cmos_read(RTC_SECOND);
    for (int i = 0; i < RTC_TICK_READS; i++) {
        *tsc = cpu_cycles();
        if (cmos_read(RTC_SECOND) != second)
            return true;
    }
    return false;
}

uint64_t rtc_tsc_rate(void)
{
    uint64_t from, to;
    if (firmware.no_cmos_rtc || !rtc_wait_tick(&from) || !rtc_wait_tick(&to))
        return 0;
    return plausible(to - from);
}
