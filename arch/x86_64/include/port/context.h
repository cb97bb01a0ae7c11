/* Execution contexts: the one thing about threads that C can't say. Implemented in arch/x86_64/switch.S. */
#ifndef PORT_CONTEXT_H
#define PORT_CONTEXT_H

/*
 * Lay out a context that will call entry() (which must not return) at the top of a stack.
 *   stack_top   one past its highest byte, 16-byte aligned.
 * Returns the stack pointer to hand to context_switch().
 */
void *context_new(void *stack_top, void (*entry)(void));

/*
 * Save the running context's stack pointer to *save_sp and continue the one of load_sp; returns when somebody
 * switches back. Keeps what the System V ABI calls callee-saved: rbx, rbp, r12 … r15, the MXCSR's and the
 * x87's control bits. Caller-saved registers are the compiler's business, which is why nothing else is saved.
 */
void context_switch(void **save_sp, void *load_sp);

#endif
