#include "apps/iperf3/watch.h"

#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include <iperf.h> /* wants <stdio.h> before it */
#include <iperf_api.h>

enum { LOOK_EVERY_S = 1, NONE = -1 };

int __real_iperf_run_server(struct iperf_test *test);
struct iperf_stream *__real_iperf_new_stream(struct iperf_test *test, int fd, int sender);
int __real_mkstemp(char *template);
int __real_select(int count, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout);
int __wrap_iperf_run_server(struct iperf_test *test);
struct iperf_stream *__wrap_iperf_new_stream(struct iperf_test *test, int fd, int sender);
int __wrap_mkstemp(char *template);
int __wrap_select(int count, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout);

/* The session that the server has now. Written by the thread that runs the server. */
static struct {
    struct iperf_test *test; /* NULL: none, or this is a client */
    int state;
    uint64_t bytes;  /* moved so far, both ways */
    int64_t moved_s; /* when something last changed */
    int64_t begun_s; /* when the streams began */
} session;

static int64_t now_s(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

int __wrap_iperf_run_server(struct iperf_test *test)
{
    session.test = test;
    session.state = NONE;
    const int result = __real_iperf_run_server(test);

    session.test = NULL;
    return result;
}

static bool is_stream(const struct iperf_test *test, int fd)
{
    const struct iperf_stream *stream;

    SLIST_FOREACH(stream, &test->streams, streams)
    {
        if (stream->socket == fd)
            return true;
    }
    return false;
}

bool watch_aborts(int fd)
{
    const struct iperf_test *test = session.test;

    /* These states end by TEST_END; whoever closes in one of them has given the client up. */
    if (!test || fd < 0 ||
        (test->state != CREATE_STREAMS && test->state != TEST_START && test->state != TEST_RUNNING))
        return false;
    return fd == test->ctrl_sck || is_stream(test, fd);
}

bool watch_refuses(int fd)
{
    const struct iperf_test *test = session.test;
    struct sockaddr_storage addr;
    socklen_t len = sizeof addr;
    int type = 0;
    socklen_t type_len = sizeof type;

    if (!test || test->ctrl_sck < 0 || fd == test->ctrl_sck || is_stream(test, fd))
        return false;
    return getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_len) == 0 && type == SOCK_STREAM &&
           getpeername(fd, (struct sockaddr *)&addr, &len) == 0;
}

/* Seconds that may pass without a byte: between two blocks of a slow paced test they are many. */
static int64_t quiet_limit_s(const struct iperf_test *test)
{
    const uint64_t rate = test->settings->rate; /* bits a second; 0: not paced */
    const uint64_t block_bits = (uint64_t)test->settings->blksize * 8;

    return WATCH_QUIET_S + (rate ? (int64_t)(block_bits / rate) : 0);
}

/* Take note of what has happened since the last look. */
static void note_progress(const struct iperf_test *test, int64_t now)
{
    const uint64_t bytes = test->bytes_sent + test->bytes_received;

    if (test->state == session.state && bytes == session.bytes)
        return;
    if (test->state == TEST_RUNNING && session.state != TEST_RUNNING)
        session.begun_s = now;
    session.state = test->state;
    session.bytes = bytes;
    session.moved_s = now;
}

static bool is_stuck(const struct iperf_test *test, int64_t now)
{
    if (now - session.moved_s >= quiet_limit_s(test))
        return true;
    return test->state == TEST_RUNNING && test->duration > 0 &&
           now - session.begun_s >= test->duration + test->omit + WATCH_LATE_S;
}

/* Only the server's main loop waits for its listener. */
static bool is_main_loop(const fd_set *r)
{
    const struct iperf_test *test = session.test;

    return test && r && test->listener >= 0 && test->ctrl_sck >= 0 && FD_ISSET(test->listener, r);
}

int __wrap_select(int count, fd_set *r, fd_set *w, fd_set *e, struct timeval *timeout)
{
    struct timeval soon = {.tv_sec = LOOK_EVERY_S};

    if (!is_main_loop(r))
        return __real_select(count, r, w, e, timeout);
    const int64_t now = now_s();

    note_progress(session.test, now);
    if (is_stuck(session.test, now))
        shutdown(session.test->ctrl_sck, SHUT_RDWR); /* the loop reads its end at once */
    if (!timeout || timeout->tv_sec >= LOOK_EVERY_S)
        timeout = &soon; /* iperf3 takes an early return for one of its timers */
    return __real_select(count, r, w, e, timeout);
}

/* ---- a stream that could not be made ---- */

static int buffer_fd = NONE; /* of the stream being made; streams are made one at a time */

int __wrap_mkstemp(char *template)
{
    buffer_fd = __real_mkstemp(template);
    return buffer_fd;
}

/* iperf3 forgets the buffer's file and the socket when memory is short. Kept open, they would be missing next time, too. */
struct iperf_stream *__wrap_iperf_new_stream(struct iperf_test *test, int fd, int sender)
{
    buffer_fd = NONE;
    struct iperf_stream *made = __real_iperf_new_stream(test, fd, sender);

    if (made)
        return made;
    if (buffer_fd >= 0 && fcntl(buffer_fd, F_GETFD) >= 0)
        close(buffer_fd);
    if (session.test)
        close(fd);
    return NULL;
}
