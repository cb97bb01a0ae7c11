/*
 * The crash block: reason, registers, backtrace, counters; then the image ends with status 70.
 *
 * Formats by hand and allocates nothing, since printf or malloc may be what broke. What is read to
 * make the backtrace is looked up in the page tables first. A fault while the block is being written
 * gets one line; a fault while that is written ends the machine without a word.
 */
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "arch/x86_64/cpu_regs.h"
#include "arch/x86_64/descriptors.h"
#include "arch/x86_64/paging.h"
#include "lib/check.h"
#include "lib/console.h"
#include "lib/counters.h"
#include "lib/image_end.h"
#include "lib/symbols.h"
#include "lib/thread.h"
#include "lib/types.h"
#include "port/power.h"

enum { BACKTRACE_MAX = 32, STACK_JUMPS_MAX = 2, REASON_MAX = 200 };

/* Page-fault error bits, SDM vol. 3A §4.7. */
enum { FAULT_PRESENT = 1, FAULT_WRITE = 2, FAULT_RESERVED = 8, FAULT_EXECUTE = 16 };

void crash_exception(const struct trap_frame *frame);

extern const struct symbol_table symbol_table;
extern uint8_t image_start[], text_end[], nmi_stack_top[];

static const char *const exception_names[] = {
    "divide error",
    "debug",
    "non-maskable interrupt",
    "breakpoint",
    "overflow",
    "bound exceeded",
    "invalid instruction",
    "no x87 unit",
    "double fault",
    "coprocessor overrun",
    "invalid TSS",
    "segment not present",
    "stack fault",
    "general protection",
    "page fault",
    "reserved (15)",
    "x87 error",
    "misaligned access",
    "machine check",
    "SIMD error",
};

static char panic_reason[REASON_MAX];

void panic(const char *fmt, ...)
{
    /* A second panic on top of the first keeps the first one's words. */
    if (panic_reason[0] == '\0') {
        va_list args;
        va_start(args, fmt);
        vsnprintf(panic_reason, sizeof(panic_reason), fmt, args);
        va_end(args);
        if (panic_reason[0] == '\0')
            panic_reason[0] = '?';
    }
    __builtin_trap(); /* the processor takes the registers down for us */
}

static void put_hex(uint64_t v, unsigned digits)
{
    char text[17];
    for (unsigned i = digits; i-- > 0; v >>= 4)
        text[i] = "0123456789abcdef"[v & 15];
    console_write(text, digits);
}

static void put_decimal(uint64_t v)
{
    char text[20];
    size_t at = sizeof(text);
    do {
        text[--at] = (char)('0' + v % 10);
        v /= 10;
    } while (v != 0);
    console_write(text + at, sizeof(text) - at);
}

static const char *stack_guarded_at(uint64_t addr)
{
    const struct paging_guard *guards;
    const size_t count = paging_guards(&guards);
    for (size_t i = 0; i < count; i++) {
        if (addr - guards[i].addr < PAGING_SMALL)
            return guards[i].stack;
    }
    return NULL;
}

/* The stack of the image that `sp` is in, or has just run over: its guard's index. -1: none, so it's a thread's or lost. */
static int stack_in_use(uint64_t sp)
{
    const struct paging_guard *guards;
    int idx = (int)paging_guards(&guards) - 1;

    if (sp > (uintptr_t)nmi_stack_top)
        return -1;
    while (idx >= 0 && sp < guards[idx].addr)
        idx--;
    return idx;
}

/*
 * The stack that ran over by touching `addr`, or NULL. Only the one in use can: a program that writes upwards past the end of its
 * stack meets the next one's guard, too. A stack pointer below all of them left the main stack with a frame that nobody probed.
 */
static const char *stack_overrun_at(uint64_t addr, uint64_t sp)
{
    const struct paging_guard *guards;
    const int used = stack_in_use(sp);

    (void)paging_guards(&guards);
    const char *stack = guards[used < 0 ? 0 : used].stack;

    return sp <= (uintptr_t)nmi_stack_top && stack_guarded_at(addr) == stack ? stack : NULL;
}

static void put_page_fault(const struct trap_frame *frame)
{
    const uint64_t error = frame->error;
    const uint64_t addr = cr2_read();
    const char *stack = stack_overrun_at(addr, frame->rsp);
    const bool in_image = stack_in_use(frame->rsp) >= 0;
    const size_t overrun = in_image ? 0 : thread_stack_overrun(addr, frame->rsp);
    if (overrun) {
        console_puts("stack overflow: a thread needs more than its ");
        put_decimal(overrun);
        console_puts(" bytes; ");
    } else if (stack) {
        console_puts("stack overflow: the ");
        console_puts(stack);
        console_puts(" stack is used up; ");
    } else if (addr < PAGING_SMALL) {
        console_puts("NULL pointer: ");
    }
    console_puts("page fault: ");
    console_puts(error & FAULT_EXECUTE ? "executing "
                 : error & FAULT_WRITE ? "writing "
                                       : "reading ");
    put_hex(addr, 16);
    console_puts(error & FAULT_RESERVED  ? ", broken page table"
                 : error & FAULT_PRESENT ? ", not allowed"
                                         : ", not mapped");
}

static void put_reason(const struct trap_frame *frame)
{
    if (panic_reason[0] != '\0') {
        console_puts(panic_reason);
        return;
    }
    if (frame->vector == VECTOR_PAGE_FAULT) {
        put_page_fault(frame);
        return;
    }
    console_puts(frame->vector < ARRAY_COUNT(exception_names) ? exception_names[frame->vector]
                                                              : "exception");
    if (frame->vector == VECTOR_DOUBLE_FAULT && stack_guarded_at(cr2_read()))
        console_puts(" (stack overflow)");
    console_puts(", vector ");
    put_decimal(frame->vector);
    console_puts(", error code ");
    put_hex(frame->error, 8);
}

static void put_registers(const struct trap_frame *f)
{
    const struct {
        const char *name;
        uint64_t value;
    } regs[] = {
        {"rip", f->rip}, {"rsp", f->rsp}, {"rbp", f->rbp}, {"rfl", f->rflags},  {"rax", f->rax},
        {"rbx", f->rbx}, {"rcx", f->rcx}, {"rdx", f->rdx}, {"rsi", f->rsi},     {"rdi", f->rdi},
        {"r8 ", f->r8},  {"r9 ", f->r9},  {"r10", f->r10}, {"r11", f->r11},     {"r12", f->r12},
        {"r13", f->r13}, {"r14", f->r14}, {"r15", f->r15}, {"cr2", cr2_read()}, {"cr3", cr3_read()},
    };
    for (size_t i = 0; i < ARRAY_COUNT(regs); i++) {
        console_puts(regs[i].name);
        console_puts(" ");
        put_hex(regs[i].value, 16);
        console_puts(i % 4 == 3 ? "\n" : "  ");
    }
}

static bool is_code(uint64_t addr)
{
    return addr >= (uintptr_t)image_start && addr <= (uintptr_t)text_end;
}

/* `call_site` false: addr is where the instruction stands; true: where a call returns to, so that the name
 * must be looked up one byte earlier (a call may be a function's last instruction). */
static void put_code_address(uint64_t addr, bool call_site)
{
    console_puts("  ");
    put_hex(addr, 16);
    size_t offset = 0;
    const char *name = NULL;
    if (is_code(addr))
        name = symbol_find(&symbol_table, addr - call_site, &offset);
    if (name) {
        console_puts(" ");
        console_puts(name);
        console_puts("+");
        put_decimal(offset + call_site);
    }
    console_puts("\n");
}

/* A leaf function, or one stopped before it made its frame, leaves its return address on top of the stack
 * where no frame pointer leads to it. It may also be something else that looks like one. */
static void put_caller_guess(const struct trap_frame *frame)
{
    if (frame->rsp % 8 != 0 || !paging_is_mapped(frame->rsp, 8))
        return;
    const uint64_t top = *(const uint64_t *)(uintptr_t)frame->rsp;
    if (is_code(top)) {
        console_puts("?");
        put_code_address(top, true);
    }
}

static void put_backtrace(const struct trap_frame *frame)
{
    console_puts("backtrace:\n");
    put_code_address(frame->rip, false);
    put_caller_guess(frame);

    uint64_t fp = frame->rbp, last = 0;
    unsigned jumps = 0;
    for (int i = 0; i < BACKTRACE_MAX; i++) {
        if (fp % 8 != 0 || !paging_is_mapped(fp, 16))
            return;
        /* Callers' frames lie higher, except from an interrupt's stack to the interrupted one. */
        if (fp <= last && ++jumps > STACK_JUMPS_MAX)
            return;
        const uint64_t *pair = (const uint64_t *)(uintptr_t)fp;
        if (pair[1] == 0)
            return;
        put_code_address(pair[1], true);
        last = fp;
        fp = pair[0];
    }
}

static void put_counter(void *arg, const struct counter *c, uint64_t value)
{
    (void)arg;
    if (value == 0)
        return;
    console_puts("  ");
    console_puts(c->name);
    if (c->labels && c->labels[0] != '\0') {
        console_puts("{");
        console_puts(c->labels);
        console_puts("}");
    }
    console_puts(" ");
    put_decimal(value);
    console_puts("\n");
}

static void put_block(const struct trap_frame *frame)
{
    console_fresh_line();
    console_puts("---- crash: ");
    put_reason(frame);
    console_puts("\n");
    put_registers(frame);
    put_backtrace(frame);
    console_puts("counters that are not 0:\n");
    counters_each(put_counter, NULL);
    console_puts("---- end of crash\n");
}

/* From isr.S, with interrupts off, on the crash stack. */
void crash_exception(const struct trap_frame *frame)
{
    static volatile unsigned depth;

    switch (depth++) {
    case 0:
        put_block(frame);
        break;
    case 1:
        console_fresh_line();
        console_puts("---- another fault while writing this, vector ");
        put_decimal(frame->vector);
        console_puts(", rip ");
        put_hex(frame->rip, 16);
        console_puts("\n---- end of crash\n");
        break;
    default:
        power_end(EXIT_CRASH);
    }
    image_end(EXIT_CRASH);
}
