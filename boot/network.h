/* Bringing up the NICs: the part of boot that an image without network leaves out. */
#ifndef BOOT_NETWORK_H
#define BOOT_NETWORK_H

struct options;

/*
 * Find the NICs, start lwIP, attach each NIC. Always returns: what is missing or broken gets a line of warning.
 */
void boot_network(struct options *opt);

/*
 * The same under the name that init.c calls, weakly. The link gives it a value (--defsym) for images with
 * network; without one, the linker drops lwIP and the drivers, as nothing refers to them.
 */
void image_network(struct options *opt) __attribute__((weak));

#endif
