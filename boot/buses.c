#include "boot/buses.h"

#include "arch/x86_64/cpu.h"
#include "arch/x86_64/firmware.h"
#include "arch/x86_64/paging.h"
#include "drivers/pci/pci.h"
#include "drivers/pci/pci_ecam.h"
#include "drivers/pci/pci_place.h"
#include "drivers/qemu/fw_cfg.h"
#include "drivers/virtio/mmio.h"
#include "drivers/virtio_net/vnet.h"
#include "lib/acpi_devices.h"
#include "lib/log.h"
#include "lib/options.h"
#include "port/irq.h"

enum { ACPI_MMIO_MAX = 32 };

static struct virtio_mmio_place places[OPT_MMIO_MAX + ACPI_MMIO_MAX];

/* QEMU's microvm has no ACPI if told so, and tells a multiboot kernel nothing: it has told its own device, though. */
static void ask_qemu(struct options *opt)
{
    char text[4096];

    if (!firmware.found && opt->mmio_count == 0 && cpu_facts.hypervisor[0] &&
        fw_cfg_cmdline(text, sizeof(text)))
        options_pick_mmio(opt, text);
}

/* Lines named like this are edge-triggered, as on an ISA bus: that is what Linux takes them for. */
static size_t mmio_by_options(const struct options *opt)
{
    for (size_t i = 0; i < opt->mmio_count; i++)
        places[i] = (struct virtio_mmio_place){.base = opt->mmio[i].base,
                                               .len = opt->mmio[i].size,
                                               .gsi = opt->mmio[i].irq,
                                               .has_irq = true,
                                               .how = IRQ_EDGE};
    return opt->mmio_count;
}

static size_t mmio_by_acpi(size_t count)
{
    static struct acpi_device list[ACPI_MMIO_MAX];
    const size_t n = acpi_find_devices(paging_view, &firmware, "LNRO0005", list, ACPI_MMIO_MAX);

    for (size_t i = 0; i < n; i++) {
        const struct acpi_device *dev = &list[i];
        if (dev->mem_count == 0)
            continue;
        places[count++] = (struct virtio_mmio_place){.base = dev->mem[0].base,
                                                     .len = dev->mem[0].len,
                                                     .gsi = dev->gsi,
                                                     .has_irq = dev->has_irq,
                                                     .how = (dev->irq_edge ? IRQ_EDGE : 0u) |
                                                            (dev->irq_low ? IRQ_ACTIVE_LOW : 0u)};
    }
    return count;
}

/* The window below 4 GiB that ACPI gives to this PCI root. */
static void place_bars(const struct pci_access *access, const struct acpi_device *root)
{
    for (size_t i = 0; i < root->mem_count; i++) {
        const struct acpi_range *r = &root->mem[i];
        if (r->base < 1 << 20 || r->base + r->len > 1ull << 32)
            continue;
        const unsigned count = pci_place_bars(access, r->base, r->len);
        if (count)
            log_debug("pci", "firmware gave no BAR an address: %u placed from %#llx on", count,
                      (unsigned long long)r->base);
        return;
    }
}

static const struct pci_access *pci_by_memory(void)
{
    struct acpi_device root = {0};
    struct acpi_ecam ecam;

    if (acpi_find_devices(paging_view, &firmware, "PNP0A08", &root, 1) == 0)
        root.mem_count = 0;
    if (!acpi_find_ecam(paging_view, &firmware, &ecam))
        ecam = (struct acpi_ecam){root.ecam, root.bus_first, root.bus_last};
    if (ecam.base == 0)
        return NULL;
    const struct pci_access *access = pci_ecam_open(ecam.base, ecam.bus_first, ecam.bus_last);
    if (access)
        place_bars(access, &root);
    return access;
}

const struct vnet_buses *boot_buses(struct options *opt)
{
    static struct vnet_buses buses = {.mmio = places};

    buses.pci = pci_ports_present() ? &pci_ports : pci_by_memory();
    if (!buses.pci)
        ask_qemu(opt);
    buses.mmio_count = mmio_by_acpi(mmio_by_options(opt));
    return &buses;
}
