/*
 * Memory that nobody owns, made untouchable where the compiler can do that.
 *
 * Under AddressSanitizer (host tests, fuzzers) free pages and given-back fragments are poisoned, so that
 * a use after give is reported at the access. In the kernel both calls are nothing.
 */
#ifndef LIB_POISON_H
#define LIB_POISON_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define LIB_HAS_POISON 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LIB_HAS_POISON 1
#endif
#endif

#ifdef LIB_HAS_POISON

void __asan_poison_memory_region(void const volatile *addr, size_t size);
void __asan_unpoison_memory_region(void const volatile *addr, size_t size);

/* From here on every access to these bytes is reported. addr and len in multiples of 8. */
static inline void memory_poison(const void *addr, size_t len)
{
    __asan_poison_memory_region(addr, len);
}

/* Accesses are fine again; the contents are what they were. */
static inline void memory_unpoison(const void *addr, size_t len)
{
    __asan_unpoison_memory_region(addr, len);
}

#else

static inline void memory_poison(const void *addr, size_t len)
{
    (void)addr;
    (void)len;
}

static inline void memory_unpoison(const void *addr, size_t len)
{
    (void)addr;
    (void)len;
}

#endif
#endif
