/*
 * Multiboot 2's tags and PVH's start information, good and bad. What is done with them is test_boot_info.c's. The machine
 * is a piece of memory below 4 GiB of this process.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "lib/boot_info.h"
#include "lib/multiboot2.h"
#include "lib/pvh.h"

enum { MACHINE_BYTES = 4 << 20, PAGE = 4096 };

static uint8_t *machine;
static struct boot_info info;
static uint8_t *tag_at;

static uint32_t phys(const void *p)
{
    return (uint32_t)(uintptr_t)p;
}

static int set_up(void **state)
{
    (void)state;
    machine = mmap(NULL, MACHINE_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (machine == MAP_FAILED)
        return -1;
    tag_at = machine + sizeof(struct multiboot2_info);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return munmap(machine, MACHINE_BYTES);
}

static int read_as(uint32_t magic)
{
    const struct span image = {(uintptr_t)machine + 16 * PAGE, (uintptr_t)machine + 32 * PAGE};

    return boot_info_read(&info, magic, phys(machine), image);
}

/* Use every byte that is called free, and whatever the loader had for itself. */
static void scribble(void)
{
    for (size_t i = 0; i < info.free.count; i++)
        memset((void *)(uintptr_t)info.free.v[i].start, 0xdd,
               info.free.v[i].end - info.free.v[i].start);
    memset(machine, 0xee, 16 * PAGE);
}

static void an_unknown_loader_is_refused(void **state)
{
    (void)state;
    assert_int_equal(read_as(0), -ENOTSUP);
    assert_int_equal(read_as(0x1badb002), -ENOTSUP); /* a header's magic, not a loader's */
}

/* ---- multiboot 2 ---- */

/* A tag of that type around `len` bytes; returns where it is. */
static struct multiboot2_tag *add_tag(uint32_t type, const void *body, size_t len)
{
    struct multiboot2_tag *tag = (struct multiboot2_tag *)(void *)tag_at;
    struct multiboot2_info *head = (struct multiboot2_info *)(void *)machine;

    tag->type = le32_make(type);
    tag->size = le32_make((uint32_t)(sizeof(*tag) + len));
    if (len)
        memcpy(tag + 1, body, len);
    tag_at += (sizeof(*tag) + len + 7) & ~7ul;
    head->total_size = le32_make((uint32_t)(tag_at - machine));
    return tag;
}

static struct multiboot2_tag *add_mmap(uint32_t entry_size)
{
    struct {
        le32 size, version;
        struct multiboot2_mmap_entry entry[2];
    } map = {le32_make(entry_size),
             le32_make(0),
             {{(le64){(uintptr_t)machine}, (le64){MACHINE_BYTES}, le32_make(1), le32_make(0)},
              {(le64){(uintptr_t)machine + 64 * PAGE}, (le64){PAGE}, le32_make(2), le32_make(0)}}};
    return add_tag(MB2_MMAP, &map, sizeof(map));
}

static struct multiboot2_tag *add_module(uint32_t page, uint32_t len, const char *text,
                                         size_t text_bytes)
{
    uint8_t body[128];
    const uint32_t range[2] = {phys(machine + page * PAGE), phys(machine + page * PAGE) + len};

    memcpy(body, range, sizeof(range));
    memcpy(body + sizeof(range), text, text_bytes);
    return add_tag(MB2_MODULE, body, sizeof(range) + text_bytes);
}

static void tags_are_read_and_nothing_of_the_block_is_needed_afterwards(void **state)
{
    uint8_t rsdp[36] = "RSD PTR ";
    (void)state;
    add_tag(MB2_CMDLINE, "ip=off -- a b", 14);
    add_tag(99, "what nobody knows", 18);
    memset(machine + 80 * PAGE, 0x22, 100);
    add_module(80, 100, "some words", 11);
    add_mmap(24);
    add_module(81, 0, "", 1);
    rsdp[35] = 0x77;
    add_tag(MB2_ACPI_OLD, "RSD PTR not this one", 20);
    add_tag(MB2_ACPI_NEW, rsdp, sizeof(rsdp));
    add_tag(MB2_END, NULL, 0);

    assert_int_equal(read_as(BOOT_MAGIC_MULTIBOOT2), 0);
    scribble();
    assert_string_equal(info.loader, "multiboot 2");
    assert_string_equal(info.cmdline, "ip=off -- a b");
    assert_int_equal(info.module_count, 2);
    assert_string_equal(info.modules[0].text, "some words");
    assert_int_equal(info.modules[0].len, 100);
    assert_int_equal(info.modules[0].data[99], 0x22);
    assert_int_equal(info.modules[1].len, 0);
    assert_int_equal(span_total(&info.ram), MACHINE_BYTES - PAGE);
    assert_memory_equal((const void *)(uintptr_t)info.rsdp, rsdp, sizeof(rsdp));
}

static void an_old_root_pointer_will_do_and_a_short_one_wont(void **state)
{
    (void)state;
    add_mmap(24);
    struct multiboot2_tag *tag = add_tag(MB2_ACPI_OLD, "RSD PTR x           ", 20);
    assert_int_equal(read_as(BOOT_MAGIC_MULTIBOOT2), 0);
    assert_memory_equal((const void *)(uintptr_t)info.rsdp, "RSD PTR x", 9);
    tag->size = le32_make(8 + 19);
    assert_int_equal(read_as(BOOT_MAGIC_MULTIBOOT2), 0);
    assert_int_equal(info.rsdp, 0);
}

static void without_a_map_the_two_sizes_serve(void **state)
{
    const uint32_t kib[2] = {9999, phys(machine + MACHINE_BYTES) / 1024 - 1024};
    (void)state;
    add_tag(MB2_MEMORY, kib, sizeof(kib));
    const struct span image = {PAGE, (uintptr_t)machine + 32 * PAGE};
    assert_int_equal(boot_info_read(&info, BOOT_MAGIC_MULTIBOOT2, phys(machine), image), 0);
    assert_int_equal(info.ram.v[0].end, 640 * 1024);
    assert_int_equal(info.ram.v[1].end, (uintptr_t)machine + MACHINE_BYTES);
}

static void a_tag_of_an_impossible_size_ends_the_list(void **state)
{
    const uint32_t sizes[] = {0, 7, 0x10000, 0xffffffff, 0xfffffff9};
    (void)state;
    add_mmap(24);
    struct multiboot2_tag *bad = add_tag(99, "x", 1);
    add_tag(MB2_CMDLINE, "not reached", 12);
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        bad->size = le32_make(sizes[i]);
        assert_int_equal(read_as(BOOT_MAGIC_MULTIBOOT2), 0);
        assert_string_equal(info.cmdline, "");
    }
}

static void a_last_tag_that_leaves_the_block_is_not_read(void **state)
{
    (void)state;
    add_mmap(24);
    add_tag(MB2_CMDLINE, "text", 5)->size = le32_make(8 + 64);
    assert_int_equal(read_as(BOOT_MAGIC_MULTIBOOT2), 0);
    assert_string_equal(info.cmdline, "");
}

/* The copy is made at the top of memory: here the loader has left its block there. */
static void the_copy_never_lands_on_the_block(void **state)
{
    uint8_t *const top = machine + MACHINE_BYTES - PAGE;
    const struct span image = {(uintptr_t)machine + 16 * PAGE, (uintptr_t)machine + 32 * PAGE};
    (void)state;
    add_mmap(24);
    for (uint32_t i = 0; i < 4; i++)
        add_module(80 + i, 10, "no end", 6); /* words would keep the page by themselves */
    memcpy(top, machine, PAGE);
    assert_int_equal(boot_info_read(&info, BOOT_MAGIC_MULTIBOOT2, phys(top), image), 0);
    assert_true((uintptr_t)info.cmdline < (uintptr_t)top);
    assert_int_equal(info.module_count, 4);
}

static void a_string_that_doesnt_end_in_its_tag_is_none(void **state)
{
    (void)state;
    add_mmap(24);
    add_tag(MB2_CMDLINE, "12345678", 8);
    add_module(80, 10, "12345678", 8);
    assert_int_equal(read_as(BOOT_MAGIC_MULTIBOOT2), 0);
    assert_string_equal(info.cmdline, "");
    assert_string_equal(info.modules[0].text, "");
}

static void map_entries_may_be_longer_but_not_shorter(void **state)
{
    (void)state;
    struct multiboot2_tag *map = add_mmap(48); /* the second one is the first one's extension */
    assert_int_equal(read_as(BOOT_MAGIC_MULTIBOOT2), 0);
    assert_int_equal(span_total(&info.ram), MACHINE_BYTES);
    const uint32_t bad[] = {0, 23};
    for (size_t i = 0; i < ARRAY_COUNT(bad); i++) {
        memcpy(map + 1, &bad[i], 4);
        assert_int_equal(read_as(BOOT_MAGIC_MULTIBOOT2), -ENODATA);
    }
}

static void an_empty_block_says_nothing_about_memory(void **state)
{
    (void)state;
    assert_int_equal(read_as(BOOT_MAGIC_MULTIBOOT2), -ENODATA);
}

/* ---- PVH ---- */

static struct pvh_start_info *start_info(void)
{
    struct pvh_start_info *start = (struct pvh_start_info *)(void *)machine;
    struct pvh_memmap *map = (struct pvh_memmap *)(void *)(machine + PAGE);
    struct pvh_module *modules = (struct pvh_module *)(void *)(machine + 2 * PAGE);

    memcpy(machine + 3 * PAGE, "ip=off -- c", 12);
    memcpy(machine + 3 * PAGE + 64, "words", 6);
    map[0] = (struct pvh_memmap){
        .start = {(uintptr_t)machine}, .len = {MACHINE_BYTES}, .type = le32_make(PVH_MEMMAP_RAM)};
    map[1] = (struct pvh_memmap){
        .start = {(uintptr_t)machine + 64 * PAGE}, .len = {PAGE}, .type = le32_make(2)};
    modules[0] = (struct pvh_module){.start = {(uintptr_t)machine + 80 * PAGE},
                                     .len = {100},
                                     .cmdline = {(uintptr_t)machine + 3 * PAGE + 64}};
    memset(machine + 80 * PAGE, 0x22, 100);
    *start = (struct pvh_start_info){.magic = le32_make(BOOT_MAGIC_PVH),
                                     .version = le32_make(1),
                                     .module_count = le32_make(1),
                                     .modules = {(uintptr_t)modules},
                                     .cmdline = {(uintptr_t)machine + 3 * PAGE},
                                     .rsdp = {0xf1234},
                                     .memmap = {(uintptr_t)map},
                                     .memmap_count = le32_make(2)};
    return start;
}

static void start_information_is_read_and_not_needed_afterwards(void **state)
{
    (void)state;
    start_info();
    assert_int_equal(read_as(BOOT_MAGIC_PVH), 0);
    scribble();
    assert_string_equal(info.loader, "PVH");
    assert_string_equal(info.cmdline, "ip=off -- c");
    assert_int_equal(info.module_count, 1);
    assert_string_equal(info.modules[0].text, "words");
    assert_int_equal(info.modules[0].data[99], 0x22);
    assert_int_equal(info.rsdp, 0xf1234);
    assert_int_equal(span_total(&info.ram), MACHINE_BYTES - PAGE);
}

static void version_0_has_no_map_whatever_lies_there(void **state)
{
    (void)state;
    start_info()->version = le32_make(0);
    assert_int_equal(read_as(BOOT_MAGIC_PVH), -ENODATA);
}

static void what_lies_above_4_gib_is_not_read(void **state)
{
    (void)state;
    struct pvh_start_info *start = start_info();
    start->cmdline = (le64){0x100000000};
    start->modules = (le64){0xfffffffffffffff0};
    assert_int_equal(read_as(BOOT_MAGIC_PVH), 0);
    assert_string_equal(info.cmdline, "");
    assert_int_equal(info.module_count, 0);
    start->memmap = (le64){0x100000000};
    assert_int_equal(read_as(BOOT_MAGIC_PVH), -ENODATA);
}

static void a_module_beyond_memory_is_refused(void **state)
{
    (void)state;
    start_info();
    struct pvh_module *m = (struct pvh_module *)(void *)(machine + 2 * PAGE);
    m->len = (le64){UINT64_MAX};
    m->start = (le64){(uintptr_t)machine + MACHINE_BYTES};
    assert_int_equal(read_as(BOOT_MAGIC_PVH), -EFBIG); /* its end wraps */
    m->start = (le64){(uintptr_t)machine};
    m->len = (le64){1ull << 32};
    assert_int_equal(read_as(BOOT_MAGIC_PVH), -EFBIG);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_unknown_loader_is_refused),
        TEST(tags_are_read_and_nothing_of_the_block_is_needed_afterwards),
        TEST(an_old_root_pointer_will_do_and_a_short_one_wont),
        TEST(without_a_map_the_two_sizes_serve),
        TEST(a_tag_of_an_impossible_size_ends_the_list),
        TEST(a_last_tag_that_leaves_the_block_is_not_read),
        TEST(the_copy_never_lands_on_the_block),
        TEST(a_string_that_doesnt_end_in_its_tag_is_none),
        TEST(map_entries_may_be_longer_but_not_shorter),
        TEST(an_empty_block_says_nothing_about_memory),
        TEST(start_information_is_read_and_not_needed_afterwards),
        TEST(version_0_has_no_map_whatever_lies_there),
        TEST(what_lies_above_4_gib_is_not_read),
        TEST(a_module_beyond_memory_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
