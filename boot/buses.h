/* Where devices may be on this machine: PCI by ports or by memory, virtio-mmio by command line and ACPI. */
#ifndef BOOT_BUSES_H
#define BOOT_BUSES_H

struct options;
struct vnet_buses;

/* Find out. The answer is this file's, for good. opt->mmio gets what a hypervisor says elsewhere. */
const struct vnet_buses *boot_buses(struct options *opt);

#endif
