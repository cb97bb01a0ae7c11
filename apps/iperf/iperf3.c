#include "apps/iperf/iperf3.h"

#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <iperf.h> /* wants <stdio.h> before it */
#include <iperf_api.h>
#include <iperf_time.h>

#include "apps/iperf/result.h"
#include "apps/iperf3/listener.h"
#include "lib/counters.h"
#include "lib/log.h"

enum {
    STACK_BYTES = 64 * 1024,
    RECEIVE_TIMEOUT_S = 15, /* without data, where we receive */
    SEND_TIMEOUT_S = 30,    /* without an acknowledgement, where we send */
    /* The control connection: probed after so much silence, each 5 s, given up after the third. */
    KEEPALIVE_IDLE_S = 20,
    KEEPALIVE_INTERVAL_S = 5,
    KEEPALIVE_COUNT = 3,
    PEER_TEXT_MAX = 64,
};

static uint64_t tests, failed, bytes_in, bytes_out;
static struct counter counters[] = {
    {.name = "iperf3_tests_total", .help = "iperf 3 tests that ran to their end.", .value = &tests},
    {.name = "iperf3_failed_total",
     .help = "iperf 3 sessions that ended early: the client went, or asked for what can't be had.",
     .value = &failed},
    {.name = "iperf3_bytes_total",
     .labels = "direction=\"in\"",
     .help = "Bytes of iperf 3 tests, ended early or not.",
     .value = &bytes_in},
    {.name = "iperf3_bytes_total",
     .labels = "direction=\"out\"",
     .help = "Bytes of iperf 3 tests, ended early or not.",
     .value = &bytes_out},
};

static char peer[PEER_TEXT_MAX]; /* whose session this is; empty: nobody's yet */

/* ---- what iperf3 calls ---- */

static void note_peer(struct iperf_test *test)
{
    static const char mapped[] = "::ffff:"; /* the listener serves both families */
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;
    char host[48] = "?", service[8] = "?";
    const char *shown = host;

    iperf_on_connect(test);
    if (getpeername(test->ctrl_sck, (struct sockaddr *)&addr, &len) == 0)
        getnameinfo((struct sockaddr *)&addr, len, host, sizeof host, service, sizeof service,
                    NI_NUMERICHOST | NI_NUMERICSERV);
    if (strncmp(host, mapped, sizeof mapped - 1) == 0 && strchr(host, '.'))
        shown += sizeof mapped - 1;
    snprintf(peer, sizeof peer, strchr(shown, ':') ? "[%s]:%s" : "%s:%s", shown, service);
}

/* ---- one line a test ---- */

struct total {
    struct result result;
    double jitter_s;
    unsigned streams;
};

static uint64_t test_us(const struct iperf_stream_result *r)
{
    struct iperf_time begin = r->start_time_fixed, end = r->end_time, span;

    return iperf_time_compare(&begin, &end) < 0 && iperf_time_diff(&end, &begin, &span) == 0
               ? iperf_time_in_usecs(&span)
               : 0;
}

static void add_stream(struct total *total, const struct iperf_stream *stream)
{
    struct result *r = &total->result;

    r->bytes += stream->sender ? stream->result->bytes_sent : stream->result->bytes_received;
    r->us = r->us < test_us(stream->result) ? test_us(stream->result) : r->us;
    if (!r->datagrams)
        return;
    r->lost += (uint64_t)(stream->cnt_error > 0 ? stream->cnt_error : 0);
    r->total += (uint64_t)stream->packet_count;
    r->out_of_order += (uint64_t)stream->outoforder_packets;
    total->jitter_s += stream->jitter;
    total->streams++;
}

static void log_direction(struct iperf_test *test, bool sender)
{
    const bool udp = test->protocol->id == Pudp;
    struct total total = {.result = {.peer = peer,
                                     .proto = udp ? "udp" : "tcp",
                                     .direction = sender ? "out" : "in",
                                     .datagrams = udp && !sender}};
    const struct iperf_stream *stream;
    char text[RESULT_TEXT_MAX];

    SLIST_FOREACH(stream, &test->streams, streams)
    {
        if (stream->sender == sender)
            add_stream(&total, stream);
    }
    *(sender ? &bytes_out : &bytes_in) += total.result.bytes;
    if (total.streams)
        total.result.jitter_us = (uint64_t)(total.jitter_s * 1e6 / total.streams);
    result_format(text, sizeof text, &total.result);
    log_info("iperf3", "%s", text);
}

static void log_session(struct iperf_test *test, int result)
{
    const bool whole = result == 0 && test->done && test->state == IPERF_DONE;

    if (!SLIST_EMPTY(&test->streams)) {
        if (test->mode != SENDER)
            log_direction(test, false);
        if (test->mode != RECEIVER)
            log_direction(test, true);
    }
    if (whole) {
        tests++;
        return;
    }
    failed++;
    log_limited(LOG_INFO, "iperf3", "%s%s%s", peer, *peer ? ": " : "",
                result == 0 ? "the client has gone" : iperf_strerror(i_errno));
}

/* ---- the thread ---- */

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
    log_limited(LOG_WARN, "iperf3", "%s", text);
    if (pthread_equal(pthread_self(), server))
        longjmp(start_again, 1);
    pthread_exit(NULL);
}

static struct iperf_test *make_server(void)
{
    struct iperf_test *test = iperf_new_test();

    if (!test || iperf_defaults(test) < 0)
        return NULL;
    iperf_set_test_role(test, 's');
    iperf_set_test_server_port(test, PORT_IPERF3);
    /* Its tables go to the client that asks for them (--get-server-output), but not to our console. */
    iperf_set_test_logfile(test, "/dev/null");
    test->on_connect = note_peer;
    test->settings->rcv_timeout.secs = RECEIVE_TIMEOUT_S;
    test->settings->snd_timeout = SEND_TIMEOUT_S * 1000;
    test->settings->cntl_ka = 1;
    test->settings->cntl_ka_keepidle = KEEPALIVE_IDLE_S;
    test->settings->cntl_ka_interval = KEEPALIVE_INTERVAL_S;
    test->settings->cntl_ka_count = KEEPALIVE_COUNT;
    return test;
}

static void *serve(void *arg)
{
    struct iperf_test *test = arg;

    (void)setjmp(start_again);
    for (;;) {
        peer[0] = '\0';
        const int result = iperf_run_server(test);

        test->server_last_run_rc = result;
        log_session(test, result);
        iperf_reset_test(test);
        if (result < -1)
            sleep(1); /* not even listening: memory is short */
    }
    return NULL;
}

static int start_thread(struct iperf_test *test)
{
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    const int err = pthread_create(&server, &attr, serve, test);

    pthread_attr_destroy(&attr);
    return err;
}

int iperf3_start(void)
{
    struct iperf_test *test = make_server();

    for (size_t i = 0; i < ARRAY_COUNT(counters); i++)
        counters_add(&counters[i]);
    /* It warns of what clients send it by a line each; the reasons that we log say the same. */
    int err = test && freopen("/dev/null", "w", stderr) ? -listener_open(PORT_IPERF3) : ENOMEM;

    if (!err)
        err = start_thread(test);
    if (err)
        log_error("iperf", "no iperf3 on port %d: error %d", PORT_IPERF3, err);
    return -err;
}
