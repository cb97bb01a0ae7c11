#include "lib/tick_scale.h"

struct tick_scale tick_scale_make(uint64_t hz, uint64_t per_second)
{
    /* Rounded to nearest: at 1 kHz and more the relative error stays below 2^-31. */
    const unsigned __int128 units = (unsigned __int128)per_second << TICK_SCALE_SHIFT;
    return (struct tick_scale){(uint64_t)((units + hz / 2) / hz)};
}
