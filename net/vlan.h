/*
 * VLAN tags (IEEE 802.1Q): which frames are ours, and the tag of those that we send. Pure.
 *
 * An interface is in one VLAN or in none. In none it takes frames without a tag, and those with VLAN 0, which
 * is no VLAN: such a tag only gives a priority. In a VLAN it takes frames with its tag, nothing else.
 */
#ifndef NET_VLAN_H
#define NET_VLAN_H

#include <stdint.h>

enum {
    VLAN_TYPE = 0x8100,
    VLAN_ID_MASK = 0x0fff, /* the tag's other four bits: priority, and whether it may be dropped */
    VLAN_TAG_BYTES = 4,
    VLAN_ETHER_BYTES = 14,
    VLAN_AT = 12, /* the tag stands where the type stood */
};

static inline uint16_t vlan_get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

/*
 * Bytes in front of the packet, 14 or 18; 0 when the frame is in another VLAN than vlan_id (0: none), or too short for
 * its tag. eth holds the first 18 bytes, or all `len` (≥ 14) there are.
 */
static inline uint32_t vlan_header_bytes(const uint8_t *eth, uint32_t len, uint16_t vlan_id)
{
    if (vlan_get16(eth + VLAN_AT) != VLAN_TYPE)
        return vlan_id == 0 ? VLAN_ETHER_BYTES : 0;
    if (len < VLAN_ETHER_BYTES + VLAN_TAG_BYTES)
        return 0;
    const uint16_t id = vlan_get16(eth + VLAN_ETHER_BYTES) & VLAN_ID_MASK;
    return id == vlan_id ? VLAN_ETHER_BYTES + VLAN_TAG_BYTES : 0;
}

static inline void vlan_write_tag(uint8_t tag[VLAN_TAG_BYTES], uint16_t vlan_id)
{
    tag[0] = VLAN_TYPE >> 8;
    tag[1] = VLAN_TYPE & 0xff;
    tag[2] = (uint8_t)(vlan_id >> 8);
    tag[3] = (uint8_t)vlan_id;
}

#endif
