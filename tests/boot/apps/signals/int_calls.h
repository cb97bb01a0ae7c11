#ifndef SIGNALS_INT_CALLS_H
#define SIGNALS_INT_CALLS_H

void test_int_calls(void);

#endif
