/*
 * The C library's share of a thread: its struct _reent, which holds errno, strtok's place, and buffers of printf; what
 * POSIX adds (posix_thread.h); and its thread-local variables.
 *
 * newlib reaches its part through _impure_ptr, so a switch of threads is a switch of that pointer. Thread-local
 * variables are reached through %fs: System V ABI for x86-64, ELF TLS variant II: they end where it points to, and
 * the word there holds its own address.
 */
#include <reent.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/newlib/posix_thread.h"
#include "lib/page_alloc.h"
#include "lib/preempt.h"
#include "lib/random.h"
#include "lib/thread.h"
#include "port/cpu.h"

enum { ENV_REENT, ENV_POSIX, ENV_POINTER };

/* Behind the variables: what %fs points to. Code built with a stack protector looks for its word at offset 40. */
struct anchor {
    void *self;
    void *unused[4];
    uint64_t guard;
};
static_assert(offsetof(struct anchor, guard) == 40, "gcc: -fstack-protector on x86-64");

/* linker.ld: initial values, all variables, and the strictest alignment among them. */
extern const uint8_t tls_start[];
extern const uint8_t tls_data_bytes[], tls_bytes[], tls_align[]; /* values, not addresses */

static struct posix_thread first_posix = {.name = "main"};

static size_t variables_bytes(void)
{
    return (uintptr_t)tls_bytes;
}

static size_t alignment(void)
{
    return size_max((uintptr_t)tls_align, _Alignof(struct anchor));
}

/* Variables, anchor, and what it takes to align them. */
static size_t local_bytes(void)
{
    if (variables_bytes() == 0)
        return 0;
    return size_round_up(variables_bytes() + 2 * alignment() + sizeof(struct anchor), 64);
}

/* Lay out the variables of a new thread. Returns what %fs is to point to. */
static struct anchor *local_init(uint8_t *memory)
{
    static uint64_t guard;

    if (variables_bytes() == 0)
        return NULL;
    if (guard == 0)
        random_bytes(&guard, sizeof(guard));
    struct anchor *anchor =
        (struct anchor *)size_round_up((uintptr_t)memory + variables_bytes(), alignment());
    uint8_t *first = (uint8_t *)anchor - size_round_up(variables_bytes(), (uintptr_t)tls_align);
    const size_t initial = (uintptr_t)tls_data_bytes;

    memcpy(first, tls_start, initial);
    memset(first + initial, 0, variables_bytes() - initial);
    *anchor = (struct anchor){.self = anchor, .guard = guard};
    return anchor;
}

size_t thread_env_bytes(void)
{
    return local_bytes() + size_round_up(sizeof(struct posix_thread), 16) + sizeof(struct _reent);
}

/* A new thread inherits its creator's signal mask. */
void thread_env_init(struct thread_env *env, void *memory)
{
    uint8_t *at = memory;
    struct posix_thread *posix = (struct posix_thread *)(void *)(at + local_bytes());
    struct _reent *reent =
        (struct _reent *)(void *)((uint8_t *)posix + size_round_up(sizeof(*posix), 16));

    *posix = (struct posix_thread){.blocked = posix_self()->blocked};
    _REENT_INIT_PTR(reent);
    env->opaque[ENV_REENT] = reent;
    env->opaque[ENV_POSIX] = posix;
    env->opaque[ENV_POINTER] = local_init(at);
}

void posix_thread_init(void)
{
    struct thread_env *env = thread_env_of(thread_self());
    const size_t pages = (local_bytes() + PAGE_BYTES - 1) / PAGE_BYTES;

    env->opaque[ENV_POSIX] = &first_posix;
    if (pages == 0)
        return;
    uint8_t *memory = page_take(pages);

    if (!memory)
        panic("no memory for thread-local variables");
    env->opaque[ENV_POINTER] = local_init(memory);
    cpu_thread_pointer_set(env->opaque[ENV_POINTER]);
}

void thread_env_fini(struct thread_env *env)
{
    _reclaim_reent(env->opaque[ENV_REENT]);
}

void thread_env_leave(struct thread_env *from, struct thread_env *to)
{
    if (from)
        from->opaque[ENV_REENT] = _impure_ptr; /* the first thread has newlib's own */
    _impure_ptr = to->opaque[ENV_REENT];
    if (variables_bytes() != 0)
        cpu_thread_pointer_set(to->opaque[ENV_POINTER]);
}

void thread_env_arrive(struct thread_env *to)
{
    (void)to;
}

struct posix_thread *posix_of(struct thread *t)
{
    return thread_env_of(t)->opaque[ENV_POSIX];
}

struct posix_thread *posix_self(void)
{
    return posix_of(thread_self());
}

/* ---- calling the program back ---- */

uint32_t program_begin(void)
{
    const uint32_t depth = preempt_depth;

    if (!preempt_is_allowed())
        return depth;
    preempt_depth = 1;
    preempt_on();
    return depth;
}

void program_end(uint32_t depth)
{
    preempt_depth = depth;
}
