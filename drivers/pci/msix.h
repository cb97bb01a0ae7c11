/*
 * MSI-X: interrupts that a function raises by writing to an address. PCI Local Bus 3.0 §6.8.2.
 *
 * Entries are filled in order, each with a handler, and keep it: turning MSI-X off and on again, with fewer or
 * more entries in use, takes no new vector of the processor. Boot only.
 */
#ifndef DRIVERS_PCI_MSIX_H
#define DRIVERS_PCI_MSIX_H

#include "drivers/pci/pci.h"
#include "port/irq.h"

struct msix_entry;

struct msix {
    const struct pci_function *fn; /* borrowed */
    volatile struct msix_entry *table;
    uint16_t count;  /* entries of the table, 1 … 2048 */
    uint16_t filled; /* entries with a handler */
    uint8_t cap;     /* offset of the capability; 0 = not open */
};

/*
 * Find and map the table; every entry masked, MSI-X off. fn's BARs must have been sized.
 * Returns 0; -ENOENT when the function has no MSI-X; -EINVAL when its table isn't inside a memory BAR that
 * can be reached.
 */
int msix_open(struct msix *m, const struct pci_function *fn);

/*
 * Give the next entry to a handler. Returns its number, 0 …; -ENOENT when not open; -ENOSPC when the table or the
 * processor's vectors are used up.
 */
int msix_add(struct msix *m, irq_handler handler, void *arg);

/* Unmask the first `used` entries (≤ filled) and turn MSI-X on; INTx is off from then on (§6.8.3.3). */
void msix_enable(struct msix *m, uint16_t used);

/* Mask every entry, turn MSI-X off. INTx may be raised again, if the command register lets it. Nothing if not open. */
void msix_disable(struct msix *m);

#endif
