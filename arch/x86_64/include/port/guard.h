/* Guard pages: memory that faults when it is touched, below a stack. */
#ifndef PORT_GUARD_H
#define PORT_GUARD_H

#include <stdbool.h>

/*
 * Unmap one page of RAM (page aligned, and the caller's own) until guard_page_clear(). False: it can't be done here,
 * or there is no memory for the page tables that it needs; then the page stays as it is.
 */
bool guard_page_set(void *page);

/* Map it again, before it is given back. */
void guard_page_clear(void *page);

#endif
