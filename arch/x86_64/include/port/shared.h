/*
 * Memory that a device may write at any time: the only way to read and to order it.
 *
 * A value is read once, into a local; only the local is checked and used. On x86 the loads and stores below
 * are plain moves: TSO keeps load-load, store-store and load-store order; only store-load needs
 * mfence. The compiler is held by C11 atomics, so the same text is right on weaker machines.
 */
#ifndef PORT_SHARED_H
#define PORT_SHARED_H

#include "lib/types.h"

/* Relaxed loads and stores: one access each, never torn, merged or repeated. */
static inline uint16_t shared_load16(const le16 *p)
{
    return __atomic_load_n(&p->raw, __ATOMIC_RELAXED);
}
static inline uint32_t shared_load32(const le32 *p)
{
    return __atomic_load_n(&p->raw, __ATOMIC_RELAXED);
}
static inline void shared_store16(le16 *p, uint16_t v)
{
    __atomic_store_n(&p->raw, v, __ATOMIC_RELAXED);
}

/* Acquire: what is read after this load is not older than it (used.idx, then its entries). */
static inline uint16_t shared_load16_acquire(const le16 *p)
{
    return __atomic_load_n(&p->raw, __ATOMIC_ACQUIRE);
}
/* Release: what was written before this store is visible before it (descriptors, then avail.idx). */
static inline void shared_store16_release(le16 *p, uint16_t v)
{
    __atomic_store_n(&p->raw, v, __ATOMIC_RELEASE);
}

/* Full barrier: stores before it are visible before loads after it (avail.idx, then avail_event;
 * used_event, then used.idx). */
static inline void shared_barrier(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
