/* lwIP's clock: milliseconds since boot, wrapping as lwIP expects. */
#include "lwip/sys.h"
#include "port/clock.h"

u32_t sys_now(void)
{
    return (u32_t)(clock_now_us() / 1000);
}

u32_t sys_jiffies(void)
{
    return sys_now();
}

void sys_init(void)
{
}
