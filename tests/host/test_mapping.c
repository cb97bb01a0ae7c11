#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "lib/boot_info.h"
#include "lib/mapping.h"
#include "lib/page_alloc.h"
#include "lib/vfs.h"
#include "tests/host/support/net_env.h"

enum { PAGES = 512, FIXED_BYTES = 5 * PAGE_BYTES + 100 };

static _Alignas(4096) uint8_t fixed[FIXED_BYTES];
static size_t free_before;

static int group_setup(void **state)
{
    (void)state;
    net_env_init(PAGES);
    for (size_t i = 0; i < sizeof fixed; i++)
        fixed[i] = (uint8_t)(i / PAGE_BYTES + 1);
    boot_info.modules[0] = (struct boot_module){fixed, sizeof fixed, "fixed"};
    boot_info.module_count = 1;
    vfs_root();
    return 0;
}

static int setup(void **state)
{
    (void)state;
    net_env_init(PAGES);
    free_before = page_free_count();
    return 0;
}

static int everything_came_back(void **state)
{
    (void)state;
    assert_int_equal(mapping_count(), 0);
    assert_int_equal(ram_pages_in_use(), 0);
    assert_true(net_env_clean());
    return 0;
}

static struct file *opened(const char *path, int flags)
{
    struct file *f = NULL;

    assert_int_equal(vfs_open(NULL, path, flags, 0600, &f), 0);
    return f;
}

/* /tmp/a with `len` bytes of 'a', open. */
static struct file *a_file(size_t len)
{
    struct file *f = opened("/tmp/a", O_CREAT | O_RDWR | O_TRUNC);

    for (size_t i = 0; i < len; i++)
        assert_int_equal(vfs_pwrite(f, &(struct iovec){(char[]){"a"}, 1}, 1, (off_t)i), 1);
    return f;
}

static void drop(struct file *f)
{
    file_put(f);
    assert_int_equal(vfs_unlink(NULL, "/tmp/a"), 0);
}

static int try(struct mapping_wish wish, uint8_t **out)
{
    void *start = NULL;
    const int err = mapping_make(&wish, &start);

    *out = start;
    return err;
}

static uint8_t *mapped(struct file *f, size_t len, int prot, int flags, off_t offset)
{
    uint8_t *start;

    assert_int_equal(try((struct mapping_wish){.len = len,
                                               .prot = prot,
                                               .flags = flags | (f ? 0 : MAP_ANONYMOUS),
                                               .file = f,
                                               .offset = offset},
                         &start),
                     0);
    assert_int_equal((uintptr_t)start % PAGE_BYTES, 0);
    return start;
}

static uint8_t *anonymous(size_t pages)
{
    return mapped(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0);
}

static bool all(const uint8_t *bytes, size_t len, uint8_t value)
{
    for (size_t i = 0; i < len; i++) {
        if (bytes[i] != value)
            return false;
    }
    return true;
}

static void anonymous_memory_is_zeros_and_comes_back(void **state)
{
    (void)state;
    for (int round = 0; round < 3; round++) {
        uint8_t *start = anonymous(10);

        assert_true(all(start, 10 * PAGE_BYTES, 0));
        memset(start, 0xff, 10 * PAGE_BYTES);
        assert_int_equal(page_free_count(), free_before - 10);
        assert_int_equal(mapping_remove(start, 10 * PAGE_BYTES - 1), 0);
        assert_int_equal(page_free_count(), free_before);
    }
}

static void a_mapping_is_given_back_in_any_pieces_and_twice(void **state)
{
    (void)state;
    uint8_t *start = anonymous(10), *other = anonymous(1);

    assert_int_equal(mapping_remove(start + 4 * PAGE_BYTES, 2 * PAGE_BYTES), 0); /* the middle */
    assert_int_equal(mapping_count(), 3);
    assert_int_equal(page_free_count(), free_before - 9);
    assert_int_equal(mapping_remove(start + 4 * PAGE_BYTES, 2 * PAGE_BYTES), 0); /* again */
    assert_int_equal(page_free_count(), free_before - 9);
    assert_int_equal(mapping_remove(start, PAGE_BYTES), 0);
    assert_int_equal(mapping_remove(start + 9 * PAGE_BYTES, PAGE_BYTES), 0);
    assert_int_equal(page_free_count(), free_before - 7);
    start[PAGE_BYTES] = start[8 * PAGE_BYTES] = 1;
    assert_int_equal(mapping_remove(start, 10 * PAGE_BYTES), 0); /* what is left, holes included */
    assert_int_equal(mapping_count(), 1);
    assert_int_equal(mapping_remove(other, PAGE_BYTES), 0);
    assert_int_equal(page_free_count(), free_before);
}

static void bad_wishes_are_refused(void **state)
{
    (void)state;
    const struct mapping_wish good = {
        .len = PAGE_BYTES, .prot = PROT_READ, .flags = MAP_PRIVATE | MAP_ANONYMOUS};
    struct mapping_wish wish = good;
    uint8_t *start;

    wish.len = 0;
    assert_int_equal(try(wish, &start), -EINVAL);
    wish = good;
    wish.flags = MAP_ANONYMOUS;
    assert_int_equal(try(wish, &start), -EINVAL);
    wish.flags = MAP_ANONYMOUS | MAP_SHARED | MAP_PRIVATE;
    assert_int_equal(try(wish, &start), -EINVAL);
    wish = good;
    wish.offset = 1;
    assert_int_equal(try(wish, &start), -EINVAL);
    wish.offset = -PAGE_BYTES;
    assert_int_equal(try(wish, &start), -EINVAL);
    wish = good;
    wish.len = SIZE_MAX;
    assert_int_equal(try(wish, &start), -ENOMEM);
    wish.len = (PAGES + 1) * PAGE_BYTES;
    assert_int_equal(try(wish, &start), -ENOMEM);
    wish = good;
    wish.flags |= MAP_FIXED;
    wish.addr = (void *)0x10000000;
    assert_int_equal(try(wish, &start), -ENOMEM);
    wish.addr = (void *)0x10000001;
    assert_int_equal(try(wish, &start), -EINVAL);
    assert_int_equal(mapping_remove((void *)0x1001, PAGE_BYTES), -EINVAL);
    assert_int_equal(mapping_remove((void *)0x1000, 0), -EINVAL);
}

static void what_can_be_mapped_depends_on_the_file(void **state)
{
    (void)state;
    struct file *f = a_file(10), *to_write = opened("/tmp/a", O_WRONLY),
                *to_read = opened("/tmp/a", O_RDONLY), *dir = opened("/tmp", O_RDONLY);
    struct mapping_wish wish = {.len = 10, .prot = PROT_READ | PROT_WRITE, .flags = MAP_SHARED};
    uint8_t *start;

    wish.file = to_write;
    assert_int_equal(try(wish, &start), -EACCES);
    wish.file = to_read;
    assert_int_equal(try(wish, &start), -EACCES);
    wish.file = dir;
    assert_int_equal(try(wish, &start), -ENODEV);
    wish.flags = MAP_PRIVATE;
    wish.file = to_read;
    assert_int_equal(try(wish, &start), 0);
    assert_int_equal(mapping_remove(start, 10), 0);
    file_put(to_write);
    file_put(to_read);
    file_put(dir);
    drop(f);
}

static void a_shared_mapping_is_the_file_and_outlives_it(void **state)
{
    (void)state;
    struct file *f = a_file(3 * PAGE_BYTES);
    uint8_t *start = mapped(f, 3 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
    char back[4] = "";

    assert_true(all(start, 3 * PAGE_BYTES, 'a'));
    memcpy(start + 2 * PAGE_BYTES, "map", 3);
    vfs_pread(f, &(struct iovec){back, 3}, 1, 2 * PAGE_BYTES);
    assert_string_equal(back, "map");
    drop(f);
    assert_memory_equal(start + 2 * PAGE_BYTES, "map", 3);
    assert_int_equal(mapping_remove(start + PAGE_BYTES, PAGE_BYTES),
                     0); /* a hole: two owners now */
    assert_int_equal(mapping_count(), 2);
    assert_int_equal(mapping_remove(start, PAGE_BYTES), 0);
    assert_int_equal(ram_pages_in_use(), 3);
    assert_int_equal(mapping_remove(start + 2 * PAGE_BYTES, PAGE_BYTES), 0);
}

static void a_private_mapping_is_a_copy(void **state)
{
    (void)state;
    struct file *f = a_file(PAGE_BYTES + 10);
    uint8_t *start = mapped(f, 2 * PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0);
    char back[2] = "";

    assert_true(all(start, PAGE_BYTES + 10, 'a'));
    assert_true(all(start + PAGE_BYTES + 10, PAGE_BYTES - 10, 0));
    start[0] = 'x';
    vfs_pread(f, &(struct iovec){back, 1}, 1, 0);
    assert_string_equal(back, "a");
    assert_int_equal(mapping_remove(start, 2 * PAGE_BYTES), 0);
    drop(f);
}

static void an_archives_bytes_are_mapped_in_place_if_nothing_foreign_follows(void **state)
{
    (void)state;
    struct file *f = opened("/modules/fixed", O_RDONLY);
    uint8_t *whole_pages = mapped(f, 4 * PAGE_BYTES, PROT_READ, MAP_SHARED, PAGE_BYTES);
    uint8_t *with_end = mapped(f, FIXED_BYTES, PROT_READ, MAP_SHARED, 0);
    uint8_t *to_write = mapped(f, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE, 0);

    file_put(f);
    assert_ptr_equal(whole_pages, fixed + PAGE_BYTES);
    assert_ptr_not_equal(with_end, fixed);
    assert_memory_equal(with_end, fixed, FIXED_BYTES);
    assert_true(all(with_end + FIXED_BYTES, PAGE_BYTES - 100, 0));
    assert_ptr_not_equal(to_write, fixed);
    assert_int_equal(mapping_may_write(whole_pages + PAGE_BYTES, 1), -EACCES);
    assert_int_equal(mapping_may_write(to_write, PAGE_BYTES), 0);
    assert_int_equal(mapping_remove(whole_pages + PAGE_BYTES, PAGE_BYTES), 0);
    assert_int_equal(mapping_may_write(whole_pages + PAGE_BYTES, PAGE_BYTES), 0);
    assert_int_equal(mapping_remove(whole_pages, 4 * PAGE_BYTES), 0);
    assert_int_equal(mapping_remove(with_end, FIXED_BYTES), 0);
    assert_int_equal(mapping_remove(to_write, PAGE_BYTES), 0);
}

static void fixed_mappings_renew_a_part_of_own_memory(void **state)
{
    (void)state;
    struct file *f = a_file(100);
    uint8_t *start = anonymous(4), *shared = mapped(f, 100, PROT_READ, MAP_SHARED, 0), *got;
    struct mapping_wish wish = {.addr = start + PAGE_BYTES,
                                .len = PAGE_BYTES,
                                .prot = PROT_READ,
                                .flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED};

    memset(start, 7, 4 * PAGE_BYTES);
    assert_int_equal(try(wish, &got), 0);
    assert_ptr_equal(got, start + PAGE_BYTES);
    assert_true(all(start, PAGE_BYTES, 7) && all(start + PAGE_BYTES, PAGE_BYTES, 0) &&
                all(start + 2 * PAGE_BYTES, 2 * PAGE_BYTES, 7));
    wish.file = f;
    wish.flags = MAP_PRIVATE | MAP_FIXED;
    assert_int_equal(try(wish, &got), 0);
    assert_true(all(got, 100, 'a') && all(got + 100, PAGE_BYTES - 100, 0));
    wish.flags = MAP_SHARED | MAP_FIXED;
    assert_int_equal(try(wish, &got), -ENOMEM);
    wish.flags = MAP_PRIVATE | MAP_FIXED;
    wish.len = 3 * PAGE_BYTES + 1; /* beyond its end */
    assert_int_equal(try(wish, &got), -ENOMEM);
    wish.len = PAGE_BYTES;
    wish.addr = shared;
    assert_int_equal(try(wish, &got), -ENOMEM);
    assert_int_equal(mapping_remove(start, 4 * PAGE_BYTES), 0);
    assert_int_equal(mapping_remove(shared, 100), 0);
    drop(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, everything_came_back)
        TEST(anonymous_memory_is_zeros_and_comes_back),
        TEST(a_mapping_is_given_back_in_any_pieces_and_twice),
        TEST(bad_wishes_are_refused),
        TEST(what_can_be_mapped_depends_on_the_file),
        TEST(a_shared_mapping_is_the_file_and_outlives_it),
        TEST(a_private_mapping_is_a_copy),
        TEST(an_archives_bytes_are_mapped_in_place_if_nothing_foreign_follows),
        TEST(fixed_mappings_renew_a_part_of_own_memory),
    };

    return cmocka_run_group_tests(tests, group_setup, NULL);
}
