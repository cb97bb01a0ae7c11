/*
 * The host's port/shared.h: the same operations, each announced to a hook before it happens, so that a test can
 * record their order, or let the device act between any two.
 */
#ifndef PORT_SHARED_H
#define PORT_SHARED_H

#include "lib/types.h"

enum shared_op {
    SHARED_LOAD,
    SHARED_LOAD_ACQUIRE,
    SHARED_STORE,
    SHARED_STORE_RELEASE,
    SHARED_BARRIER,
};

/* NULL: nobody listens. addr is NULL for a barrier; value is what will be stored, 0 for loads. */
extern void (*shared_hook)(enum shared_op op, const void *addr, uint32_t value);

static inline void shared_announce(enum shared_op op, const void *addr, uint32_t value)
{
    if (shared_hook)
        shared_hook(op, addr, value);
}

static inline uint16_t shared_load16(const le16 *p)
{
    shared_announce(SHARED_LOAD, p, 0);
    return __atomic_load_n(&p->raw, __ATOMIC_RELAXED);
}
static inline uint32_t shared_load32(const le32 *p)
{
    shared_announce(SHARED_LOAD, p, 0);
    return __atomic_load_n(&p->raw, __ATOMIC_RELAXED);
}
static inline void shared_store16(le16 *p, uint16_t v)
{
    shared_announce(SHARED_STORE, p, v);
    __atomic_store_n(&p->raw, v, __ATOMIC_RELAXED);
}
static inline uint16_t shared_load16_acquire(const le16 *p)
{
    shared_announce(SHARED_LOAD_ACQUIRE, p, 0);
    return __atomic_load_n(&p->raw, __ATOMIC_ACQUIRE);
}
static inline void shared_store16_release(le16 *p, uint16_t v)
{
    shared_announce(SHARED_STORE_RELEASE, p, v);
    __atomic_store_n(&p->raw, v, __ATOMIC_RELEASE);
}
static inline void shared_barrier(void)
{
    shared_announce(SHARED_BARRIER, NULL, 0);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

#endif
