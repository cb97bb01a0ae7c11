/*
 * QEMU's configuration device: what QEMU would tell a kernel that it loads. QEMU's docs/specs/fw_cfg.txt.
 *
 * Of use where the loader's own information lacks something: microvm without ACPI adds its virtio-mmio devices to this
 * command line, and not to multiboot's.
 */
#ifndef DRIVERS_QEMU_FW_CFG_H
#define DRIVERS_QEMU_FW_CFG_H

#include <stddef.h>

/*
 * The kernel command line, terminated, in text[0 … max - 1] (max > 0). Returns its length; 0 when there is none, no such
 * device, or it doesn't fit. Boot only; some µs for each byte.
 */
size_t fw_cfg_cmdline(char *text, size_t max);

#endif
