/* Where a device finds our memory: RAM is mapped one to one, so addresses are the same. */
#ifndef PORT_DMA_H
#define PORT_DMA_H

#include "lib/types.h"

static inline dma_addr dma_of(const void *p)
{
    return (dma_addr)(uintptr_t)p;
}

#endif
