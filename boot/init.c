/*
 * The bring-up order, top to bottom: the one place where all parts meet.
 *
 * Comes from entry.S with interrupts off, the first 4 GiB mapped, .bss cleared, and the loader's two words.
 */
#include <errno.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "arch/x86_64/clock.h"
#include "arch/x86_64/cpu.h"
#include "arch/x86_64/descriptors.h"
#include "arch/x86_64/firmware.h"
#include "arch/x86_64/idle.h"
#include "arch/x86_64/irq.h"
#include "arch/x86_64/paging.h"
#include "boot/network.h"
#include "drivers/serial/uart16550.h"
#include "lib/boot_info.h"
#include "lib/console.h"
#include "lib/console_file.h"
#include "lib/counters.h"
#include "lib/image_end.h"
#include "lib/log.h"
#include "lib/newlib/posix_thread.h"
#include "lib/newlib/signals.h"
#include "lib/newlib/system.h"
#include "lib/options.h"
#include "lib/page_alloc.h"
#include "lib/page_frag.h"
#include "lib/preempt.h"
#include "lib/random.h"
#include "lib/thread.h"
#include "lib/version.h"
#include "port/cpu.h"
#include "port/irq.h"

enum { EXIT_NO_BOOT = 71 }; /* the machine or the loader gives too little to start; EX_OSERR */

_Noreturn void boot_main(uint32_t magic, uint32_t info_addr);
int main(int argc, char **argv);

extern uint8_t image_start[], image_limit[];
extern void (*const init_array_start[])(void), (*const init_array_end[])(void);

static struct uart com1;
static struct options options;

static void uart_sink(const char *text, size_t len)
{
    uart_write(&com1, text, len);
}

static void uart_sink_drain(void)
{
    uart_drain(&com1);
}

static void console_init(void)
{
    uart_open(&com1, UART_COM1); /* without one the image runs silently */
    console_set(uart_sink, uart_sink_drain);
    log_set_sink(console_write);
}

static _Noreturn void give_up(const char *why)
{
    log_error("boot", "%s", why);
    image_end(EXIT_NO_BOOT);
}

static void read_loader(uint32_t magic, uint32_t info_addr, struct span image)
{
    switch (boot_info_read(&boot_info, magic, info_addr, image)) {
    case 0:
        break;
    case -E2BIG:
        log_error("boot", "the command line, or a module's, is longer than %d bytes",
                  BOOT_TEXT_MAX - 1);
        image_end(EXIT_BAD_OPTION);
    case -EFBIG:
        give_up("a module is larger than the machine's memory: give it more (-m)");
    case -ENOTSUP:
        give_up("started by an unknown loader: multiboot 1 and 2 and PVH are understood");
    case -ENODATA:
        give_up("the loader told nothing about memory");
    default:
        give_up("not enough memory to start");
    }
    if (boot_info.rsdp == 0)
        boot_info.rsdp = firmware_find_rsdp();
}

static void memory_init(struct span image)
{
    if (paging_init(&boot_info.ram, &boot_info.free, image))
        give_up("not enough memory for page tables");

    struct page_range ranges[SPAN_LIST_MAX];
    for (size_t i = 0; i < boot_info.free.count; i++)
        ranges[i] = (struct page_range){boot_info.free.v[i].start, boot_info.free.v[i].end};
    if (page_init(ranges, boot_info.free.count))
        give_up("not enough memory to keep track of it");
    paging_use_page_alloc();
}

static void greet(void)
{
    log_info("boot", "Ringlet %s, %s, %llu MiB, %s%s%s, TSC %llu MHz by %s", RINGLET_VERSION,
             boot_info.loader,
             (unsigned long long)((span_total(&boot_info.ram) + (1 << 20) - 1) >> 20),
             cpu_facts.brand[0] ? cpu_facts.brand : "unknown processor",
             cpu_facts.hypervisor[0] ? " under " : "", cpu_facts.hypervisor,
             (unsigned long long)(clock_tsc_hz() / 1000000), clock_source());
    if (paging_ram_ignored() != 0)
        log_warn("boot", "%llu MiB lie beyond what can be addressed and are not used",
                 (unsigned long long)(paging_ram_ignored() >> 20));
    for (size_t i = 0; i < boot_info.module_count; i++)
        log_info("boot", "module %u: %llu bytes, \"%.100s\"", (unsigned)i,
                 (unsigned long long)boot_info.modules[i].len, boot_info.modules[i].text);
    if (boot_info.ram.dropped != 0 || boot_info.free.dropped != 0 || boot_info.modules_dropped != 0)
        log_warn("boot", "left out: %u memory ranges, %u modules",
                 (unsigned)(boot_info.ram.dropped + boot_info.free.dropped),
                 (unsigned)boot_info.modules_dropped);
}

static uint64_t read_irq_count(void *arg)
{
    (void)arg;
    return irq_count();
}

static void register_counters(void)
{
    static struct counter list[] = {
        {.name = "interrupts_total",
         .labels = "",
         .help = "Interrupts taken since boot.",
         .read = read_irq_count},
        {.name = "console_dropped_bytes_total",
         .labels = "",
         .help = "Console output dropped because the port took nothing for too long.",
         .value = &com1.dropped},
    };
    for (size_t i = 0; i < ARRAY_COUNT(list); i++)
        counters_add(&list[i]);
    page_register_counters();
    frag_register_counters();
    log_register_counters();
}

/* What to do while every thread waits, unless the network has something better. */
static void halt_until(uint64_t deadline_us)
{
    cpu_idle(deadline_us, NULL, NULL);
}

static void run_constructors(void)
{
    for (void (*const *fn)(void) = init_array_start; fn < init_array_end; fn++)
        (*fn)();
}

_Noreturn void boot_main(uint32_t magic, uint32_t info_addr)
{
    const uint64_t boot_tsc = cpu_cycles();
    const struct span image = {(uintptr_t)image_start, (uintptr_t)image_limit};

    descriptors_init();
    console_init();
    cpu_init();
    read_loader(magic, info_addr, image);
    memory_init(image);
    firmware_init(boot_info.rsdp);
    const int no_lapic = irq_init();
    clock_init(boot_tsc);
    idle_init();
    thread_set_idle(halt_until);
    register_counters();
    console_file_init();

    options_defaults(&options);
    const int bad_options = options_parse(&options, boot_info.cmdline);
    log_set_level(options.log_level);
    greet();
    if (no_lapic)
        log_warn("boot", "no local APIC: no timer, no message-signalled interrupts");
    if (bad_options)
        image_end(EXIT_BAD_OPTION);

    random_init();
    if (image_network)
        image_network(&options);
    system_set_hostname(options.hostname);
    posix_thread_init();
    signals_init();
    preempt_allow();
    run_constructors();
    exit(main(options.argc, options.argv));
}
