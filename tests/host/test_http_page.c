/* apps/iperf: the status server's requests and answers, without a network. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "apps/iperf/http_page.h"
#include "apps/iperf/http_request.h"
#include "lib/counters.h"

static int parse(const char *text, struct http_request *out)
{
    *out = (struct http_request){0};
    return http_parse(text, strlen(text), out);
}

static void a_request_is_understood_when_its_empty_line_has_come(void **state)
{
    static const char text[] = "GET /metrics?x=1 HTTP/1.1\r\nHost: g\r\n\r\n";
    struct http_request r;

    (void)state;
    for (size_t len = 0; len + 1 < sizeof(text); len++)
        assert_int_equal(http_parse(text, len, &r), len + 1 == sizeof(text) ? 200 : 0);
    assert_int_equal(parse(text, &r), 200);
    assert_string_equal(r.target, "/metrics");
    assert_false(r.head);
    assert_int_equal(parse("\r\nHEAD / HTTP/1.0\n\n", &r), 200);
    assert_true(r.head);
}

static void malformed_requests_get_their_own_status(void **state)
{
    static const struct {
        const char *text;
        int status;
    } rows[] = {
        {"GET\r\n\r\n", 400},
        {"GET / \r\n\r\n", 400},
        {"GET / HTTP/1.\r\n\r\n", 400},
        {" / HTTP/1.1\r\n\r\n", 400},
        {"GET  HTTP/1.1\r\n\r\n", 400},
        {"GET http://x/ HTTP/1.1\r\n\r\n", 400},
        {"get / HTTP/1.1\r\n\r\n", 405},
        {"POST / HTTP/1.1\r\n\r\n", 405},
        {"GET / HTTP/2.0\r\n\r\n", 505},
    };
    struct http_request r;

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(rows); i++)
        assert_int_equal(parse(rows[i].text, &r), rows[i].status);
}

static void what_is_too_long_is_refused(void **state)
{
    char text[HTTP_HEAD_MAX + 1];
    struct http_request r;

    (void)state;
    memset(text, 'a', sizeof(text));
    assert_int_equal(http_parse(text, HTTP_HEAD_MAX - 1, &r), 0);
    assert_int_equal(http_parse(text, HTTP_HEAD_MAX, &r), 431);
    memcpy(text, "GET /", 5);
    memcpy(text + 5 + HTTP_TARGET_MAX, " HTTP/1.1\r\n\r\n", 14);
    assert_int_equal(parse(text, &r), 414);
    memcpy(text + 5 + HTTP_TARGET_MAX - 2, " HTTP/1.1\r\n\r\n", 14);
    assert_int_equal(parse(text, &r), 200);
    assert_int_equal(http_parse("GET /a\0b HTTP/1.1\r\n\r\n", 22, &r), 400);
}

static void no_random_bytes_do_harm(void **state)
{
    static const char alphabet[] = "GET /HEAD \r\n\r\n?HTTP/1.1";
    char text[200];
    struct http_request r;

    (void)state;
    srand(9);
    for (int round = 0; round < 200000; round++) {
        const size_t len = (size_t)rand() % sizeof(text);

        for (size_t i = 0; i < len; i++)
            text[i] = rand() % 8 ? alphabet[(size_t)rand() % (sizeof(alphabet) - 1)] : (char)rand();
        const int status = http_parse(text, len, &r);
        assert_true(status == 0 || status == 200 || (status >= 400 && status <= 505));
    }
}

static uint64_t value = 42;
static struct counter counter = {
    .name = "things_total", .labels = "kind=\"<b>\"", .help = "Things & more", .value = &value};

static const char *body_of(const struct http_text *t)
{
    const char *end = strstr(t->bytes, "\r\n\r\n");

    assert_non_null(end);
    return end + 4;
}

static void answer(struct http_text *t, int status, const char *target, bool head)
{
    *t = (struct http_text){0};
    http_answer(t, status, target, head);
    assert_false(t->failed);
    t->bytes = realloc(t->bytes, t->len + 1);
    t->bytes[t->len] = '\0';
}

static void the_length_in_the_head_is_the_length_of_the_body(void **state)
{
    static const char *const targets[] = {"/", "/metrics", "/nowhere"};

    (void)state;
    for (size_t i = 0; i < ARRAY_COUNT(targets); i++) {
        struct http_text t, head;

        answer(&t, 200, targets[i], false);
        answer(&head, 200, targets[i], true);
        const size_t length = strtoul(strstr(t.bytes, "Content-Length: ") + 16, NULL, 10);
        assert_int_equal(length, t.len - (size_t)(body_of(&t) - t.bytes));
        assert_int_equal(body_of(&head)[0], '\0');
        assert_memory_equal(t.bytes, i < 2 ? "HTTP/1.1 200 OK\r\n" : "HTTP/1.1 404 Not", 16);
        http_text_free(&t);
        http_text_free(&head);
    }
}

static void counters_stand_in_both_pages_and_are_escaped(void **state)
{
    struct http_text t;

    (void)state;
    counters_add(&counter);
    answer(&t, 200, "/metrics", false);
    assert_non_null(strstr(t.bytes, "ringlet_things_total{kind=\"<b>\"} 42\n"));
    assert_non_null(strstr(t.bytes, "# TYPE ringlet_things_total counter\n"));
    http_text_free(&t);
    answer(&t, 200, "/", false);
    assert_non_null(strstr(t.bytes, "Things &amp; more"));
    assert_non_null(strstr(t.bytes, "&lt;b>"));
    http_text_free(&t);
    counters_remove(&counter);
}

static void errors_say_what_is_allowed(void **state)
{
    struct http_text t;

    (void)state;
    answer(&t, 405, "", false);
    assert_non_null(strstr(t.bytes, "\r\nAllow: GET, HEAD\r\n"));
    assert_string_equal(body_of(&t), "405 Method Not Allowed\n");
    http_text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_understood_when_its_empty_line_has_come),
        cmocka_unit_test(malformed_requests_get_their_own_status),
        cmocka_unit_test(what_is_too_long_is_refused),
        cmocka_unit_test(no_random_bytes_do_harm),
        cmocka_unit_test(the_length_in_the_head_is_the_length_of_the_body),
        cmocka_unit_test(counters_stand_in_both_pages_and_are_escaped),
        cmocka_unit_test(errors_say_what_is_allowed),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
