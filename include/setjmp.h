/* newlib's <setjmp.h>, and the jumps that bring the signal mask back (POSIX.1-2017). */
#ifndef RINGLET_SETJMP_H
#define RINGLET_SETJMP_H

#include_next <setjmp.h>
#include <signal.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct {
    jmp_buf __registers;
    int __mask_saved;
    sigset_t __mask;
} sigjmp_buf[1];

static __inline__ void __sigsetjmp_mask(sigjmp_buf env, int save)
{
    env[0].__mask_saved = save;
    if (save)
        (void)sigprocmask(SIG_BLOCK, NULL, &env[0].__mask);
}

/* Inline, because it leaves its caller: nothing of the library's own may stand in between. */
static __inline__ __attribute__((__noreturn__)) void siglongjmp(sigjmp_buf env, int value)
{
    if (env[0].__mask_saved)
        (void)sigprocmask(SIG_SETMASK, &env[0].__mask, NULL);
    longjmp(env[0].__registers, value);
}

#define sigsetjmp(env, save) (__sigsetjmp_mask((env), (save)), setjmp((env)[0].__registers))
#ifndef _setjmp
#define _setjmp(env) setjmp(env)
#define _longjmp(env, value) longjmp(env, value)
#endif

#ifdef __cplusplus
}
#endif

#endif
