/*
 * Where exceptions and interrupts arrive: one stub a vector, then two common tails.
 *
 * Exceptions save every register (struct trap_frame) and never come back. Interrupts save what a C function
 * may change, except vector registers: C code called from here is compiled not to touch them. Only when a program
 * was interrupted and something else is to run (irq_dispatch() says so) are they saved as well, on the program's stack.
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
    testb %al, %al
    jnz preempt
interrupt_return:
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

/*
 * The interrupt stack must be free for the next interrupt, so the frame, FRAME_WORDS long, moves to the program's stack,
 * below the 128 bytes that code built with a red zone may use there. Vector state goes below it.
 */
#define FRAME_WORDS 17
#define FRAME_RSP 120
#define RED_ZONE 128
#define STATE_BYTES 832      /* x87, SSE, header, AVX: SDM vol. 1 §13.4 */
#define STATE_HEADER 512
preempt:
    movq FRAME_RSP(%rbp), %rdi
    subq $(RED_ZONE + 8 * FRAME_WORDS), %rdi
    andq $-16, %rdi
    movq %rdi, %rax
    movq %rbp, %rsi
    movl $FRAME_WORDS, %ecx
    cld
    rep movsq
    movq %rax, %rbp
    leaq -STATE_BYTES(%rax), %rsp
    andq $-64, %rsp
    cmpb $0, cpu_has_xsave(%rip)
    je 1f
    xorl %eax, %eax
    leaq STATE_HEADER(%rsp), %rdi
    movl $8, %ecx
    rep stosq
    movl $-1, %eax
    movl $-1, %edx
    xsave64 (%rsp)
    jmp 2f
1:  fxsave64 (%rsp)
2:  fninit
    ldmxcsr mxcsr_default(%rip)
3:  sti
    call preempt_interrupted
    cli
    cmpl $0, preempt_wanted(%rip) /* an interrupt came after the last look */
    jne 3b
    movl $0, preempt_depth(%rip)
    cmpb $0, cpu_has_xsave(%rip)
    je 4f
    movl $-1, %eax
    movl $-1, %edx
    xrstor64 (%rsp)
    jmp 5f
4:  fxrstor64 (%rsp)
5:  movq %rbp, %rsp
    jmp interrupt_return

    .section .rodata.isr, "a", @progbits
    .balign 8
mxcsr_default:
    .long 0x1f80
    .balign 8
    .globl isr_stubs
isr_stubs:
    .set vector, 0
    .rept VECTOR_COUNT
    .quad isr_stub_first + 16 * vector
    .set vector, vector + 1
    .endr

    .section .note.GNU-stack, "", @progbits
