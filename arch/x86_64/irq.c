#include "arch/x86_64/irq.h"

#include <errno.h>
#include <stddef.h>

#include "arch/x86_64/cpu_regs.h"
#include "arch/x86_64/descriptors.h"
#include "arch/x86_64/ioapic.h"
#include "arch/x86_64/lapic.h"
#include "arch/x86_64/pic.h"
#include "lib/check.h"
#include "lib/preempt.h"
#include "lib/types.h"
#include "port/irq.h"

enum {
    LINE_HANDLERS_MAX = 32, /* on all lines together */
    LINES_MAX = 32,         /* with a handler */
};

/* SDM vol. 3A §10.11.1: destination in bits 19:12; fixed delivery, edge. */
#define MSI_ADDRESS 0xfee00000ull
enum { MSI_DESTINATION_SHIFT = 12, MSI_DESTINATION_MAX = 255 };

struct handler {
    irq_handler fn;
    void *arg;
};

static struct handler msi_handlers[VECTOR_MSI_COUNT];
static unsigned msi_count;

static struct line_handler {
    struct handler handler;
    uint32_t line; /* of the PICs, or GSI of an I/O APIC */
    bool apic;
} line_handlers[LINE_HANDLERS_MAX];
static unsigned line_handler_count;

static uint32_t gsis[LINES_MAX]; /* those that have a vector */
static unsigned gsi_count;

static void (*timer_handler)(void);
static uint64_t taken; /* interrupts, all classes */
static bool have_lapic;

bool irq_dispatch(uint64_t vector);

static void call_handlers(bool apic, uint32_t line)
{
    for (unsigned i = 0; i < line_handler_count; i++) {
        if (line_handlers[i].apic == apic && line_handlers[i].line == line)
            line_handlers[i].handler.fn(line_handlers[i].handler.arg);
    }
}

static void take_line(uint8_t line)
{
    const bool in_service = pic_in_service(line);
    if (in_service)
        call_handlers(false, line);
    pic_end(line, in_service);
}

static void take_gsi(void *arg)
{
    call_handlers(true, *(const uint32_t *)arg);
}

static void take_message(uint64_t vector)
{
    if (vector - VECTOR_MSI < msi_count) {
        const struct handler *h = &msi_handlers[vector - VECTOR_MSI];

        h->fn(h->arg);
        preempt_want(PREEMPT_TURN);
    }
    lapic_end_of_interrupt();
}

static void take_timer(void)
{
    if (timer_handler)
        timer_handler();
    lapic_end_of_interrupt();
}

static void take(uint64_t vector)
{
    if (vector < VECTOR_PIC + PIC_LINES) {
        take_line((uint8_t)(vector - VECTOR_PIC));
        preempt_want(PREEMPT_TURN);
    } else if (vector == VECTOR_TIMER) {
        take_timer();
    } else if (vector !=
               VECTOR_SPURIOUS) { /* which has nothing in service to end: SDM vol. 3A §10.9 */
        take_message(vector);
    }
}

/*
 * From isr.S, with interrupts off, on the interrupt stack. True: a program was interrupted and there is something to do
 * before it goes on; the depth is then raised for it.
 */
bool irq_dispatch(uint64_t vector)
{
    taken++;
    take(vector);
    if (preempt_depth > 0 || !preempt_wanted)
        return false;
    preempt_depth = 1;
    return true;
}

int irq_init(void)
{
    pic_init(VECTOR_PIC);
    const int err = lapic_init();
    have_lapic = err == 0;
    if (have_lapic)
        ioapic_init();
    irq_enable();
    return err;
}

bool irq_has_lapic(void)
{
    return have_lapic;
}

void irq_set_timer_handler(void (*handler)(void))
{
    timer_handler = handler;
}

int irq_msi_alloc(irq_handler handler, void *arg, uint64_t *address, uint32_t *data)
{
    ASSERT(handler);
    const uint32_t id = have_lapic ? lapic_id() : UINT32_MAX;
    if (id > MSI_DESTINATION_MAX || msi_count == VECTOR_MSI_COUNT)
        return -ENOSPC;
    msi_handlers[msi_count] = (struct handler){handler, arg};
    *address = MSI_ADDRESS | (uint64_t)id << MSI_DESTINATION_SHIFT;
    *data = VECTOR_MSI + msi_count;
    /* The entry must be whole before an interrupt can look at it; interrupts come on this core only. */
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    msi_count++;
    return 0;
}

static int add_line_handler(bool apic, uint32_t line, irq_handler handler, void *arg)
{
    if (line_handler_count == LINE_HANDLERS_MAX)
        return -ENOSPC;
    line_handlers[line_handler_count] = (struct line_handler){{handler, arg}, line, apic};
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    line_handler_count++;
    return 0;
}

int irq_line_attach(uint8_t line, irq_handler handler, void *arg)
{
    ASSERT(handler);
    /* Timer, keyboard, cascade and the clock's line 8 are no PCI lines, and must stay edge-triggered. */
    if (line >= PIC_LINES || line < 3 || line == 8 || line == 13)
        return -EINVAL;
    const int err = add_line_handler(false, line, handler, arg);
    if (!err)
        pic_unmask_level(line);
    return err;
}

/* Give that line a vector, unless it has one. */
static int route(uint32_t gsi, unsigned how)
{
    uint64_t address;
    uint32_t vector;

    for (unsigned i = 0; i < gsi_count; i++) {
        if (gsis[i] == gsi)
            return 0;
    }
    if (gsi_count == LINES_MAX)
        return -ENOSPC;
    gsis[gsi_count] = gsi;
    const int err = irq_msi_alloc(take_gsi, &gsis[gsi_count], &address, &vector);
    if (err)
        return err;
    if (!ioapic_route(gsi, (uint8_t)vector, (uint8_t)lapic_id(), how & IRQ_EDGE,
                      how & IRQ_ACTIVE_LOW)) {
        msi_count--; /* nothing can raise it */
        return -EINVAL;
    }
    gsi_count++;
    return 0;
}

int irq_gsi_attach(uint32_t gsi, unsigned how, irq_handler handler, void *arg)
{
    ASSERT(handler);
    /* The handler first: a line that is up already interrupts at once, and again until somebody listens. */
    int err = add_line_handler(true, gsi, handler, arg);
    if (err)
        return err;
    err = route(gsi, how);
    if (!err)
        return 0;
    line_handler_count--;
    /* Without an I/O APIC the first lines are the PICs'. */
    return gsi < PIC_LINES && err != -ENOSPC ? irq_line_attach((uint8_t)gsi, handler, arg) : err;
}

uint64_t irq_count(void)
{
    return taken;
}
