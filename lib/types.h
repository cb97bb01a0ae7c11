/*
 * Integers with a byte order, and a few names for sizes.
 *
 * A wire integer is a one-member struct, so that a forgotten conversion does not compile. All
 * supported machines are little-endian; the conversions say so once, here.
 */
#ifndef LIB_TYPES_H
#define LIB_TYPES_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "conversions below assume it");

typedef struct {
    uint16_t raw;
} le16;
typedef struct {
    uint32_t raw;
} le32;
typedef struct {
    uint64_t raw;
} le64;
typedef struct {
    uint16_t raw;
} be16;
typedef struct {
    uint32_t raw;
} be32;

static inline uint16_t le16_get(le16 v)
{
    return v.raw;
}
static inline uint32_t le32_get(le32 v)
{
    return v.raw;
}
static inline uint64_t le64_get(le64 v)
{
    return v.raw;
}
static inline uint16_t be16_get(be16 v)
{
    return __builtin_bswap16(v.raw);
}
static inline uint32_t be32_get(be32 v)
{
    return __builtin_bswap32(v.raw);
}
static inline le16 le16_make(uint16_t v)
{
    return (le16){v};
}
static inline le32 le32_make(uint32_t v)
{
    return (le32){v};
}
static inline le64 le64_make(uint64_t v)
{
    return (le64){v};
}
static inline be16 be16_make(uint16_t v)
{
    return (be16){__builtin_bswap16(v)};
}
static inline be32 be32_make(uint32_t v)
{
    return (be32){__builtin_bswap32(v)};
}

/* An address as a device on the bus sees it. RAM is mapped one to one, but only port/dma.h says so. */
typedef uint64_t dma_addr;

#define ARRAY_COUNT(a) (sizeof(a) / sizeof((a)[0]))
#define CONTAINER_OF(ptr, type, member) ((type *)(void *)((char *)(ptr)-offsetof(type, member)))

static inline size_t size_round_up(size_t v, size_t power_of_two)
{
    return (v + power_of_two - 1) & ~(power_of_two - 1);
}
static inline size_t size_min(size_t a, size_t b)
{
    return a < b ? a : b;
}
static inline size_t size_max(size_t a, size_t b)
{
    return a > b ? a : b;
}

#endif
