/*
 * MSI-X: interrupts that a function raises by writing to an address. PCI Local Bus 3.0 §6.8.2.
 *
 * Vectors are given out in order, each with a handler; the table is masked until msix_enable().
 * Boot only.
 */
#ifndef DRIVERS_PCI_MSIX_H
#define DRIVERS_PCI_MSIX_H

#include "drivers/pci/pci.h"
#include "port/irq.h"

struct msix_entry;

struct msix {
    const struct pci_function *fn; /* borrowed */
    volatile struct msix_entry *table;
    uint16_t count; /* entries of the table, 1 … 2048 */
    uint16_t used;  /* entries with a handler */
    uint8_t cap;    /* offset of the capability; 0 = not open */
};

/*
 * Find and map the table; every entry masked, MSI-X still off.
 * Returns 0; -ENOENT when the function has no MSI-X; -EINVAL when its table isn't inside a memory BAR.
 */
int msix_open(struct msix *m, const struct pci_function *fn);

/* Give the next entry to a handler. Returns its number; -ENOSPC when the table or the CPU's vectors are used up. */
int msix_add(struct msix *m, irq_handler handler, void *arg);

/* Unmask the entries in use and turn MSI-X on; INTx is off from then on. */
void msix_enable(struct msix *m);

/* Turn MSI-X off. Closing what never opened does nothing. */
void msix_close(struct msix *m);

#endif
