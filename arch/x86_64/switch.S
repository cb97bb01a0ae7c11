/*
 * Switch stacks: port/context.h.
 *
 * System V ABI for x86-64, §3.2.1 and §3.2.3: only these registers live across a call. Works in the
 * image and in a Linux process alike.
 *
 * A saved context, from its stack pointer upwards: mxcsr and x87 control word (8 bytes), r15, r14, r13, r12, rbx,
 * rbp, return address.
 */
    .text

    .globl context_switch
    .type context_switch, @function
context_switch:
    push %rbp
    push %rbx
    push %r12
    push %r13
    push %r14
    push %r15
    sub $8, %rsp
    stmxcsr (%rsp)
    fnstcw 4(%rsp)

    mov %rsp, (%rdi)
    mov %rsi, %rsp

    ldmxcsr (%rsp)
    fldcw 4(%rsp)
    add $8, %rsp
    pop %r15
    pop %r14
    pop %r13
    pop %r12
    pop %rbx
    pop %rbp
    ret
    .size context_switch, . - context_switch

/*
 * The new context inherits the creator's floating-point control bits. Above the entry's address stands a zero
 * as its return address: it ends backtraces, and aligns the stack as a call would have.
 */
    .globl context_new
    .type context_new, @function
context_new:
    lea -72(%rdi), %rax
    stmxcsr (%rax)
    fnstcw 4(%rax)
    xor %ecx, %ecx
    mov %rcx, 8(%rax)
    mov %rcx, 16(%rax)
    mov %rcx, 24(%rax)
    mov %rcx, 32(%rax)
    mov %rcx, 40(%rax)
    mov %rcx, 48(%rax)
    mov %rsi, 56(%rax)
    mov %rcx, 64(%rax)
    ret
    .size context_new, . - context_new

    .section .note.GNU-stack, "", @progbits
