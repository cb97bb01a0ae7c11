#include "net/tcp_isn.h"

#include <string.h>

#include "lib/random.h"
#include "lib/siphash.h"
#include "net/lwip_hooks.h"
#include "port/clock.h"

static uint8_t secret[SIPHASH_KEY_BYTES];

void tcp_isn_init(void)
{
    random_bytes(secret, sizeof(secret));
}

static void put_address(uint8_t *to, const ip_addr_t *addr)
{
    if (IP_IS_V6_VAL(*addr))
        memcpy(to, ip_2_ip6(addr)->addr, 16);
    else
        memcpy(to, &ip_2_ip4(addr)->addr, 4);
}

u32_t net_tcp_isn(const ip_addr_t *local_ip, u16_t local_port, const ip_addr_t *remote_ip,
                  u16_t remote_port)
{
    uint8_t tuple[36] = {0};

    put_address(tuple, local_ip);
    put_address(tuple + 16, remote_ip);
    memcpy(tuple + 32, &local_port, 2);
    memcpy(tuple + 34, &remote_port, 2);
    return (u32_t)siphash(secret, tuple, sizeof(tuple)) + (u32_t)(clock_now_us() / 4);
}
