#include "port/shared.h"

void (*shared_hook)(enum shared_op op, const void *addr, uint32_t value);
