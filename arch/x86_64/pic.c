#include "arch/x86_64/pic.h"

#include "port/pio.h"

/* Intel 8259A data sheet; the edge/level registers are the PIIX's, 82371AB §4.2.4. */
enum {
    MASTER_COMMAND = 0x20,
    MASTER_DATA = 0x21,
    SLAVE_COMMAND = 0xa0,
    SLAVE_DATA = 0xa1,
    EDGE_LEVEL = 0x4d0, /* two bytes: lines 0 … 7, 8 … 15 */

    ICW1_INIT_ICW4 = 0x11,
    ICW4_8086 = 0x01,
    OCW2_SPECIFIC_EOI = 0x60, /* | line */
    OCW3_READ_ISR = 0x0b,
    CASCADE_LINE = 2,
};

static uint16_t mask = 0xffff & ~(1 << CASCADE_LINE);

static void write_mask(void)
{
    pio_write8(MASTER_DATA, (uint8_t)mask);
    pio_write8(SLAVE_DATA, (uint8_t)(mask >> 8));
}

void pic_init(uint8_t vector_base)
{
    pio_write8(MASTER_COMMAND, ICW1_INIT_ICW4);
    pio_write8(SLAVE_COMMAND, ICW1_INIT_ICW4);
    pio_write8(MASTER_DATA, vector_base);
    pio_write8(SLAVE_DATA, (uint8_t)(vector_base + 8));
    pio_write8(MASTER_DATA, 1 << CASCADE_LINE);
    pio_write8(SLAVE_DATA, CASCADE_LINE);
    pio_write8(MASTER_DATA, ICW4_8086);
    pio_write8(SLAVE_DATA, ICW4_8086);
    write_mask();
}

void pic_unmask_level(uint8_t line)
{
    const uint16_t port = (uint16_t)(EDGE_LEVEL + line / 8);
    pio_write8(port, (uint8_t)(pio_read8(port) | 1 << line % 8));
    mask = (uint16_t)(mask & ~(1 << line));
    write_mask();
}

bool pic_in_service(uint8_t line)
{
    const uint16_t command = line < 8 ? MASTER_COMMAND : SLAVE_COMMAND;
    pio_write8(command, OCW3_READ_ISR);
    return pio_read8(command) >> line % 8 & 1;
}

void pic_end(uint8_t line, bool in_service)
{
    if (line >= 8) {
        if (in_service)
            pio_write8(SLAVE_COMMAND, (uint8_t)(OCW2_SPECIFIC_EOI | line % 8));
        /* A spurious line 15 was still a true cascade interrupt for the master. */
        pio_write8(MASTER_COMMAND, OCW2_SPECIFIC_EOI | CASCADE_LINE);
    } else if (in_service) {
        pio_write8(MASTER_COMMAND, (uint8_t)(OCW2_SPECIFIC_EOI | line));
    }
}
