#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>

#include "net/dns_message.h"

enum { ID = 0x1234 };

/* An answer under construction. */
static uint8_t message[600];
static size_t length;

static void put(const void *bytes, size_t len)
{
    memcpy(message + length, bytes, len);
    length += len;
}

static void put16(unsigned value)
{
    const uint8_t bytes[2] = {(uint8_t)(value >> 8), (uint8_t)value};

    put(bytes, sizeof(bytes));
}

/* The answer's head and question: "www.example.org" at offset 12, "example.org" at 16. */
static void begin(unsigned flags, unsigned answers, enum dns_type type)
{
    length = 0;
    put16(ID);
    put16(0x8000 | flags);
    put16(1);
    put16(answers);
    put16(0);
    put16(0);
    put("\3www\7example\3org", 17);
    put16(type);
    put16(1);
}

static void record(const void *name, size_t name_len, unsigned type, const void *data, size_t len)
{
    put(name, name_len);
    put16(type);
    put16(1);
    put("\0\0\0\x3c", 4);
    put16((unsigned)len);
    put(data, len);
}

static int parse(struct dns_answer *out, enum dns_type type)
{
    return dns_answer_parse(out, message, length, ID, "www.example.org", type);
}

static void a_question_is_as_rfc_1035_has_it(void **state)
{
    (void)state;
    uint8_t out[DNS_QUERY_BYTES];
    static const uint8_t expected[] = "\x12\x34\1\0\0\1\0\0\0\0\0\0\3www\7example\3org\0\0\x1c\0\1";

    assert_int_equal(dns_question(out, ID, "www.example.org", DNS_AAAA), sizeof(expected) - 1);
    assert_memory_equal(out, expected, sizeof(expected) - 1);
    assert_int_equal(dns_question(out, ID, "www.example.org.", DNS_AAAA), sizeof(expected) - 1);
}

static void what_cannot_be_a_name_is_refused(void **state)
{
    (void)state;
    uint8_t out[DNS_QUERY_BYTES];
    char longest[260];

    assert_int_equal(dns_question(out, ID, "", DNS_A), -EINVAL);
    assert_int_equal(dns_question(out, ID, ".", DNS_A), -EINVAL);
    assert_int_equal(dns_question(out, ID, "a..b", DNS_A), -EINVAL);
    assert_int_equal(dns_question(out, ID, ".a", DNS_A), -EINVAL);
    assert_int_equal(dns_question(out, ID, "two words", DNS_A), -EINVAL);
    memset(longest, 'a', sizeof(longest));
    for (size_t i = 50; i < sizeof(longest); i += 51)
        longest[i] = '.';
    longest[253] = '\0';
    assert_int_equal(dns_question(out, ID, longest, DNS_A), 12 + 255 + 4);
    longest[253] = 'a';
    longest[254] = '\0';
    assert_int_equal(dns_question(out, ID, longest, DNS_A), -EINVAL);
    memset(longest, 'a', 64);
    longest[64] = '\0';
    assert_int_equal(dns_question(out, ID, longest, DNS_A), -EINVAL);
}

static void all_addresses_of_an_answer_are_kept(void **state)
{
    (void)state;
    struct dns_answer answer;

    begin(0, 2, DNS_A);
    record("\xc0\x0c", 2, DNS_A, "\1\2\3\4", 4);
    record("\xc0\x0c", 2, DNS_A, "\5\6\7\x8", 4);
    assert_int_equal(parse(&answer, DNS_A), 0);
    assert_int_equal(answer.addr_count, 2);
    assert_memory_equal(answer.addrs[1], "\5\6\7\x8", 4);
    assert_string_equal(answer.name, "www.example.org");
}

static void an_alias_is_followed_in_any_order(void **state)
{
    (void)state;
    struct dns_answer answer;

    begin(0, 3, DNS_A);
    record("\1z\xc0\x10", 4, DNS_A, "\1\2\3\4", 4);
    record("\1y\xc0\x10", 4, DNS_CNAME, "\1z\xc0\x10", 4);
    record("\xc0\x0c", 2, DNS_CNAME, "\1y\xc0\x10", 4);
    assert_int_equal(parse(&answer, DNS_A), 0);
    assert_int_equal(answer.addr_count, 1);
    assert_string_equal(answer.name, "z.example.org");
}

static void aliases_in_a_circle_end(void **state)
{
    (void)state;
    struct dns_answer answer;

    begin(0, 2, DNS_A);
    record("\xc0\x0c", 2, DNS_CNAME, "\1y\xc0\x10", 4);
    record("\1y\xc0\x10", 4, DNS_CNAME, "\xc0\x0c", 2);
    assert_int_equal(parse(&answer, DNS_A), -EPROTO);
}

static void other_names_and_wrong_lengths_are_left_out(void **state)
{
    (void)state;
    struct dns_answer answer;

    begin(0, 3, DNS_A);
    record("\xc0\x10", 2, DNS_A, "\1\2\3\4", 4);
    record("\xc0\x0c", 2, DNS_A, "\1\2\3\4\5", 5);
    record("\xc0\x0c", 2, DNS_AAAA, "0123456789abcdef", 16);
    assert_int_equal(parse(&answer, DNS_A), 0);
    assert_int_equal(answer.addr_count, 0);
}

static void a_reverse_answer_has_a_name(void **state)
{
    (void)state;
    struct dns_answer answer;
    char reverse[DNS_NAME_BYTES];
    static const uint8_t six[16] = {0x20, 1, [15] = 0xab};

    dns_reverse_name(reverse, (const uint8_t[]){192, 0, 2, 33}, 4);
    assert_string_equal(reverse, "33.2.0.192.in-addr.arpa");
    dns_reverse_name(reverse, six, 16);
    assert_string_equal(reverse, "b.a.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.0.1.0.0.2."
                                 "ip6.arpa");
    begin(0, 1, DNS_PTR);
    record("\xc0\x0c", 2, DNS_PTR, "\4host\xc0\x10", 7);
    assert_int_equal(parse(&answer, DNS_PTR), 0);
    assert_string_equal(answer.name, "host.example.org");
}

static void answers_to_others_are_not_ours(void **state)
{
    (void)state;
    struct dns_answer answer;

    begin(0, 0, DNS_A);
    assert_int_equal(dns_answer_parse(&answer, message, length, ID + 1, "www.example.org", DNS_A),
                     -EAGAIN);
    assert_int_equal(dns_answer_parse(&answer, message, length, ID, "www.example.com", DNS_A),
                     -EAGAIN);
    assert_int_equal(dns_answer_parse(&answer, message, length, ID, "WWW.EXAMPLE.ORG.", DNS_A), 0);
    assert_int_equal(parse(&answer, DNS_AAAA), -EAGAIN);
    message[2] = 0; /* a question */
    assert_int_equal(parse(&answer, DNS_A), -EAGAIN);
}

static void what_the_server_could_not_do_is_told(void **state)
{
    (void)state;
    struct dns_answer answer;

    begin(DNS_NXDOMAIN, 0, DNS_A);
    assert_int_equal(parse(&answer, DNS_A), 0);
    assert_int_equal(answer.rcode, DNS_NXDOMAIN);
    begin(0x200, 1, DNS_A);
    assert_int_equal(parse(&answer, DNS_A), 0);
    assert_true(answer.truncated);
}

static void pointers_lead_backwards_only(void **state)
{
    (void)state;
    struct dns_answer answer;

    begin(0, 1, DNS_A);
    const uint8_t self[2] = {0xc0, (uint8_t)length};

    record(self, 2, DNS_A, "\1\2\3\4", 4);
    assert_int_equal(parse(&answer, DNS_A), -EPROTO);
}

static void a_name_with_blanks_or_a_dot_in_a_label_is_broken(void **state)
{
    (void)state;
    struct dns_answer answer;

    begin(0, 1, DNS_PTR);
    record("\xc0\x0c", 2, DNS_PTR, "\4a\nb ", 6);
    assert_int_equal(parse(&answer, DNS_PTR), -EPROTO);
    begin(0, 1, DNS_PTR);
    record("\xc0\x0c", 2, DNS_PTR, "\3a.b", 5);
    assert_int_equal(parse(&answer, DNS_PTR), -EPROTO);
}

/* Under ASan: nothing outside the message is read. */
static void a_message_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct dns_answer answer;

    begin(0, 2, DNS_A);
    record("\xc0\x0c", 2, DNS_CNAME, "\1y\xc0\x10", 4);
    record("\1y\xc0\x10", 4, DNS_A, "\1\2\3\4", 4);
    for (size_t len = 0; len < length; len++) {
        uint8_t exact[sizeof(message)];
        uint8_t *end = exact + sizeof(exact) - len;

        memcpy(end, message, len);
        assert_true(dns_answer_parse(&answer, end, len, ID, "www.example.org", DNS_A) < 0);
    }
    assert_int_equal(parse(&answer, DNS_A), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_question_is_as_rfc_1035_has_it),
        cmocka_unit_test(what_cannot_be_a_name_is_refused),
        cmocka_unit_test(all_addresses_of_an_answer_are_kept),
        cmocka_unit_test(an_alias_is_followed_in_any_order),
        cmocka_unit_test(aliases_in_a_circle_end),
        cmocka_unit_test(other_names_and_wrong_lengths_are_left_out),
        cmocka_unit_test(a_reverse_answer_has_a_name),
        cmocka_unit_test(answers_to_others_are_not_ours),
        cmocka_unit_test(what_the_server_could_not_do_is_told),
        cmocka_unit_test(pointers_lead_backwards_only),
        cmocka_unit_test(a_name_with_blanks_or_a_dot_in_a_label_is_broken),
        cmocka_unit_test(a_message_cut_anywhere_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
