/*
 * Our own bugs: say what is broken, and end. In every build.
 *
 * Never for what a device, the wire, the command line, the loader or a client can cause: those get an
 * error value and a counter.
 */
#ifndef LIB_CHECK_H
#define LIB_CHECK_H

/*
 * End the image: one crash block with this reason (cut at 200 bytes), registers and a backtrace, then
 * status 70. Callable from anywhere, also before the console is open and from interrupt handlers; a panic
 * inside a panic doesn't loop. A host test replaces it at link time (and must not return from it).
 */
_Noreturn void panic(const char *fmt, ...) __attribute__((format(printf, 1, 2)));

/* `cond` must have no side effect, and must stay cheap: it is always evaluated. */
#define ASSERT(cond)                                                                               \
    do {                                                                                           \
        if (__builtin_expect(!(cond), 0))                                                          \
            panic("%s:%d: assertion failed: %s", __FILE__, __LINE__, #cond);                       \
    } while (0)

#endif
