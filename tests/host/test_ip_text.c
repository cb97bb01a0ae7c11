/* lib/ip_text.c: against the C library, on thousands of strings, and on those that fool parsers. */
#include <arpa/inet.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "lib/ip_text.h"

static bool same_ip4_as_libc(const char *text)
{
    uint8_t ours[4] = {1, 2, 3, 4}, theirs[4];
    const bool ok = ip4_parse(ours, text);
    if (ok != (inet_pton(AF_INET, text, theirs) == 1))
        return false;
    return memcmp(ours, ok ? theirs : (const uint8_t[]){1, 2, 3, 4}, 4) == 0;
}

static bool same_ip6_as_libc(const char *text)
{
    uint8_t ours[16] = {7}, theirs[16] = {7};
    const bool ok = ip6_parse(ours, text);
    if (ok != (inet_pton(AF_INET6, text, theirs) == 1))
        return false;
    return !ok || memcmp(ours, theirs, 16) == 0;
}

static void ip4_takes_four_plain_numbers_and_nothing_else(void **state)
{
    static const char *const good[] = {"0.0.0.0", "255.255.255.255", "192.0.2.1", "1.20.3.100"};
    static const char *const bad[] = {"",           ".",
                                      "1",          "1.2.3",
                                      "1.2.3.4.",   "1.2.3.4.5",
                                      ".1.2.3.4",   "1..2.3",
                                      "1.2.3.256",  "1.2.3.-4",
                                      "1.2.3.+4",   "01.2.3.4",
                                      "1.2.3.00",   "1.2.3.4 ",
                                      " 1.2.3.4",   "1.2.3.4x",
                                      "0x1.2.3.4",  "1.2.3.4/8",
                                      "1,2,3,4",    "1.2.3.4\n",
                                      "1.2.3.1000", "1.2.3.99999999999999999999",
                                      "a.b.c.d"};

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
        uint8_t addr[4];
        assert_true(ip4_parse(addr, good[i]));
        assert_true(same_ip4_as_libc(good[i]));
    }
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        uint8_t addr[4];
        assert_false(ip4_parse(addr, bad[i]));
        assert_true(same_ip4_as_libc(bad[i]));
    }
}

static void ip6_takes_the_three_forms_of_rfc_4291_and_nothing_else(void **state)
{
    static const char *const good[] = {"::",
                                       "::1",
                                       "1::",
                                       "1:2:3:4:5:6:7:8",
                                       "1:2:3:4:5:6:7::",
                                       "::2:3:4:5:6:7:8",
                                       "fe80::1",
                                       "FF02::AbCd",
                                       "0001:02:3:0:0:0:0:0",
                                       "::1.2.3.4",
                                       "::ffff:1.2.3.4",
                                       "1:2:3:4:5:6:1.2.3.4",
                                       "1::2:3.4.5.6",
                                       "1:2:3:4:5::1.2.3.4"};
    static const char *const bad[] = {"",
                                      ":",
                                      ":::",
                                      "1",
                                      "1:2:3:4:5:6:7",
                                      "1:2:3:4:5:6:7:8:9",
                                      "1:2:3:4:5:6:7:8::",
                                      "::1:2:3:4:5:6:7:8",
                                      "1:2:3:4::5:6:7:8",
                                      "1::2::3",
                                      ":1:2:3:4:5:6:7:8",
                                      "1:2:3:4:5:6:7:",
                                      "12345::",
                                      "g::",
                                      "::1%eth0",
                                      "[::1]",
                                      "::1/64",
                                      "1.2.3.4",
                                      "1.2.3.4::",
                                      "::1.2.3.4:5",
                                      "::1.2.3",
                                      "::1.2.3.256",
                                      "::01.2.3.4",
                                      "1:2:3:4:5:6:7:1.2.3.4",
                                      "1:1.2.3.4::",
                                      "1:2:3:4:5:1.2.3.4",
                                      ":: ",
                                      " ::",
                                      "::-1",
                                      "1:::2",
                                      "::1:",
                                      ":1::"};

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(good); i++) {
        uint8_t addr[16];
        assert_true(ip6_parse(addr, good[i]));
        assert_true(same_ip6_as_libc(good[i]));
    }
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        uint8_t addr[16];
        assert_false(ip6_parse(addr, bad[i]));
        assert_true(same_ip6_as_libc(bad[i]));
    }
}

static void a_refused_text_leaves_the_result_alone(void **state)
{
    uint8_t addr[16] = {9, 9, 9}, prefix = 9;

    (void)state;
    assert_false(ip4_parse(addr, "1.2.3.x"));
    assert_false(ip6_parse(addr, "1:2::x"));
    assert_false(ip4_parse_cidr(addr, &prefix, "1.2.3.4/33"));
    assert_false(ip6_parse_cidr(addr, &prefix, "1::/129"));
    assert_int_equal(addr[0] + addr[1] + addr[2] + prefix, 36);
}

static void a_prefix_is_a_plain_number_in_range(void **state)
{
    static const char *const bad4[] = {
        "1.2.3.4",     "1.2.3.4/",           "1.2.3.4/33",  "1.2.3.4/-1", "1.2.3.4/08",
        "1.2.3.4/8 ",  "1.2.3.4 /8",         "1.2.3.4/256", "/8",         "1.2.3/8",
        "1.2.3.4/8/8", "1.2.3.4/4294967304", "1.2.3.4/x"};
    uint8_t addr[16], prefix;

    (void)state;
    assert_true(ip4_parse_cidr(addr, &prefix, "10.1.2.3/0"));
    assert_int_equal(prefix, 0);
    assert_true(ip4_parse_cidr(addr, &prefix, "10.1.2.3/32"));
    assert_int_equal(prefix, 32);
    assert_memory_equal(addr, ((uint8_t[]){10, 1, 2, 3}), 4);
    for (size_t i = 0; i < ARRAY_COUNT(bad4); i++)
        assert_false(ip4_parse_cidr(addr, &prefix, bad4[i]));

    assert_true(ip6_parse_cidr(addr, &prefix, "fd00::2/64"));
    assert_int_equal(prefix, 64);
    assert_true(ip6_parse_cidr(addr, &prefix, "::1.2.3.4/128"));
    assert_int_equal(prefix, 128);
    assert_false(ip6_parse_cidr(addr, &prefix, "fd00::2"));
    assert_false(ip6_parse_cidr(addr, &prefix, "fd00::2/129"));
    assert_false(ip6_parse_cidr(addr, &prefix, "fd00:2/64"));
}

static void ip6_is_written_as_rfc_5952_says(void **state)
{
    static const struct {
        const char *in, *out;
    } cases[] = {
        {"2001:0DB8::0001", "2001:db8::1"},               /* §4.1, §4.3 */
        {"2001:db8:0:0:0:0:2:1", "2001:db8::2:1"},        /* §4.2.1 */
        {"2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"}, /* §4.2.2: not one group alone */
        {"2001:0:0:1:0:0:0:1", "2001:0:0:1::1"},          /* §4.2.3: the longest */
        {"2001:db8:0:0:1:0:0:1", "2001:db8::1:0:0:1"},    /* §4.2.3: the first of equals */
        {"0:0:1:0:0:0:0:0", "0:0:1::"},
        {"0:0:0:0:0:0:0:0", "::"},
        {"::ffff:1.2.3.4", "::ffff:1.2.3.4"}, /* §5 */
        {"::1.2.3.4", "::102:304"},
    };

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        uint8_t addr[16];
        char text[IP6_TEXT_BYTES];
        assert_true(ip6_parse(addr, cases[i].in));
        assert_int_equal(ip6_format(text, addr), strlen(cases[i].out));
        assert_string_equal(text, cases[i].out);
    }
}

/* An address with zeros where a random one has none. */
static void random_addr(uint8_t *addr, size_t len)
{
    for (size_t i = 0; i < len; i++)
        addr[i] = rand() % 3 ? 0 : (uint8_t)rand();
}

static void what_is_written_reads_back_and_equals_the_c_librarys(void **state)
{
    (void)state;
    srand(1);
    for (int i = 0; i < 20000; i++) {
        uint8_t addr[16], back[16];
        char ours[IP6_TEXT_BYTES], theirs[INET6_ADDRSTRLEN];

        random_addr(addr, 16);
        ip4_format(ours, addr);
        assert_string_equal(ours, inet_ntop(AF_INET, addr, theirs, sizeof(theirs)));
        assert_true(ip4_parse(back, ours));
        assert_memory_equal(back, addr, 4);

        ip6_format(ours, addr);
        assert_true(ip6_parse(back, ours));
        assert_memory_equal(back, addr, 16);
        /* The C library writes the deprecated ::1.2.3.4 form for some; RFC 5952 doesn't ask for it. */
        const bool compatible = memcmp(addr, (const uint8_t[12]){0}, 12) == 0;
        if (!compatible)
            assert_string_equal(ours, inet_ntop(AF_INET6, addr, theirs, sizeof(theirs)));
    }
}

static void damaged_addresses_are_judged_as_the_c_library_does(void **state)
{
    static const char letters[] = ":::...0123456789abcdefF/ %x";

    (void)state;
    srand(2);
    for (int i = 0; i < 60000; i++) {
        uint8_t addr[16];
        char text[64];
        random_addr(addr, 16);
        if (rand() % 3 == 0)
            memcpy(addr, (const uint8_t[12]){[10] = 0xff, [11] = 0xff}, 12);
        size_t len = rand() % 3 ? ip6_format(text, addr) : ip4_format(text, addr);
        for (int edits = rand() % 4; edits > 0; edits--) {
            const size_t at = (size_t)rand() % (len + 1);
            const char letter = letters[(size_t)rand() % (sizeof(letters) - 1)];
            if (rand() % 2 && at < len) {
                text[at] = letter;
            } else if (len < sizeof(text) - 2) {
                memmove(text + at + 1, text + at, len - at + 1);
                text[at] = letter;
                len++;
            }
        }
        if (!same_ip4_as_libc(text) || !same_ip6_as_libc(text))
            fail_msg("judged differently: \"%s\"", text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ip4_takes_four_plain_numbers_and_nothing_else),
        cmocka_unit_test(ip6_takes_the_three_forms_of_rfc_4291_and_nothing_else),
        cmocka_unit_test(a_refused_text_leaves_the_result_alone),
        cmocka_unit_test(a_prefix_is_a_plain_number_in_range),
        cmocka_unit_test(ip6_is_written_as_rfc_5952_says),
        cmocka_unit_test(what_is_written_reads_back_and_equals_the_c_librarys),
        cmocka_unit_test(damaged_addresses_are_judged_as_the_c_library_does),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
