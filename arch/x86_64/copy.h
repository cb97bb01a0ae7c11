/* Copying memory: copy.S. */
#ifndef ARCH_X86_64_COPY_H
#define ARCH_X86_64_COPY_H

#include <stdint.h>

#include "lib/types.h"

/* memcpy(): `to` and `from` don't overlap. Returns `to`. Callable from anywhere. */
void *copy_bytes(void *to, const void *from, size_t len);

/* Not 0: `rep movsb` is quick here (ERMS, and no emulator). Set once at boot. */
extern uint8_t copy_by_bytes;

#endif
