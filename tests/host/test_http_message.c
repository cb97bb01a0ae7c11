/* apps/http/message.c and http_date.c: what a request means, and what is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "apps/http/http_date.h"
#include "apps/http/message.h"

static int parse(const char *text, struct message *m)
{
    return message_parse(text, strlen(text), m);
}

/* With the path, as an answer looks at it. */
static int status_of(const char *text)
{
    char path[MESSAGE_PATH_MAX];
    struct message m;
    const int status = parse(text, &m);
    const int of_path = status == 200 ? message_path(m.path, path) : 0;

    return of_path ? of_path : status;
}

static bool span_is(struct span_text t, const char *text)
{
    return t.len == strlen(text) && (t.len == 0 || memcmp(t.at, text, t.len) == 0);
}

#define GET(target, fields) "GET " target " HTTP/1.1\r\nHost: x\r\n" fields "\r\n"

static void a_request_is_complete_with_its_empty_line_and_not_before(void **state)
{
    (void)state;
    static const char text[] = GET("/a", "Accept: */*\r\n");
    struct message m;

    for (size_t len = 0; len < sizeof(text) - 1; len++)
        assert_int_equal(message_parse(text, len, &m), 0);
    assert_int_equal(message_parse(text, sizeof(text) - 1, &m), 200);
    assert_int_equal(m.head_len, sizeof(text) - 1);
    assert_true(span_is(m.path, "/a"));
    assert_true(m.keep_alive);
    assert_false(m.head_only);
}

static void versions_and_fields_decide_whether_the_connection_is_kept(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool kept;
    } cases[] = {
        {GET("/", ""), true},
        {GET("/", "Connection: close\r\n"), false},
        {GET("/", "Connection: x, Close\r\n"), false},
        {"GET / HTTP/1.0\r\n\r\n", false},
        {"GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n", true},
        {"GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n", false},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct message m;

        assert_int_equal(parse(cases[i].text, &m), 200);
        assert_int_equal(m.keep_alive, cases[i].kept);
    }
}

static void what_cannot_be_served_gets_the_right_status(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        int status;
    } cases[] = {
        {"POST / HTTP/1.1\r\nHost: x\r\n\r\n", 405},
        {"OPTIONS * HTTP/1.1\r\nHost: x\r\n\r\n", 405},
        {"BREW / HTTP/1.1\r\nHost: x\r\n\r\n", 501},
        {"get / HTTP/1.1\r\nHost: x\r\n\r\n", 501},
        {"GET / HTTP/1.1\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost : x\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x y\r\n\r\n", 400},
        {"GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n folded\r\n\r\n", 400},
        {"GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505},
        {"GET / HTTP/1.10\r\nHost: x\r\n\r\n", 505},
        {"GET /\r\n\r\n", 400},
        {"\x16\x03\x01\x02\r\n\r\n", 400},
        {GET("x", ""), 400},
        {GET("/", "Content-Length: 5, 5\r\n"), 200},
        {GET("/", "Content-Length: 5\r\nContent-Length: 6\r\n"), 400},
        {GET("/", "Content-Length: -1\r\n"), 400},
        {GET("/", "Content-Length: +1\r\n"), 400},
        {GET("/", "Content-Length: 99999999999999999999\r\n"), 400},
        {GET("/", "Content-Length: 1000000\r\n"), 413},
        {GET("/", "Transfer-Encoding: chunked\r\n"), 501},
        {GET("/", "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n"), 400},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        if (status_of(cases[i].text) != cases[i].status)
            fail_msg("case %zu: %d instead of %d", i, status_of(cases[i].text), cases[i].status);
    }
}

static void paths_are_decoded_once_and_never_leave_the_root(void **state)
{
    (void)state;
    static const struct {
        const char *target, *path;
        int status;
    } cases[] = {
        {"/", "/", 0},
        {"/a/b.txt", "/a/b.txt", 0},
        {"/a%20b", "/a b", 0},
        {"/a%2Fb", "/a/b", 0},
        {"/%252e%252e/x", "/%2e%2e/x", 0},
        {"/a/./b/../c", "/a/c", 0},
        {"/a/..", "/", 0},
        {"/a/b/..", "/a/", 0},
        {"/a/.", "/a/", 0},
        {"//a///b", "/a/b", 0},
        {"/...", "/...", 0},
        {"/..a", "/..a", 0},
        {"/\xc3\xbc", "/\xc3\xbc", 0},
        {"/..", NULL, 400},
        {"/../x", NULL, 400},
        {"/a/../../x", NULL, 400},
        {"/%2e%2e/x", NULL, 400},
        {"/.%2E/x", NULL, 400},
        {"/a/%2e%2e/%2E%2E/x", NULL, 400},
        {"/%2e%2e%2fx", NULL, 400},
        {"/%00", NULL, 400},
        {"/a%0", NULL, 400},
        {"/a%zz", NULL, 400},
        {"/%5c..%5c", "/\\..\\", 0},
        {"/%c0%ae%c0%ae/x", "/\xc0\xae\xc0\xae/x", 0}, /* overlong dots are no dots */
        {"/a/%", NULL, 400},
        {"", NULL, 400},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        char out[MESSAGE_PATH_MAX];
        char *copy = strdup(cases[i].target); /* so that a read too far is seen */
        const int status = message_path((struct span_text){copy, strlen(copy)}, out);

        free(copy);
        if (status != cases[i].status || (status == 0 && strcmp(out, cases[i].path) != 0))
            fail_msg("%s: %d %s", cases[i].target, status, status ? "" : out);
    }
}

static void a_target_is_a_path_and_a_query_after_scheme_and_host(void **state)
{
    (void)state;
    static const struct {
        const char *text, *path, *query;
    } cases[] = {
        {GET("/", ""), "/", ""},
        {GET("/a?b=/../..", ""), "/a", "?b=/../.."},
        {GET("/a#x?y", ""), "/a", ""},
        {GET("/a??", ""), "/a", "??"},
        {GET("http://host/a/b?c", ""), "/a/b", "?c"},
        {GET("HTTP://host", ""), "/", ""},
        {GET("http://host?c", ""), "/", ""},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct message m;

        assert_int_equal(parse(cases[i].text, &m), 200);
        assert_true(span_is(m.path, cases[i].path));
        assert_true(span_is(m.query, cases[i].query));
    }
    assert_int_equal(status_of(GET("*", "")), 400);
    assert_int_equal(status_of(GET("ftp://host/", "")), 400);
    assert_int_equal(status_of(GET("http://", "")), 400); /* no host */
}

static void gzip_is_taken_when_it_is_listed_and_not_ruled_out(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        bool gzip;
    } cases[] = {
        {GET("/", ""), false},
        {GET("/", "Accept-Encoding: gzip\r\n"), true},
        {GET("/", "Accept-Encoding: br;q=1.0, GZIP;q=0.8, *;q=0.1\r\n"), true},
        {GET("/", "Accept-Encoding: gzip ; q=0.001\r\n"), true},
        {GET("/", "Accept-Encoding: gzip;q=0\r\n"), false},
        {GET("/", "Accept-Encoding: gzip;q=0.000, br\r\n"), false},
        {GET("/", "Accept-Encoding: gzipped, x-gzip\r\n"), false},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct message m;

        assert_int_equal(parse(cases[i].text, &m), 200);
        assert_int_equal(m.gzip, cases[i].gzip);
    }
}

static void fields_are_known_by_their_names_in_any_case(void **state)
{
    (void)state;
    struct message m;

    assert_int_equal(
        parse(GET("/", "RANGE: bytes=1-2\r\niF-mAtch: \"a\"\r\nIf-Range: \"b\"\r\n"
                       "If-None-Match: \"c\"\r\nif-modified-since: Sun, 06 Nov 1994 08:49:37 "
                       "GMT\r\nIf-Unmodified-Since: Sun, 06 Nov 1994 08:49:38 GMT\r\n"
                       "Rangf: x\r\nConnectiom: close\r\n"),
              &m),
        200);
    assert_true(span_is(m.range, "bytes=1-2"));
    assert_true(span_is(m.if_match, "\"a\""));
    assert_true(span_is(m.if_range, "\"b\""));
    assert_true(span_is(m.if_none_match, "\"c\""));
    assert_int_equal(m.if_modified_since, 784111777);
    assert_int_equal(m.if_unmodified_since, 784111778);
    assert_true(m.keep_alive);
    for (char c = 1; c > 0; c++) { /* only a token is a name */
        char text[] = GET("/", "A?B: c\r\n");

        strchr(text, '?')[0] = c;
        const bool token = c > ' ' && c < 127 && !strchr("()<>@,;:\\\"/[]?={}", c);
        if (c != ':')
            assert_int_equal(status_of(text), token ? 200 : 400);
    }
}

static void what_is_too_long_is_told_so(void **state)
{
    (void)state;
    static char text[MESSAGE_HEAD_MAX + 100];
    struct message m;

    memset(text, 'a', sizeof(text));
    memcpy(text, "GET /", 5);
    assert_int_equal(message_parse(text, MESSAGE_HEAD_MAX - 1, &m), 0);
    assert_int_equal(message_parse(text, MESSAGE_HEAD_MAX, &m), 414);
    memcpy(text, "GET / HTTP/1.1\r\nX: ", 19);
    assert_int_equal(message_parse(text, MESSAGE_HEAD_MAX, &m), 431);
    snprintf(text, sizeof(text), "GET /%0*d HTTP/1.1\r\nHost: x\r\n\r\n", MESSAGE_PATH_MAX, 0);
    assert_int_equal(status_of(text), 414);

    size_t len = (size_t)snprintf(text, sizeof(text), "GET / HTTP/1.1\r\nHost: x\r\n");

    for (int i = 0; i < MESSAGE_FIELDS_MAX; i++)
        len += (size_t)snprintf(text + len, sizeof(text) - len, "A%d: b\r\n", i);
    snprintf(text + len, sizeof(text) - len, "\r\n");
    assert_int_equal(parse(text, &m), 431);
}

static void ranges_are_cut_to_the_file(void **state)
{
    (void)state;
    static const struct {
        const char *field;
        uint64_t size;
        enum range_kind kind;
        uint64_t first, last;
    } cases[] = {
        {"bytes=0-0", 10, RANGE_ONE, 0, 0},
        {"bytes=2-5", 10, RANGE_ONE, 2, 5},
        {"bytes=2-", 10, RANGE_ONE, 2, 9},
        {"bytes=2-99", 10, RANGE_ONE, 2, 9},
        {"bytes=-3", 10, RANGE_ONE, 7, 9},
        {"bytes=-30", 10, RANGE_ONE, 0, 9},
        {"bytes=10-", 10, RANGE_OUTSIDE, 0, 0},
        {"bytes=-0", 10, RANGE_OUTSIDE, 0, 0},
        {"bytes=0-", 0, RANGE_OUTSIDE, 0, 0},
        {"bytes=5-2", 10, RANGE_NONE, 0, 0},
        {"bytes=1-2,4-5", 10, RANGE_NONE, 0, 0},
        {"bytes=x-2", 10, RANGE_NONE, 0, 0},
        {"bytes=1", 10, RANGE_NONE, 0, 0},
        {"bytes=-", 10, RANGE_NONE, 0, 0},
        {"lines=1-2", 10, RANGE_NONE, 0, 0},
        {"bytes=99999999999999999999-", 10, RANGE_NONE, 0, 0},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        uint64_t first = 0, last = 0;
        const struct span_text field = {cases[i].field, strlen(cases[i].field)};

        if (message_range(field, cases[i].size, &first, &last) != cases[i].kind)
            fail_msg("%s", cases[i].field);
        if (cases[i].kind == RANGE_ONE) {
            assert_int_equal(first, cases[i].first);
            assert_int_equal(last, cases[i].last);
        }
    }
}

static bool listed(const char *list, const char *etag, bool weak)
{
    return message_etag_listed((struct span_text){list, strlen(list)}, etag, weak);
}

static void entity_tags_are_compared_strongly_or_weakly(void **state)
{
    (void)state;
    assert_true(listed("\"a\"", "\"a\"", false));
    assert_true(listed("\"x,y\" , \"a\"", "\"a\"", false));
    assert_true(listed("*", "\"a\"", false));
    assert_true(listed("W/\"a\"", "\"a\"", true));
    assert_false(listed("W/\"a\"", "\"a\"", false));
    assert_false(listed("\"ab\"", "\"a\"", true));
    assert_false(listed("a", "\"a\"", true));
    assert_false(listed("", "\"a\"", true));
}

static void dates_are_read_in_all_three_forms_and_written_in_one(void **state)
{
    (void)state;
    static const char *const forms[] = {"Sun, 06 Nov 1994 08:49:37 GMT",
                                        "Sunday, 06-Nov-94 08:49:37 GMT",
                                        "Sun Nov  6 08:49:37 1994"};
    static const char *const wrong[] = {"",
                                        "yesterday",
                                        "Sun, 06 Nov 1994 08:49:37",
                                        "Sun, 32 Nov 1994 08:49:37 GMT",
                                        "Sun, 06 Foo 1994 08:49:37 GMT",
                                        "Sun, 06 Nov 1994 25:49:37 GMT",
                                        "Sun, 06 Nov 1994 08:49:37 GMT and more"};
    char text[HTTP_DATE_BYTES];

    for (size_t i = 0; i < ARRAY_COUNT(forms); i++)
        assert_int_equal(http_date_parse(forms[i], strlen(forms[i])), 784111777);
    for (size_t i = 0; i < ARRAY_COUNT(wrong); i++)
        assert_int_equal(http_date_parse(wrong[i], strlen(wrong[i])), -1);
    for (time_t when = 0; when < 4000000000; when += 86399 * 37) {
        http_date_format(when, text);
        assert_int_equal(http_date_parse(text, strlen(text)), when);
    }
    http_date_format(784111777, text);
    assert_string_equal(text, "Sun, 06 Nov 1994 08:49:37 GMT");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_complete_with_its_empty_line_and_not_before),
        cmocka_unit_test(versions_and_fields_decide_whether_the_connection_is_kept),
        cmocka_unit_test(what_cannot_be_served_gets_the_right_status),
        cmocka_unit_test(paths_are_decoded_once_and_never_leave_the_root),
        cmocka_unit_test(a_target_is_a_path_and_a_query_after_scheme_and_host),
        cmocka_unit_test(gzip_is_taken_when_it_is_listed_and_not_ruled_out),
        cmocka_unit_test(fields_are_known_by_their_names_in_any_case),
        cmocka_unit_test(what_is_too_long_is_told_so),
        cmocka_unit_test(ranges_are_cut_to_the_file),
        cmocka_unit_test(entity_tags_are_compared_strongly_or_weakly),
        cmocka_unit_test(dates_are_read_in_all_three_forms_and_written_in_one),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
