/*
 * From the loader's 32-bit protected mode to 64-bit C.
 *
 * Multiboot 0.6.96 §3.2 promises little: EAX, EBX, flat segments, paging off; Multiboot 2.0 §3.3 and PVH
 * promise the same, PVH without EAX. Nothing else is relied on: not a
 * stack, not a valid GDT register, not a cleared .bss, not where the loader left its information, which is
 * only pointed to here; lib/boot_info.c reads it before any memory is given out.
 *
 * The page tables made here map the first 4 GiB one to one and live until paging_init().
 */

#define MULTIBOOT_MAGIC 0x1BADB002
/* Bit 0: modules on page boundaries. Bit 1: memory information. Bit 16: the address fields are valid; they
 * are what makes a loader that only knows ELF32 take this ELF64. */
#define MULTIBOOT_FLAGS 0x00010003

#define PVH_MAGIC 0x336ec578 /* BOOT_MAGIC_PVH */

#define CR0_PE 0x00000001
#define CR0_MP 0x00000002
#define CR0_EM 0x00000004
#define CR0_TS 0x00000008
#define CR0_NE 0x00000020
#define CR0_WP 0x00010000
#define CR0_NW_CD 0x60000000
#define CR0_PG 0x80000000
#define CR4_PAE 0x020
#define CR4_OSFXSR 0x200
#define CR4_OSXMMEXCPT 0x400
#define MSR_EFER 0xc0000080
#define EFER_LME 0x100

#define SEL_CODE64 0x08
#define SEL_DATA 0x10

#define PAGE_PRESENT_WRITE 0x03
#define PAGE_LARGE 0x80
#define EARLY_GIB 4
#define MEMORY_PROBE 0x5a3c96e1

    .section .multiboot, "a", @progbits
    .align 4
    .globl multiboot_header
multiboot_header:
    .long MULTIBOOT_MAGIC
    .long MULTIBOOT_FLAGS
    .long -(MULTIBOOT_MAGIC + MULTIBOOT_FLAGS)
    .long multiboot_header
    .long image_start
    .long load_end
    .long image_limit
    .long entry32

/* Multiboot 2.0 §3.1: the same facts as tags, each on an 8-byte boundary. */
#define MULTIBOOT2_MAGIC 0xe85250d6
#define MULTIBOOT2_BYTES (multiboot2_end - multiboot2_header)
    .align 8
multiboot2_header:
    .long MULTIBOOT2_MAGIC
    .long 0 /* i386 */
    .long MULTIBOOT2_BYTES
    .long -(MULTIBOOT2_MAGIC + MULTIBOOT2_BYTES)
    .word 2, 0 /* where to load */
    .long 24
    .long multiboot2_header
    .long image_start
    .long load_end
    .long image_limit
    .word 3, 0 /* where to enter */
    .long 12
    .long entry32
    .align 8
    .word 0, 0 /* end */
    .long 8
multiboot2_end:

/* Xen's ELF note 18, XEN_ELFNOTE_PHYS32_ENTRY: what PVH loaders look for. */
    .section .note.pvh, "a", @note
    .align 4
    .long 4, 4, 18
    .asciz "Xen"
    .long pvh_entry32

    .section .text.entry, "ax", @progbits
    .code32
pvh_entry32:
    movl $PVH_MAGIC, %eax
    .globl entry32
entry32:
    cli
    cld
    movl %eax, %ebp /* the loader's magic, until C */
    movl %ebx, %esi /* its information, until C */
    lgdt early_gdtr
    movl $SEL_DATA, %eax
    movl %eax, %ds
    movl %eax, %es
    movl %eax, %ss

    /* The loader puts what is in the file where it belongs, and doesn't look whether our stacks find memory, too. */
    movl $MEMORY_PROBE, image_limit - 4
    cmpl $MEMORY_PROBE, image_limit - 4
    jne no_memory
    movl $main_stack_top, %esp

    /* A20, in case: with it off, every odd megabyte of what follows would be another one's shadow. */
    inb $0x92, %al
    testb $2, %al
    jnz 1f
    orb $2, %al
    andb $0xfe, %al /* bit 0 would reset the machine */
    outb %al, $0x92
1:
    movl $0x80000000, %eax
    cpuid
    cmpl $0x80000001, %eax
    jb no_long_mode
    movl $0x80000001, %eax
    cpuid
    testl $(1 << 29), %edx
    jz no_long_mode

    call early_tables

    movl %cr4, %eax
    orl $(CR4_PAE | CR4_OSFXSR | CR4_OSXMMEXCPT), %eax
    movl %eax, %cr4
    movl $early_pml4, %eax
    movl %eax, %cr3
    movl $MSR_EFER, %ecx
    rdmsr
    orl $EFER_LME, %eax
    wrmsr
    movl %cr0, %eax
    andl $~(CR0_EM | CR0_TS | CR0_NW_CD), %eax
    orl $(CR0_PG | CR0_WP | CR0_NE | CR0_MP | CR0_PE), %eax
    movl %eax, %cr0
    ljmp $SEL_CODE64, $entry64

/* PML4[0] → PDPT → one page directory of 2 MiB pages for each GiB. Clobbers EAX, ECX, EDX, EDI. */
early_tables:
    xorl %eax, %eax
    movl $early_pml4, %edi
    movl $(2 * 1024), %ecx /* PML4 and PDPT, which follows it */
    rep stosl
    movl $(early_pdpt + PAGE_PRESENT_WRITE), early_pml4

    movl $(early_pd + PAGE_PRESENT_WRITE), %eax
    movl $early_pdpt, %edi
    movl $EARLY_GIB, %ecx
1:  movl %eax, (%edi)
    addl $4096, %eax
    addl $8, %edi
    decl %ecx
    jnz 1b

    movl $(PAGE_LARGE | PAGE_PRESENT_WRITE), %eax
    movl $early_pd, %edi
    movl $(EARLY_GIB * 512), %ecx
1:  movl %eax, (%edi)
    movl $0, 4(%edi)
    addl $0x200000, %eax
    addl $8, %edi
    decl %ecx
    jnz 1b
    ret

/* Said straight to COM1, since nothing else runs on such a machine. */
no_memory:
    movl $no_memory_text, %esi
    jmp say_and_halt
no_long_mode:
    movl $no_long_mode_text, %esi
say_and_halt:
1:  lodsb
    testb %al, %al
    jz 3f
    movb %al, %bl
    movl $0x10000, %ecx /* the port may be absent: no wait without an end */
    movw $0x3fd, %dx
2:  inb %dx, %al
    testb $0x20, %al
    loopz 2b
    movw $0x3f8, %dx
    movb %bl, %al
    outb %al, %dx
    jmp 1b
3:  hlt
    jmp 3b

    .code64
entry64:
    xorl %eax, %eax
    movl %eax, %fs
    movl %eax, %gs
    movq $main_stack_top, %rsp

    movq $bss_start, %rdi
    movq $bss_end, %rcx
    subq %rdi, %rcx
    shrq $3, %rcx
    rep stosq

    /* x87 and SSE as the ABI wants them at process start. */
    fninit
    pushq $0x1f80
    ldmxcsr (%rsp)
    popq %rax

    movl %ebp, %edi
    movl %esi, %esi
    xorl %ebp, %ebp /* a backtrace ends here */
    call boot_main
1:  hlt
    jmp 1b

    .section .rodata.entry, "a", @progbits
    .align 8
early_gdt:
    .quad 0
    .quad 0x00af9b000000ffff /* 64-bit code, ring 0 */
    .quad 0x00cf93000000ffff /* flat data */
early_gdtr:
    .word 3 * 8 - 1
    .long early_gdt
no_memory_text:
    .asciz "\n[0.000000] error boot: the image does not fit into this machine's memory\n"
no_long_mode_text:
    .asciz "\nerror: this processor has no 64-bit mode; the image cannot run\n"

    .section .noinit.tables, "aw", @nobits
    .align 4096
early_pml4:
    .skip 4096
early_pdpt:
    .skip 4096
early_pd:
    .skip 4096 * EARLY_GIB

    .section .note.GNU-stack, "", @progbits
