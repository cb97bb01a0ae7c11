#include "tests/host/support/net_fixture.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/eventfd.h>

#include "lib/byte_ring.h"
#include "lib/eventfd.h"
#include "lib/page_frag.h"
#include "lib/pipe.h"

static int before(void **state)
{
    return net_fixture_before(state);
}

/* Frags keep a few pages for the next; a ring keeps none. */
static int after(void **state)
{
    frag_shrink();
    assert_int_equal(fd_open_count(), 0);
    return net_fixture_after(state);
}

static size_t put(struct byte_ring *ring, const void *from, size_t len)
{
    const struct iovec iov = {(void *)(uintptr_t)from, len};
    struct iov_pos pos = {&iov, 1, 0};

    return ring_put(ring, &pos, len);
}

static size_t take(struct byte_ring *ring, void *to, size_t len)
{
    const struct iovec iov = {to, len};
    struct iov_pos pos = {&iov, 1, 0};

    return ring_take(ring, &pos, len);
}

static void bytes_leave_a_ring_as_they_came(void **state)
{
    (void)state;
    static uint8_t in[9000], out[9000];
    struct byte_ring ring;
    size_t written = 0, read = 0;

    ring_init(&ring, RING_BYTES_MAX);
    for (unsigned round = 0; round < 2000; round++) {
        const size_t len = round * 37 % sizeof(in);

        for (size_t i = 0; i < len; i++)
            in[i] = (uint8_t)((written + i) * 11);
        written += put(&ring, in, len);
        const size_t got = take(&ring, out, round * 91 % sizeof(out));

        for (size_t i = 0; i < got; i++)
            assert_int_equal(out[i], (uint8_t)((read + i) * 11));
        read += got;
        assert_int_equal(ring_bytes(&ring), written - read);
    }
    ring_clear(&ring);
    assert_int_equal(ring_bytes(&ring), 0);
}

static void a_ring_holds_its_limit_wherever_it_begins(void **state)
{
    (void)state;
    static uint8_t block[RING_BYTES_MAX + 1];
    struct byte_ring ring;

    for (size_t skip = 0; skip < 2 * PAGE_BYTES; skip += 1021) {
        ring_init(&ring, RING_BYTES_MAX);
        put(&ring, block, skip + 1);
        take(&ring, block, skip);
        memset(block, 0x55, sizeof(block));
        assert_int_equal(put(&ring, block, sizeof(block)), RING_BYTES_MAX - 1);
        assert_int_equal(ring_room(&ring), 0);
        take(&ring, block, 1);
        assert_int_equal(take(&ring, block, sizeof(block)), RING_BYTES_MAX - 1);
        for (size_t i = 0; i < RING_BYTES_MAX - 1; i++)
            assert_int_equal(block[i], 0x55);
        ring_clear(&ring);
    }
}

static void an_empty_ring_costs_no_page(void **state)
{
    (void)state;
    static uint8_t block[20000];
    const size_t start = page_free_count();
    struct byte_ring ring;

    ring_init(&ring, RING_BYTES_MAX);
    put(&ring, block, sizeof(block));
    assert_int_equal(page_free_count(), start - 5);
    take(&ring, block, PAGE_BYTES + 1);
    assert_int_equal(page_free_count(), start - 4);
    take(&ring, block, sizeof(block));
    assert_int_equal(page_free_count(), start);
}

static void a_short_write_goes_in_whole_or_not_at_all(void **state)
{
    (void)state;
    static uint8_t block[PIPE_BYTES];
    int fds[2];

    assert_int_equal(pipe_open(fds, O_NONBLOCK), 0);
    assert_int_equal(fd_write(fds[1], block, PIPE_BYTES - 10), PIPE_BYTES - 10);
    assert_int_equal(fd_write(fds[1], block, 11), -EAGAIN);
    assert_int_equal(fd_write(fds[1], block, PIPE_ATOMIC_BYTES + 1), 10);
    assert_int_equal(fd_close(fds[0]), 0);
    assert_int_equal(fd_write(fds[1], block, 1), -EPIPE);
    assert_int_equal(fd_close(fds[1]), 0);
}

static void without_memory_a_write_is_refused_and_nothing_waits(void **state)
{
    (void)state;
    static void *held[8192];
    static uint8_t block[9000];
    size_t count = 0;
    int fds[2];

    assert_int_equal(pipe_open(fds, 0), 0);
    while (count < ARRAY_COUNT(held) && (held[count] = page_take(1)))
        count++;
    assert_int_equal(fd_write(fds[1], block, 1), -ENOMEM);
    assert_int_equal(fd_write(fds[1], block, sizeof(block)), -ENOMEM);
    page_give(held[--count], 1);
    assert_int_equal(fd_write(fds[1], block, PAGE_BYTES), PAGE_BYTES);
    while (count > 0)
        page_give(held[--count], 1);
    fd_close(fds[0]);
    fd_close(fds[1]);
}

static void *read_one(void *arg)
{
    uint8_t byte;

    return (void *)(intptr_t)fd_read((int)(intptr_t)arg, &byte, 1);
}

static void a_reader_waits_for_a_writer_and_for_its_end(void **state)
{
    (void)state;
    void *value;
    int fds[2];

    pipe_open(fds, 0);
    for (int last = 0; last < 2; last++) {
        struct thread *t = thread_create(read_one, (void *)(intptr_t)fds[0], 0);

        thread_yield();
        if (last)
            fd_close(fds[1]);
        else
            fd_write(fds[1], "x", 1);
        thread_join(t, &value);
        assert_int_equal((intptr_t)value, !last);
    }
    fd_close(fds[0]);
}

static void a_counter_adds_up_and_counts_down(void **state)
{
    (void)state;
    const int fd = eventfd_open(1, EFD_NONBLOCK), sem = eventfd_open(2, EFD_SEMAPHORE);
    uint64_t value = UINT64_MAX;

    assert_int_equal(eventfd_open(0, 1 << 20), -EINVAL);
    assert_int_equal(fd_write(fd, &value, sizeof(value)), -EINVAL);
    value = UINT64_MAX - 1;
    assert_int_equal(fd_write(fd, &value, sizeof(value)), -EAGAIN);
    value = 41;
    assert_int_equal(fd_write(fd, &value, sizeof(value)), 8);
    assert_int_equal(fd_read(fd, &value, 7), -EINVAL);
    assert_int_equal(fd_read(fd, &value, 8), 8);
    assert_int_equal(value, 42);
    assert_int_equal(fd_read(fd, &value, 8), -EAGAIN);
    assert_int_equal(fd_read(sem, &value, 8), 8);
    assert_int_equal(value, 1);
    fd_close(fd);
    fd_close(sem);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, before, after)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(bytes_leave_a_ring_as_they_came),
        TEST(a_ring_holds_its_limit_wherever_it_begins),
        TEST(an_empty_ring_costs_no_page),
        TEST(a_short_write_goes_in_whole_or_not_at_all),
        TEST(without_memory_a_write_is_refused_and_nothing_waits),
        TEST(a_reader_waits_for_a_writer_and_for_its_end),
        TEST(a_counter_adds_up_and_counts_down),
    };
    return cmocka_run_group_tests(tests, net_fixture_start, NULL);
}
