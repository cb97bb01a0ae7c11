/*
 * The values that options take: text to typed value, and what is wrong with it.
 *
 * Each parser gets the member of struct options that it fills, and returns NULL, or a few words that say
 * why the value is refused; then the member is untouched. Internal to options.c and its tests.
 */
#ifndef LIB_OPTIONS_VALUE_H
#define LIB_OPTIONS_VALUE_H

#include "lib/options.h"

const char *opt_value_ip4(struct opt_ip4 *out, const char *text); /* dhcp, off, ADDRESS/PREFIX */
const char *opt_value_ip6(struct opt_ip6 *out, const char *text); /* auto, off, ADDRESS/PREFIX */
const char *opt_value_gw4(uint8_t out[4], const char *text);      /* unicast */
const char *opt_value_gw6(uint8_t out[16], const char *text);     /* unicast */
const char *opt_value_dns(struct opt_addr *out,
                          const char *text); /* OPT_DNS_MAX of them, one must be given */
const char *opt_value_hostname(char *out, const char *text); /* RFC 1123 §2.1 */
const char *opt_value_vlan(uint16_t *out, const char *text); /* off, 1 … 4094 */
const char *opt_value_rxbuf(struct opt_vnet *out,
                            const char *text); /* a word or a number of bytes */
const char *opt_value_mmio(struct opt_mmio *out, const char *text); /* Linux's syntax */

/* The two values of a network interface that must fit each other. NULL, or why the gateway is refused. */
const char *opt_check_gw4(const struct opt_nic *nic);
const char *opt_check_gw6(const struct opt_nic *nic);

#endif
