"""Make the doors through which programs and the C library enter our code.

    mkentries.py --inner INNER.o --bracket OBJECT… --locked OBJECT… --skip OBJECT… --sources SOURCE… -o NAME

Writes NAME.syms, with which `objcopy --redefine-syms` gives every public function of INNER.o the prefix ringlet_in_, and
NAME.S, with a function of the plain name in front of each:

* of --bracket's objects (POSIX names, lib/): raises preempt_depth, calls, lowers it again, and lets happen what was
  put off meanwhile (lib/preempt.h). Made here because it must be complete: a function that was forgotten would be
  preempted in the middle of its work;
* of --locked's objects (lwIP): a jump, if the depth is raised already: in lwIP's callbacks it is, and elsewhere a program
  has to say net_lock(). Else a panic, since lwIP would sooner or later interrupt itself;
* of all others: a jump.

Within our code the inner names are called directly. All outer names are weak: a program may have a function of
the same name, and ours go on calling ours.

Arguments in registers pass through untouched. A function with more has its two on the stack copied; one with `...`
can't be passed on in general, so it gets a jump and brackets itself, unless it is known to take few (FEW).
--skip's objects (assembly) keep their names.
"""

import argparse
import re
import subprocess
import sys

PREFIX = "ringlet_in_"
FEW = {"open", "openat", "fcntl", "ioctl", "prctl", "semctl"}

# Functions that wait, and what a signal means to them: lib/preempt.h has the kinds.
WAITING = {
    0: "read readv write writev pread pwrite preadv pwritev send sendto sendmsg recv recvfrom recvmsg accept accept4 open "
       "openat fcntl ioctl flock wait waitpid sem_wait sem_timedwait sem_clockwait sendfile fsync",
    1: "pthread_mutex_lock pthread_mutex_timedlock pthread_mutex_clocklock pthread_rwlock_rdlock pthread_rwlock_wrlock "
       "pthread_rwlock_timedrdlock pthread_rwlock_timedwrlock pthread_spin_lock pthread_barrier_wait",
    2: "connect poll ppoll select pselect epoll_wait epoll_pwait nanosleep usleep sleep pause sigsuspend sigpause "
       "sigwaitinfo sigtimedwait",
    3: "pthread_join pthread_cond_wait pthread_cond_timedwait pthread_cond_clockwait sigwait clock_nanosleep",
}
KIND = {name: kind for kind, names in WAITING.items() for name in names.split()}
# These of lwIP only compute with what they are given.
PURE = ("ip4addr_", "ip6addr_", "ipaddr_", "lwip_", "inet_chksum")
# Called where preempt_depth is what they are about, or so early or late that it doesn't matter.
UNBRACKETED = {"preempt_point", "preempt_allow", "preempt_tick", "preempt_interrupted", "preempt_cancellation",
               "preempt_unlocked"}


def functions(files):
    out = subprocess.run(["nm", "--defined-only", *files], check=True, capture_output=True, text=True).stdout
    rows = [line.split() for line in out.splitlines()]
    return {row[2] for row in rows if len(row) == 3 and row[1] in "TW" and "." not in row[2]}


DEFINITION = re.compile(r"^[A-Za-z_][\w \t*]*?\b(\w+)\(((?:[^(){};]|\([^(){};]*\))*)\)\s*\{", re.M)


def parameters(sources):
    """{function: (how many parameters, whether '...' follows)} of every definition in the sources."""
    found = {}
    for source in sources:
        with open(source, encoding="utf-8") as f:
            text = re.sub(r"/\*.*?\*/", "", f.read(), flags=re.S)
        for name, listed in DEFINITION.findall(text):
            plain = re.sub(r"\([^()]*\)", "", listed)
            found[name] = (plain.count(",") + 1, "..." in plain)
    return found


HEAD = """/* Made by tools/mkentries.py. */
    .macro OPEN name
    .section .text.entry_of_\\name, "ax", @progbits
    .balign 16
    .weak \\name
    .type \\name, @function
\\name:
    .endm

    .macro JUMP name
    OPEN \\name
    jmp ringlet_in_\\name
    .size \\name, . - \\name
    .endm

    .macro LOCKED name
    OPEN \\name
    cmpl $0, preempt_depth(%rip)
    je ringlet_in_preempt_unlocked
    jmp ringlet_in_\\name
    .size \\name, . - \\name
    .endm

    /* Lower the depth; what was put off happens when it becomes 0. */
    .macro LOWER slow
    decl preempt_depth(%rip)
    jnz 1f
    cmpl $0, preempt_wanted(%rip)
    jne \\slow
1:  leave
    ret
    .endm

    .macro BRACKET name stack=0
    OPEN \\name
    pushq %rbp
    movq %rsp, %rbp
    .if \\stack
    pushq 24(%rbp)
    pushq 16(%rbp)
    .endif
    incl preempt_depth(%rip)
    call ringlet_in_\\name
    LOWER 2f
2:  call preempt_at_leave
    leave
    ret
    .size \\name, . - \\name
    .endm

    .macro AGAIN name kind
    OPEN \\name
    pushq %rbp
    movq %rsp, %rbp
    pushq %rdi
    pushq %rsi
    pushq %rdx
    pushq %rcx
    pushq %r8
    pushq %r9
3:  .if \\kind != 1
    cmpl $0, preempt_cancel(%rip)
    jne 5f
6:
    .endif
    incl preempt_depth(%rip)
    call ringlet_in_\\name
    LOWER 2f
2:  call preempt_at_leave
    movl $\\kind, %esi
    call preempt_ask_again
    jz 4f
    movq -8(%rbp), %rdi
    movq -16(%rbp), %rsi
    movq -24(%rbp), %rdx
    movq -32(%rbp), %rcx
    movq -40(%rbp), %r8
    movq -48(%rbp), %r9
    jmp 3b
4:  leave
    ret
    .if \\kind != 1
5:  call ringlet_in_preempt_cancellation
    movq -8(%rbp), %rdi
    movq -16(%rbp), %rsi
    movq -24(%rbp), %rdx
    movq -32(%rbp), %rcx
    movq -40(%rbp), %r8
    movq -48(%rbp), %r9
    jmp 6b
    .endif
    .size \\name, . - \\name
    .endm

    .section .text.preempt_at_leave, "ax", @progbits
    .type preempt_at_leave, @function
preempt_at_leave: /* keeps what a function may return: rax, rdx, xmm0, xmm1 */
    pushq %rbp
    movq %rsp, %rbp
    pushq %rax
    pushq %rdx
    subq $32, %rsp
    movups %xmm0, (%rsp)
    movups %xmm1, 16(%rsp)
    call ringlet_in_preempt_point
    movups (%rsp), %xmm0
    movups 16(%rsp), %xmm1
    addq $32, %rsp
    popq %rdx
    popq %rax
    popq %rbp
    ret

    .type preempt_ask_again, @function
preempt_ask_again: /* rax is the result, esi the kind; keeps both rax and rdx, and tells in the zero flag */
    pushq %rbp
    movq %rsp, %rbp
    pushq %rax
    pushq %rdx
    movq %rax, %rdi
    call ringlet_in_preempt_again
    movl %eax, %ecx
    popq %rdx
    popq %rax
    popq %rbp
    testb %cl, %cl
    ret
"""


def entry(name, bracketed, locked, params):
    count, variadic = params.get(name, (0, False))
    if name in locked and not name.startswith(PURE):
        return f"    LOCKED {name}"
    if name not in bracketed or name in UNBRACKETED or (variadic and name not in FEW):
        return f"    JUMP {name}"
    if count > 8:
        sys.exit(f"mkentries.py: {name} takes {count} arguments; at most 8 are passed on")
    if name in KIND:
        return f"    AGAIN {name} {KIND[name]}"
    return f"    BRACKET {name} {int(count > 6)}"


def main():
    args = argparse.ArgumentParser()
    args.add_argument("--inner", required=True)
    args.add_argument("--bracket", nargs="+", default=[])
    args.add_argument("--locked", nargs="*", default=[])
    args.add_argument("--skip", nargs="*", default=[])
    args.add_argument("--sources", nargs="+", default=[])
    args.add_argument("-o", dest="out", required=True)
    args = args.parse_args()
    names = sorted(functions([args.inner]) - (functions(args.skip) if args.skip else set()))
    bracketed, params = functions(args.bracket), parameters(args.sources)
    locked = functions(args.locked) if args.locked else set()
    if not {"thread_create", "write"} <= bracketed & set(names):  # an nm that can't read LTO's objects sees none
        sys.exit("mkentries.py: nm doesn't tell the functions of --bracket's objects")
    with open(args.out + ".syms", "w", encoding="utf-8") as f:
        f.writelines(f"{name} {PREFIX}{name}\n" for name in names)
    with open(args.out + ".S", "w", encoding="utf-8") as f:
        f.write(HEAD + "\n" + "\n".join(entry(name, bracketed, locked, params) for name in names))
        f.write('\n\n    .section .note.GNU-stack, "", @progbits\n')


if __name__ == "__main__":
    main()
