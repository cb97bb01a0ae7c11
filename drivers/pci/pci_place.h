/*
 * What firmware usually does and small hypervisors leave to the guest: number the buses, give BARs an address.
 * PCI Local Bus 3.0 §6.2.5, PCI-to-PCI Bridge 1.2 §3.2.
 */
#ifndef DRIVERS_PCI_PCI_PLACE_H
#define DRIVERS_PCI_PCI_PLACE_H

#include "drivers/pci/pci.h"

/*
 * Place every memory BAR behind this access in [base, base + len), which lies below 4 GiB, and open bridges to them.
 * If only one BAR has an address already, somebody has done it, and nothing is touched. Port BARs get none.
 *
 * Returns how many BARs were placed. A BAR that finds no room stays without an address. Boot only, before pci_scan().
 */
unsigned pci_place_bars(const struct pci_access *access, uint64_t base, uint64_t len);

#endif
