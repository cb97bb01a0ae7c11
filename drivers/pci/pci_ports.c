/* Configuration space through two ports: choose a register, then read or write it. PCI Local Bus 3.0 §3.2.2.3.2. */
#include "drivers/pci/pci.h"
#include "port/pio.h"

enum { CONFIG_ADDRESS = 0xcf8, CONFIG_DATA = 0xcfc };

/* Returns the port at which the register's bytes lie. */
static uint16_t select_register(const struct pci_function *fn, uint16_t offset)
{
    const uint32_t address = 1u << 31 | (uint32_t)fn->bus << 16 | (uint32_t)fn->slot << 11 |
                             (uint32_t)fn->fn << 8 | (offset & 0xfcu);

    pio_write32(CONFIG_ADDRESS, address);
    return (uint16_t)(CONFIG_DATA + (offset & 3));
}

static uint32_t ports_read(const struct pci_function *fn, uint16_t offset, unsigned bytes)
{
    const uint16_t port = select_register(fn, offset);

    return bytes == 1 ? pio_read8(port) : bytes == 2 ? pio_read16(port) : pio_read32(port);
}

static void ports_write(const struct pci_function *fn, uint16_t offset, unsigned bytes,
                        uint32_t value)
{
    const uint16_t port = select_register(fn, offset);

    if (bytes == 1)
        pio_write8(port, (uint8_t)value);
    else if (bytes == 2)
        pio_write16(port, (uint16_t)value);
    else
        pio_write32(port, value);
}

const struct pci_access pci_ports = {.read = ports_read, .write = ports_write};

bool pci_ports_present(void)
{
    const uint32_t probe = 1u << 31;

    /* What was written reads back (§3.2.2.3.2); a port that nobody has reads as ones. */
    pio_write32(CONFIG_ADDRESS, probe);
    return pio_read32(CONFIG_ADDRESS) == probe;
}
