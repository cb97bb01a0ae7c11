/* arch/x86_64/copy.S: every length and alignment, byte by byte. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "arch/x86_64/copy.h"

enum { LENGTH_MAX = 700, ROOM = LENGTH_MAX + 64 };

/* What lies around the target stays as it was, and no byte outside the source is needed. */
static void check(size_t len, size_t to_offset, size_t from_offset)
{
    static uint8_t target[ROOM];
    uint8_t *source = malloc(from_offset + len); /* of just that size: a read too far is seen */

    for (size_t i = 0; i < from_offset + len; i++)
        source[i] = (uint8_t)(i * 7 + len);
    memset(target, 0xee, sizeof target);
    assert_ptr_equal(copy_bytes(target + 16 + to_offset, source + from_offset, len),
                     target + 16 + to_offset);
    for (size_t i = 0; i < ROOM; i++) {
        const bool inside = i >= 16 + to_offset && i < 16 + to_offset + len;
        const uint8_t want =
            inside ? (uint8_t)((i - 16 - to_offset + from_offset) * 7 + len) : 0xee;

        if (target[i] != want)
            fail_msg("length %zu, to +%zu, from +%zu: byte %zu", len, to_offset, from_offset, i);
    }
    free(source);
}

static void check_all(void)
{
    for (size_t len = 0; len <= LENGTH_MAX; len += len < 300 ? 1 : 7) {
        for (size_t to = 0; to < 16; to += 5) {
            for (size_t from = 0; from < 16; from += 3)
                check(len, to, from);
        }
    }
}

static void every_length_is_copied_by_words(void **state)
{
    (void)state;
    copy_by_bytes = 0;
    check_all();
}

static void every_length_is_copied_by_bytes(void **state)
{
    (void)state;
    copy_by_bytes = 1;
    check_all();
    copy_by_bytes = 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_length_is_copied_by_words),
        cmocka_unit_test(every_length_is_copied_by_bytes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
