#include "tests/host/support/irq.h"

#include <errno.h>
#include <stddef.h>

#include "port/irq.h"

#define MESSAGE_ADDRESS 0xfee00000ull
enum { FIRST_VECTOR = 64, LINES = 16 };

static struct handler {
    irq_handler fn;
    void *arg;
    uint8_t line;
} vectors[HOST_IRQ_VECTORS], lines[HOST_IRQ_LINE_HANDLERS];
static unsigned vector_count, line_count, limit = HOST_IRQ_VECTORS;
static bool no_lines;
static uint64_t taken;

void host_irq_reset(void)
{
    vector_count = line_count = 0;
    limit = HOST_IRQ_VECTORS;
    no_lines = false;
    taken = 0;
}

void host_irq_limit(unsigned count)
{
    limit = count < HOST_IRQ_VECTORS ? count : HOST_IRQ_VECTORS;
}

void host_irq_refuse_lines(bool refuse)
{
    no_lines = refuse;
}

int irq_msi_alloc(irq_handler handler, void *arg, uint64_t *address, uint32_t *data)
{
    if (vector_count >= limit)
        return -ENOSPC;
    *address = MESSAGE_ADDRESS;
    *data = FIRST_VECTOR + vector_count;
    vectors[vector_count++] = (struct handler){handler, arg, 0};
    return 0;
}

int irq_line_attach(uint8_t line, irq_handler handler, void *arg)
{
    if (no_lines || line >= LINES)
        return -EINVAL;
    if (line_count == HOST_IRQ_LINE_HANDLERS)
        return -ENOSPC;
    lines[line_count++] = (struct handler){handler, arg, line};
    return 0;
}

/* On the host GSIs and legacy lines are the same lines. */
int irq_gsi_attach(uint32_t gsi, unsigned how, irq_handler handler, void *arg)
{
    (void)how;
    return irq_line_attach(gsi < LINES ? (uint8_t)gsi : LINES, handler, arg);
}

bool host_irq_message(uint64_t address, uint32_t data)
{
    if (address != MESSAGE_ADDRESS || data < FIRST_VECTOR || data - FIRST_VECTOR >= vector_count)
        return false;
    taken++;
    vectors[data - FIRST_VECTOR].fn(vectors[data - FIRST_VECTOR].arg);
    return true;
}

unsigned host_irq_line(uint8_t line)
{
    unsigned called = 0;

    taken++;
    for (unsigned i = 0; i < line_count; i++) {
        if (lines[i].line != line)
            continue;
        lines[i].fn(lines[i].arg);
        called++;
    }
    return called;
}

uint64_t irq_count(void)
{
    return taken;
}
