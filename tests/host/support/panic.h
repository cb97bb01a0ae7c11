/*
 * panic() on the host: a test says that it expects one; any other ends the test program, with its text.
 *
 * A panic that is expected leaves through longjmp, so what the caller was about to do is not done; the module
 * under test may be left half changed. Start it afresh (page_init(), frag_reset() …) before the next test.
 */
#ifndef TESTS_HOST_SUPPORT_PANIC_H
#define TESTS_HOST_SUPPORT_PANIC_H

#include <stdbool.h>

/* Run fn(arg). True when it ended in panic(). */
bool panics(void (*fn)(void *arg), void *arg);

/* What the last expected panic said. */
const char *panic_text(void);

#endif
