#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "lib/fd.h"
#include "lib/page_alloc.h"
#include "port/clock.h"

enum { ARENA_BYTES = 16 * 1024 * 1024 };

/* A file with one byte in it, or none. */
struct box {
    struct file file;
    bool full;
    char content;
    int closed;
};

static struct box *box_of(struct file *f)
{
    return CONTAINER_OF(f, struct box, file);
}

static ssize_t box_read(struct file *f, const struct iovec *iov, size_t iov_count)
{
    struct iov_pos pos = {iov, iov_count, 0};
    struct box *box = box_of(f);

    if (!box->full)
        return -EAGAIN;
    box->full = false;
    return (ssize_t)iov_put(&pos, &box->content, 1);
}

static ssize_t box_write(struct file *f, const struct iovec *iov, size_t iov_count)
{
    struct iov_pos pos = {iov, iov_count, 0};
    struct box *box = box_of(f);
    const size_t took = iov_take(&pos, &box->content, 1);

    box->full = took > 0;
    file_changed(f);
    return (ssize_t)took;
}

static unsigned box_poll(struct file *f)
{
    return box_of(f)->full ? POLLIN : POLLOUT;
}

static int box_close(struct file *f)
{
    return ++box_of(f)->closed ? -EIO : 0;
}

static const struct file_ops box_ops = {
    .read = box_read, .write = box_write, .poll = box_poll, .close = box_close};

static struct box box_new(void)
{
    struct box box = {0};

    file_init(&box.file, &box_ops, O_RDWR);
    return box;
}

static int setup(void **state)
{
    (void)state;
    uint8_t *arena = aligned_alloc(PAGE_BYTES, ARENA_BYTES);
    const struct page_range range = {(uintptr_t)arena, (uintptr_t)arena + ARENA_BYTES};

    return page_init(&range, 1);
}

static int nothing_is_left_open(void **state)
{
    (void)state;
    assert_int_equal(fd_open_count(), 0);
    return 0;
}

static void the_lowest_free_number_is_given(void **state)
{
    (void)state;
    struct box box = box_new();

    for (int i = 0; i < 200; i++)
        assert_int_equal(fd_install(file_ref(&box.file), 0, false), i);
    fd_close(130);
    fd_close(5);
    assert_int_equal(fd_install(file_ref(&box.file), 0, false), 5);
    assert_int_equal(fd_install(file_ref(&box.file), 0, false), 130);
    assert_int_equal(fd_install(file_ref(&box.file), 0, false), 200);
    for (int i = 0; i <= 200; i++)
        assert_int_equal(fd_close(i), 0);
    assert_int_equal(box.closed, 0);
    assert_int_equal(file_put(&box.file), -EIO);
    assert_int_equal(box.closed, 1);
}

static void the_table_is_full_at_its_limit(void **state)
{
    (void)state;
    struct box box = box_new();
    int fd, count = 0;

    while ((fd = fd_install(&box.file, 0, false)) >= 0) {
        file_ref(&box.file);
        count++;
    }
    assert_int_equal(fd, -EMFILE);
    assert_int_equal(count, fd_limit());
    assert_true(count >= 1024);
    for (int i = 0; i < count; i++)
        fd_close(i);
}

static void a_closed_or_wrong_number_is_ebadf(void **state)
{
    (void)state;
    char c;
    struct stat st;

    assert_int_equal(fd_read(0, &c, 1), -EBADF);
    assert_int_equal(fd_write(-1, &c, 1), -EBADF);
    assert_int_equal(fd_close(99999), -EBADF);
    assert_int_equal(fd_dup(7, 0, false), -EBADF);
    assert_int_equal(fd_dup2(7, 8), -EBADF);
    assert_int_equal(fd_get_flags(7), -EBADF);
    assert_int_equal(fd_stat(7, &st), -EBADF);
    assert_int_equal(fd_isatty(7), -EBADF);
    assert_int_equal(fd_ioctl(7, FIONBIO, NULL), -EBADF);
}

static void dup_shares_the_file_and_its_flags(void **state)
{
    (void)state;
    struct box box = box_new();
    const int fd = fd_install(&box.file, 0, true);
    const int copy = fd_dup(fd, 10, false);

    assert_int_equal(copy, 10);
    assert_int_equal(fd_get_cloexec(fd), 1);
    assert_int_equal(fd_get_cloexec(copy), 0);
    assert_int_equal(fd_set_flags(copy, O_NONBLOCK), 0);
    assert_int_equal(fd_get_flags(fd), O_RDWR | O_NONBLOCK);
    fd_close(fd);
    assert_int_equal(fd_write(copy, "x", 1), 1);
    fd_close(copy);
    assert_int_equal(box.closed, 1);
}

static void dup2_closes_what_was_there(void **state)
{
    (void)state;
    struct box a = box_new(), b = box_new();
    const int fd = fd_install(&a.file, 0, false);

    fd_install(&b.file, 0, false);
    assert_int_equal(fd_dup2(fd, 1), 1);
    assert_int_equal(b.closed, 1);
    assert_int_equal(fd_dup2(fd, fd), fd);
    assert_int_equal(fd_dup2(fd, 500), 500);
    assert_int_equal(fd_dup2(fd, -1), -EBADF);
    fd_close(0);
    fd_close(1);
    assert_int_equal(a.closed, 0);
    fd_close(500);
    assert_int_equal(a.closed, 1);
}

static void access_modes_are_kept(void **state)
{
    (void)state;
    struct box box = box_new();
    char c;

    box.file.flags = O_RDONLY;
    const int fd = fd_install(&box.file, 0, false);

    assert_int_equal(fd_write(fd, "x", 1), -EBADF);
    box.file.flags = O_WRONLY;
    assert_int_equal(fd_read(fd, &c, 1), -EBADF);
    fd_close(fd);
}

static void fionbio_sets_and_clears_nonblock(void **state)
{
    (void)state;
    struct box box = box_new();
    const int fd = fd_install(&box.file, 0, false);
    int on = 1;

    assert_int_equal(fd_ioctl(fd, FIONBIO, &on), 0);
    assert_int_equal(fd_get_flags(fd) & O_NONBLOCK, O_NONBLOCK);
    on = 0;
    assert_int_equal(fd_ioctl(fd, FIONBIO, &on), 0);
    assert_int_equal(fd_get_flags(fd) & O_NONBLOCK, 0);
    assert_int_equal(fd_ioctl(fd, FIONREAD, &on), -ENOTTY);
    fd_close(fd);
}

static void wrong_iovecs_are_einval(void **state)
{
    (void)state;
    struct box box = box_new();
    const int fd = fd_install(&box.file, 0, false);
    const struct iovec huge[2] = {{NULL, SIZE_MAX / 2}, {NULL, SIZE_MAX / 2}};

    assert_int_equal(fd_readv(fd, huge, 2), -EINVAL);
    assert_int_equal(fd_readv(fd, huge, 0), -EINVAL);
    assert_int_equal(fd_writev(fd, huge, -1), -EINVAL);
    assert_int_equal(fd_writev(fd, huge, FD_IOV_MAX + 1), -EINVAL);
    fd_close(fd);
}

static void iovecs_are_filled_and_emptied_piece_by_piece(void **state)
{
    (void)state;
    char a[3], b[4], back[8] = "";
    const struct iovec iov[] = {{a, 3}, {NULL, 0}, {b, 4}};
    struct iov_pos pos = {iov, 3, 0};

    assert_int_equal(iov_bytes(iov, 3), 7);
    assert_int_equal(iov_put(&pos, "12345", 5), 5);
    assert_int_equal(iov_put(&pos, "6789", 4), 2);
    assert_memory_equal(a, "123", 3);
    assert_memory_equal(b, "4567", 4);
    pos = (struct iov_pos){iov, 3, 0};
    assert_int_equal(iov_take(&pos, back, 8), 7);
    assert_string_equal(back, "1234567");
}

static void poll_tells_what_is_ready(void **state)
{
    (void)state;
    struct box box = box_new();
    const int fd = fd_install(&box.file, 0, false);
    struct pollfd fds[3] = {{fd, POLLIN, 0}, {-1, POLLIN, 9}, {77, POLLIN, 0}};

    assert_int_equal(fd_poll(fds, 3, 0), 1);
    assert_int_equal(fds[0].revents, 0);
    assert_int_equal(fds[1].revents, 0);
    assert_int_equal(fds[2].revents, POLLNVAL);
    fds[0].events = POLLIN | POLLOUT;
    assert_int_equal(fd_poll(fds, 1, 0), 1);
    assert_int_equal(fds[0].revents, POLLOUT);
    fd_close(fd);
}

static void *write_later(void *arg)
{
    thread_sleep_until(clock_now_us() + 2000);
    fd_write((int)(intptr_t)arg, "x", 1);
    return NULL;
}

static void poll_waits_for_any_of_many(void **state)
{
    (void)state;
    struct box boxes[100];
    struct pollfd fds[100];

    for (int i = 0; i < 100; i++) {
        boxes[i] = box_new();
        fds[i] = (struct pollfd){fd_install(&boxes[i].file, 0, false), POLLIN, 0};
    }
    struct thread *t = thread_create(write_later, (void *)63, 0);

    assert_int_equal(fd_poll(fds, 100, THREAD_NO_DEADLINE), 1);
    assert_int_equal(fds[63].revents, POLLIN);
    thread_join(t, NULL);
    for (int i = 0; i < 100; i++) {
        assert_true(waitq_empty(&boxes[i].file.waiters));
        fd_close(fds[i].fd);
    }
}

static void poll_ends_at_its_deadline(void **state)
{
    (void)state;
    struct box box = box_new();
    struct pollfd p = {fd_install(&box.file, 0, false), POLLIN, 0};
    const uint64_t deadline = clock_now_us() + 2000;

    assert_int_equal(fd_poll(&p, 1, deadline), 0);
    assert_true(clock_now_us() >= deadline);
    fd_close(p.fd);
}

static void *close_it(void *arg)
{
    fd_close((int)(intptr_t)arg);
    return NULL;
}

static void a_file_outlives_its_descriptor_while_somebody_polls_it(void **state)
{
    (void)state;
    struct box box = box_new();
    struct pollfd p = {fd_install(&box.file, 0, false), POLLIN, 0};
    struct thread *t = thread_create(close_it, (void *)(intptr_t)p.fd, 0);

    assert_int_equal(fd_poll(&p, 1, clock_now_us() + 2000), 0);
    assert_int_equal(box.closed, 1);
    thread_join(t, NULL);
}

#define TEST(name) cmocka_unit_test_teardown(name, nothing_is_left_open)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(the_lowest_free_number_is_given),
        TEST(the_table_is_full_at_its_limit),
        TEST(a_closed_or_wrong_number_is_ebadf),
        TEST(dup_shares_the_file_and_its_flags),
        TEST(dup2_closes_what_was_there),
        TEST(access_modes_are_kept),
        TEST(fionbio_sets_and_clears_nonblock),
        TEST(wrong_iovecs_are_einval),
        TEST(iovecs_are_filled_and_emptied_piece_by_piece),
        TEST(poll_tells_what_is_ready),
        TEST(poll_waits_for_any_of_many),
        TEST(poll_ends_at_its_deadline),
        TEST(a_file_outlives_its_descriptor_while_somebody_polls_it),
    };
    return cmocka_run_group_tests(tests, setup, NULL);
}
