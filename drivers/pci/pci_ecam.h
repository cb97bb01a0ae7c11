/* Configuration space in memory: 4 KiB for each function ("ECAM"). PCI Express Base 3.0 §7.2.2. */
#ifndef DRIVERS_PCI_PCI_ECAM_H
#define DRIVERS_PCI_PCI_ECAM_H

#include "drivers/pci/pci.h"

/*
 * Reach configuration space at `base`, that of bus 0, for buses bus_first … bus_last. Other buses read as ones.
 * There is one such place: a later call replaces it. NULL when it can't be mapped.
 */
const struct pci_access *pci_ecam_open(uint64_t base, uint8_t bus_first, uint8_t bus_last);

#endif
