/*
 * Memory and lwIP for tests of net/: started once a process, checked around every test.
 *
 * A test that ends with more frags outstanding than it began with has leaked a buffer, and fails.
 */
#ifndef TESTS_NET_FIXTURE_H
#define TESTS_NET_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

enum { NET_FIXTURE_BYTES = 16 * 1024 * 1024 };

/* cmocka group setup: 16 MiB for page_alloc; lwIP started. */
int net_fixture_start(void **state);

/* The same for tests that make connections' control blocks by hand. */
int net_fixture_start_tcp(void **state);

/* cmocka per-test setup and teardown. */
int net_fixture_before(void **state);
int net_fixture_after(void **state);

/* Frags in use now. */
uint64_t net_fixture_outstanding(void);

/* Take frags until none is left at this urgency; give them back with net_fixture_release(). */
void net_fixture_exhaust(int urgency);
void net_fixture_release(void);

#define NET_TEST(name) cmocka_unit_test_setup_teardown(name, net_fixture_before, net_fixture_after)

#endif
