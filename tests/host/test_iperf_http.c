/* apps/iperf: the status server's requests and answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "apps/iperf/http_page.h"
#include "apps/iperf/http_reason.h"
#include "apps/iperf/http_request.h"
#include "lib/counters.h"

static int parse(const char *text, struct http_request *out)
{
    return http_parse(text, strlen(text), out);
}

static int status_of(const char *text)
{
    struct http_request request;
    return parse(text, &request);
}

/* ---- requests ---- */

static void a_request_is_complete_with_its_empty_line_and_not_before(void **state)
{
    (void)state;
    const char text[] = "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n";
    struct http_request request;
    for (size_t len = 0; len < sizeof(text) - 1; len++)
        assert_int_equal(http_parse(text, len, &request), 0);
    assert_int_equal(http_parse(text, sizeof(text) - 1, &request), 200);
    assert_string_equal(request.target, "/metrics");
    assert_false(request.head);
}

static void bare_line_feeds_and_a_leading_empty_line_are_taken(void **state)
{
    (void)state;
    assert_int_equal(status_of("GET / HTTP/1.0\n\n"), 200);
    assert_int_equal(status_of("\r\n\r\nGET / HTTP/1.0\r\n\r\n"), 200);
}

static void a_query_is_no_part_of_the_path(void **state)
{
    (void)state;
    struct http_request request;
    assert_int_equal(parse("HEAD /metrics?a=b HTTP/1.1\r\n\r\n", &request), 200);
    assert_string_equal(request.target, "/metrics");
    assert_true(request.head);
}

static void each_fault_has_its_status(void **state)
{
    (void)state;
    assert_int_equal(status_of("POST / HTTP/1.1\r\n\r\n"), 405);
    assert_int_equal(status_of("get / HTTP/1.1\r\n\r\n"), 405);
    assert_int_equal(status_of("GET / HTTP/2.0\r\n\r\n"), 505);
    assert_int_equal(status_of("GET /\r\n\r\n"), 400);
    assert_int_equal(status_of("GET x HTTP/1.1\r\n\r\n"), 400);
    assert_int_equal(status_of("GET  / HTTP/1.1\r\n\r\n"), 400);
    assert_int_equal(status_of("GET / XTTP/1.1\r\n\r\n"), 400);
    assert_int_equal(status_of(" \r\n\r\n"), 400);
    assert_int_equal(status_of("garbage\n\n"), 400);
}

static void a_nul_in_the_path_is_refused(void **state)
{
    (void)state;
    const char text[] = "GET /a\0b HTTP/1.1\r\n\r\n";
    struct http_request request;
    assert_int_equal(http_parse(text, sizeof(text) - 1, &request), 400);
}

static void a_path_that_does_not_fit_is_414(void **state)
{
    (void)state;
    char text[HTTP_TARGET_MAX + 64];
    snprintf(text, sizeof(text), "GET /%0*d HTTP/1.1\r\n\r\n", HTTP_TARGET_MAX - 2, 0);
    assert_int_equal(status_of(text), 200);
    snprintf(text, sizeof(text), "GET /%0*d HTTP/1.1\r\n\r\n", HTTP_TARGET_MAX - 1, 0);
    assert_int_equal(status_of(text), 414);
}

static void a_head_without_end_is_431(void **state)
{
    (void)state;
    static char text[HTTP_HEAD_MAX];
    struct http_request request;
    memset(text, 'a', sizeof(text));
    assert_int_equal(http_parse(text, sizeof(text) - 1, &request), 0);
    assert_int_equal(http_parse(text, sizeof(text), &request), 431);
    memset(text, '\n', sizeof(text)); /* empty lines before a request are skipped, but take room */
    assert_int_equal(http_parse(text, sizeof(text), &request), 431);
}

/* ---- answers ---- */

/* The answer as a string; the caller frees it. */
static char *answer(int status, const char *target, bool head)
{
    struct http_text t = {0};
    http_answer(&t, status, target, head);
    assert_false(t.failed);
    char *text = calloc(1, t.len + 1);
    memcpy(text, t.bytes, t.len);
    http_text_free(&t);
    return text;
}

static size_t length_told(const char *text)
{
    const char *field = strstr(text, "Content-Length: ");
    assert_non_null(field);
    return strtoul(field + 16, NULL, 10);
}

static void the_length_told_is_the_length_sent(void **state)
{
    (void)state;
    static uint64_t value = 7;
    static struct counter counter = {
        .name = "a_total", .labels = "x=\"<&>\"", .help = "Seven \"of\" <them>.", .value = &value};
    counters_add(&counter);
    const char *targets[] = {"/", "/metrics", "/nowhere"};
    for (size_t i = 0; i < ARRAY_COUNT(targets); i++) {
        char *text = answer(200, targets[i], false);
        const char *body = strstr(text, "\r\n\r\n");
        assert_non_null(body);
        assert_int_equal(strlen(body + 4), length_told(text));
        free(text);
    }
    counters_remove(&counter);
}

static void metrics_name_help_and_type(void **state)
{
    (void)state;
    static uint64_t value = 7;
    static struct counter counter = {.name = "a_total", .help = "Seven.", .value = &value};
    counters_add(&counter);
    char *text = answer(200, "/metrics", false);
    assert_int_equal(memcmp(text, "HTTP/1.1 200 OK\r\n", 17), 0);
    assert_non_null(
        strstr(text, "# HELP ringlet_a_total Seven.\n# TYPE ringlet_a_total counter\n"));
    assert_non_null(strstr(text, "\nringlet_a_total 7\n"));
    free(text);
    counters_remove(&counter);
}

static void head_has_the_same_head_and_no_body(void **state)
{
    (void)state;
    char *text = answer(200, "/metrics", true);
    assert_non_null(strstr(text, "Content-Length: "));
    assert_string_equal(strstr(text, "\r\n\r\n"), "\r\n\r\n");
    free(text);
}

static void errors_say_what_they_are(void **state)
{
    (void)state;
    const int statuses[] = {400, 404, 405, 408, 414, 431, 505};
    for (size_t i = 0; i < ARRAY_COUNT(statuses); i++) {
        char start[64];
        snprintf(start, sizeof(start), "HTTP/1.1 %d %s\r\n", statuses[i], http_reason(statuses[i]));
        char *text = answer(statuses[i], "", false);
        assert_int_equal(strncmp(text, start, strlen(start)), 0);
        assert_non_null(strstr(text, "Connection: close\r\n"));
        assert_int_equal(strstr(text, "Allow: GET, HEAD\r\n") != NULL, statuses[i] == 405);
        free(text);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_request_is_complete_with_its_empty_line_and_not_before),
        cmocka_unit_test(bare_line_feeds_and_a_leading_empty_line_are_taken),
        cmocka_unit_test(a_query_is_no_part_of_the_path),
        cmocka_unit_test(each_fault_has_its_status),
        cmocka_unit_test(a_nul_in_the_path_is_refused),
        cmocka_unit_test(a_path_that_does_not_fit_is_414),
        cmocka_unit_test(a_head_without_end_is_431),
        cmocka_unit_test(the_length_told_is_the_length_sent),
        cmocka_unit_test(metrics_name_help_and_type),
        cmocka_unit_test(head_has_the_same_head_and_no_body),
        cmocka_unit_test(errors_say_what_they_are),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
