/* What test_conform.py can't see of epoll: how often files are asked, and what becomes of memory. */
#include "tests/host/support/net_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "lib/epoll.h"
#include "lib/fd.h"
#include "lib/page_frag.h"
#include "port/clock.h"

enum { MANY = 300 };

/* A file whose readiness the test sets, and which counts how often it is asked. */
struct lamp {
    struct file file;
    bool lit;
    unsigned asked;
};

static struct lamp lamps[MANY];

static unsigned lamp_poll(struct file *f)
{
    struct lamp *lamp = CONTAINER_OF(f, struct lamp, file);

    lamp->asked++;
    return lamp->lit ? POLLIN : 0;
}

static const struct file_ops lamp_ops = {.poll = lamp_poll};
static const struct file_ops plain_ops = {.poll = NULL};

static int lamp_open(struct lamp *lamp)
{
    *lamp = (struct lamp){.lit = false};
    file_init(&lamp->file, &lamp_ops, O_RDWR);
    return fd_install(&lamp->file, 0, false);
}

static void light(struct lamp *lamp, bool lit)
{
    lamp->lit = lit;
    file_changed(&lamp->file);
}

static int add(int set, int fd, uint32_t events)
{
    const struct epoll_event event = {.events = events, .data.fd = fd};

    return epoll_change(set, EPOLL_CTL_ADD, fd, &event);
}

static int after(void **state)
{
    assert_int_equal(fd_open_count(), 0);
    return net_fixture_after(state);
}

static void only_what_changed_is_asked(void **state)
{
    (void)state;
    const int set = epoll_open(0);
    struct epoll_event events[4];
    int fds[MANY];
    unsigned asked = 0;

    for (int i = 0; i < MANY; i++) {
        fds[i] = lamp_open(&lamps[i]);
        assert_int_equal(add(set, fds[i], EPOLLIN), 0);
    }
    for (int i = 0; i < MANY; i++)
        lamps[i].asked = 0;
    light(&lamps[7], true);
    light(&lamps[250], true);
    assert_int_equal(epoll_await(set, events, 4, 0), 2);
    assert_int_equal(events[0].data.fd, fds[7]);
    assert_int_equal(events[1].data.fd, fds[250]);
    for (int i = 0; i < MANY; i++)
        asked += lamps[i].asked;
    assert_int_equal(asked, 2);
    for (int i = 0; i < MANY; i++)
        fd_close(fds[i]);
    assert_int_equal(epoll_await(set, events, 4, 0), 0);
    fd_close(set);
}

static void a_change_that_is_over_is_not_told(void **state)
{
    (void)state;
    const int set = epoll_open(0), fd = lamp_open(&lamps[0]);
    struct epoll_event event;

    add(set, fd, EPOLLIN | EPOLLET);
    light(&lamps[0], true);
    light(&lamps[0], false);
    assert_int_equal(epoll_await(set, &event, 1, 0), 0);
    fd_close(fd);
    fd_close(set);
}

static void those_that_are_always_ready_take_turns(void **state)
{
    (void)state;
    const int set = epoll_open(0);
    struct epoll_event event;
    int fds[3];
    unsigned told[3] = {0};

    for (int i = 0; i < 3; i++) {
        fds[i] = lamp_open(&lamps[i]);
        add(set, fds[i], EPOLLIN);
        light(&lamps[i], true);
    }
    for (int round = 0; round < 9; round++) {
        assert_int_equal(epoll_await(set, &event, 1, 0), 1);
        told[event.data.fd - fds[0]]++;
    }
    assert_int_equal(told[0], 3);
    assert_int_equal(told[1], 3);
    fd_close(set);
    for (int i = 0; i < 3; i++)
        fd_close(fds[i]);
}

static void *await_one(void *arg)
{
    struct epoll_event event;

    return (void *)(intptr_t)epoll_await((int)(intptr_t)arg, &event, 1, clock_now_us() + 1000000);
}

static void one_event_wakes_one_thread(void **state)
{
    (void)state;
    const int set = epoll_open(0), fd = lamp_open(&lamps[0]);
    struct thread *t[2];
    void *value[2];

    add(set, fd, EPOLLIN | EPOLLET);
    for (int i = 0; i < 2; i++)
        t[i] = thread_create(await_one, (void *)(intptr_t)set, 0);
    thread_yield();
    light(&lamps[0], true);
    assert_int_equal(thread_ready_count(), 1);
    thread_join(t[0], &value[0]);
    light(&lamps[0], true);
    thread_join(t[1], &value[1]);
    assert_int_equal((intptr_t)value[0] + (intptr_t)value[1], 2);
    fd_close(fd);
    fd_close(set);
}

static void a_closed_set_leaves_its_files(void **state)
{
    (void)state;
    const int set = epoll_open(0), outer = epoll_open(0), fd = lamp_open(&lamps[0]);
    struct epoll_event event;

    add(set, fd, EPOLLIN);
    add(outer, set, EPOLLIN);
    light(&lamps[0], true);
    assert_int_equal(epoll_await(outer, &event, 1, 0), 1);
    fd_close(set);
    assert_int_equal(epoll_await(outer, &event, 1, 0), 0);
    assert_null(lamps[0].file.watchers);
    assert_true(waitq_empty(&lamps[0].file.waiters));
    fd_close(outer);
    fd_close(fd);
}

static void sets_are_nested_so_deep_and_no_deeper(void **state)
{
    (void)state;
    int sets[EPOLL_NESTING_MAX + 1];

    for (int i = 0; i <= EPOLL_NESTING_MAX; i++)
        sets[i] = epoll_open(0);
    for (int i = 1; i < EPOLL_NESTING_MAX; i++)
        assert_int_equal(add(sets[i], sets[i - 1], EPOLLIN), 0);
    assert_int_equal(add(sets[EPOLL_NESTING_MAX], sets[EPOLL_NESTING_MAX - 1], EPOLLIN), -ELOOP);
    assert_int_equal(add(sets[0], sets[2], EPOLLIN), -ELOOP);
    for (int i = 0; i <= EPOLL_NESTING_MAX; i++)
        fd_close(sets[i]);
}

static void what_is_always_ready_cannot_be_watched(void **state)
{
    (void)state;
    static struct file plain;
    const int set = epoll_open(0);

    file_init(&plain, &plain_ops, O_RDONLY);
    const int fd = fd_install(&plain, 0, false);

    assert_int_equal(add(set, fd, EPOLLIN), -EPERM);
    fd_close(fd);
    fd_close(set);
}

static void without_memory_nothing_is_added(void **state)
{
    (void)state;
    const int set = epoll_open(0), fd = lamp_open(&lamps[0]);

    net_fixture_exhaust(FRAG_SMALL);
    assert_int_equal(add(set, fd, EPOLLIN), -ENOMEM);
    assert_int_equal(epoll_open(0), -ENOMEM);
    net_fixture_release();
    assert_int_equal(add(set, fd, EPOLLIN), 0);
    fd_close(fd);
    fd_close(set);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, net_fixture_before, after)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(only_what_changed_is_asked),
        TEST(a_change_that_is_over_is_not_told),
        TEST(those_that_are_always_ready_take_turns),
        TEST(one_event_wakes_one_thread),
        TEST(a_closed_set_leaves_its_files),
        TEST(sets_are_nested_so_deep_and_no_deeper),
        TEST(what_is_always_ready_cannot_be_watched),
        TEST(without_memory_nothing_is_added),
    };
    return cmocka_run_group_tests(tests, net_fixture_start, NULL);
}
