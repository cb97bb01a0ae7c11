/* The switch itself is plain System V code: the host uses the image's. */
#include "arch/x86_64/include/port/context.h"
