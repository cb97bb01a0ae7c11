/*
 * Where exceptions and interrupts arrive: one stub a vector, then two common tails.
 *
 * Exceptions save every register (struct trap_frame) and never come back. Interrupts save what a C function
 * may change, except vector registers: C code called from here is compiled not to touch them.
 */

#define VECTOR_EXCEPTIONS 32
#define VECTOR_COUNT 96

/* Vectors for which the processor pushes an error code: 8, 10–14, 17, 21, 29, 30. */
#define HAS_ERROR_CODE 0x60227d00

    .section .text.isr, "ax", @progbits
    .balign 16
isr_stub_first:
    .set vector, 0
    .rept VECTOR_COUNT
    .balign 16 /* isr_stubs counts on 16 bytes each */
    .if vector < VECTOR_EXCEPTIONS
    .ifeq (HAS_ERROR_CODE >> vector) & 1
    pushq $0
    .endif
    pushq $vector
    jmp exception_common
    .else
    pushq $vector
    jmp interrupt_common
    .endif
    .set vector, vector + 1
    .endr

exception_common:
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rbx
    pushq %rbp
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    cld
    movq %rsp, %rdi
    andq $-16, %rsp
    call crash_exception
1:  hlt
    jmp 1b

interrupt_common:
    pushq %rax
    pushq %rcx
    pushq %rdx
    pushq %rsi
    pushq %rdi
    pushq %r8
    pushq %r9
    pushq %r10
    pushq %r11
    pushq 80(%rsp) /* the interrupted RIP, as if we had been called: a backtrace passes through */
    pushq %rbp
    movq %rsp, %rbp
    movq 88(%rbp), %rdi /* the vector */
    andq $-16, %rsp
    cld
    call irq_dispatch
    movq %rbp, %rsp
    popq %rbp
    addq $8, %rsp
    popq %r11
    popq %r10
    popq %r9
    popq %r8
    popq %rdi
    popq %rsi
    popq %rdx
    popq %rcx
    popq %rax
    addq $8, %rsp
    iretq

    .section .rodata.isr, "a", @progbits
    .balign 8
    .globl isr_stubs
isr_stubs:
    .set vector, 0
    .rept VECTOR_COUNT
    .quad isr_stub_first + 16 * vector
    .set vector, vector + 1
    .endr

    .section .note.GNU-stack, "", @progbits
