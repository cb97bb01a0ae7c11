/*
 * The fake machine's bus: who answers at which address or port. What port/mmio.h and port/pio.h reach on the host.
 *
 * Where nobody answers, reads give all ones and writes vanish, as on a PC; both are counted, because a
 * driver that is right does neither.
 */
#ifndef TESTS_HOST_SUPPORT_BUS_H
#define TESTS_HOST_SUPPORT_BUS_H

#include <stdbool.h>
#include <stdint.h>

/* `offset` is within the range; `bytes` is 1, 2 or 4; the access lies wholly inside. */
struct host_bus_ops {
    uint32_t (*read)(void *arg, uint64_t offset, unsigned bytes);
    void (*write)(void *arg, uint64_t offset, unsigned bytes, uint32_t v);
};

/* Answer at [base, base + len) of memory, or of port space. Ranges may be as many as HOST_BUS_RANGES. */
enum { HOST_BUS_RANGES = 64 };
void host_bus_attach(bool ports, uint64_t base, uint64_t len, const struct host_bus_ops *ops,
                     void *arg);

/* Take away every range that was attached with this arg. */
void host_bus_detach(void *arg);

/* Nobody answers anywhere; counts at zero; mmio_map() works. */
void host_bus_reset(void);

/* From now on mmio_map() fails at and above this address. */
void host_bus_refuse_map(uint64_t from);

/* Accesses that nobody answered, since the last reset; and accesses at an odd place for their width. */
unsigned host_bus_strays(void);
unsigned host_bus_misaligned(void);

#endif
