#include "tests/boot/apps/harm/registers.h"

#include <stddef.h>

enum {
    CONFIG_ADDRESS = 0xcf8,
    CONFIG_DATA = 0xcfc,
    BAR0 = 0x10,
    BAR4 = 0x20,
    /* virtio 1.2 §4.1.4.3, at the start of BAR 4 in QEMU, and its doorbells */
    COMMON_STATUS = 0x14,
    COMMON_SELECT = 0x16,
    COMMON_AVAIL = 0x28,
    DOORBELLS = 0x3000,
    DOORBELL_BYTES = 4,
    /* §4.1.4.8 */
    LEGACY_PFN = 8,
    LEGACY_SIZE = 12,
    LEGACY_SELECT = 14,
    LEGACY_NOTIFY = 16,
    LEGACY_STATUS = 18,
};

static uint32_t config_read(unsigned slot, unsigned offset)
{
    out32(CONFIG_ADDRESS, 0x80000000u | slot << 11 | offset);
    return in32(CONFIG_DATA);
}

struct registers registers_of(unsigned slot)
{
    const uint64_t low = config_read(slot, BAR4) & ~15u, high = config_read(slot, BAR4 + 4);

    return (struct registers){
        .modern = low ? (volatile uint8_t *)(uintptr_t)(low | high << 32) : NULL,
        .port = (uint16_t)(config_read(slot, BAR0) & ~3u),
    };
}

uint8_t status_read(const struct registers *r)
{
    return r->modern ? r->modern[COMMON_STATUS] : in8((uint16_t)(r->port + LEGACY_STATUS));
}

void status_write(const struct registers *r, uint8_t status)
{
    if (r->modern)
        r->modern[COMMON_STATUS] = status;
    else
        out8((uint16_t)(r->port + LEGACY_STATUS), status);
}

volatile uint16_t *avail_index(const struct registers *r, uint16_t idx)
{
    uint64_t ring;

    if (r->modern) {
        *(volatile uint16_t *)(r->modern + COMMON_SELECT) = idx;
        ring = *(volatile uint32_t *)(r->modern + COMMON_AVAIL);
        ring |= (uint64_t) * (volatile uint32_t *)(r->modern + COMMON_AVAIL + 4) << 32;
    } else {
        out16((uint16_t)(r->port + LEGACY_SELECT), idx);
        ring = (uint64_t)in32((uint16_t)(r->port + LEGACY_PFN)) * 4096;
        ring += 16u * in16((uint16_t)(r->port + LEGACY_SIZE));
    }
    return (volatile uint16_t *)(uintptr_t)(ring + 2);
}

void notify(const struct registers *r, uint16_t idx)
{
    if (r->modern)
        *(volatile uint16_t *)(r->modern + DOORBELLS + DOORBELL_BYTES * (size_t)idx) = idx;
    else
        out16((uint16_t)(r->port + LEGACY_NOTIFY), idx);
}
