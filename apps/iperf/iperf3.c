#include "apps/iperf/iperf3.h"

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <iperf_api.h>

#include "lib/counters.h"
#include "lib/log.h"
#include "lib/types.h"

enum { STACK_BYTES = 128 * 1024, RETRY_S = 1 };

static uint64_t tests, failures;
static struct counter counters[] = {
    {.name = "iperf3_tests_total",
     .help = "Tests that iperf3 served to their end.",
     .value = &tests},
    {.name = "iperf3_failures_total", .help = "Tests that iperf3 gave up.", .value = &failures},
};

/* Its reports go nowhere: they would flood the console. The client can have them by --get-server-output. */
static char keepalive[] = "--cntl-ka=25/5/4"; /* iperf3 takes it apart in place */
static char *arguments[] = {"iperf3",        "-s",        "--rcv-timeout",  "15000",
                            "--snd-timeout", "30000",     "--idle-timeout", "60",
                            keepalive,       "--logfile", "/dev/null",      NULL};

static pthread_t server;
static jmp_buf start_again;

void __wrap_iperf_errexit(struct iperf_test *test, const char *format, ...);

/* The library ends the program when it doesn't know how to go on. The image has other servers. */
void __wrap_iperf_errexit(struct iperf_test *test, const char *format, ...)
{
    char text[128];
    va_list args;

    (void)test;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    log_warn("iperf", "iperf3: %s", text);
    if (pthread_equal(pthread_self(), server))
        longjmp(start_again, 1);
    pthread_exit(NULL);
}

static struct iperf_test *new_test(void)
{
    struct iperf_test *test = iperf_new_test();

    if (test && (iperf_defaults(test) ||
                 iperf_parse_arguments(test, (int)ARRAY_COUNT(arguments) - 1, arguments) ||
                 iperf_open_logfile(test))) {
        iperf_free_test(test);
        test = NULL;
    }
    return test;
}

static void serve_one(struct iperf_test *test)
{
    const int result = iperf_run_server(test);

    if (result < 0) {
        failures++;
        log_limited(LOG_INFO, "iperf", "iperf3: a test was given up: %s", iperf_strerror(i_errno));
    } else {
        tests++;
        log_info("iperf", "iperf3: a test of %d streams, %s", iperf_get_test_num_streams(test),
                 iperf_get_test_bidirectional(test) ? "both ways"
                 : iperf_get_test_reverse(test)     ? "from here"
                                                    : "to here");
    }
    iperf_reset_test(test);
}

static void *run(void *unused)
{
    (void)unused;
    signal(SIGPIPE, SIG_IGN);
    (void)setjmp(start_again);
    for (;;) {
        struct iperf_test *test = new_test();

        if (!test) {
            log_limited(LOG_WARN, "iperf", "iperf3: no memory");
            sleep(RETRY_S);
        }
        while (test)
            serve_one(test);
    }
    return NULL;
}

int iperf3_start(void)
{
    pthread_attr_t attr;

    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    const int err = pthread_create(&server, &attr, run, NULL);

    pthread_attr_destroy(&attr);
    if (err)
        log_error("iperf", "no memory for iperf3");
    return -err;
}
