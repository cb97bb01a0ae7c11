/*
 * SipHash-2-4 (Aumasson, Bernstein 2012): a short keyed hash that strangers can't predict.
 *
 * For values that a peer sees or chooses: initial sequence numbers, hash tables of connections.
 * Pure; callable from anywhere.
 */
#ifndef LIB_SIPHASH_H
#define LIB_SIPHASH_H

#include <stddef.h>
#include <stdint.h>

enum { SIPHASH_KEY_BYTES = 16 };

uint64_t siphash(const uint8_t key[SIPHASH_KEY_BYTES], const void *data, size_t len);

#endif
