/*
 * What a multiboot loader may leave where. Its addresses have 32 bits, so the "machine" is a piece of memory
 * mapped in the lower 4 GiB of this process.
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
#include "lib/multiboot1.h"

enum { MACHINE_BYTES = 4 << 20, PAGE = 4096 };

static uint8_t *machine;
static struct boot_info info;
static struct multiboot1_info *mb;

static uint32_t phys(const void *p)
{
    return (uint32_t)(uintptr_t)p;
}

/* A fresh machine with the information block in its first page. */
static int set_up(void **state)
{
    (void)state;
    machine = mmap(NULL, MACHINE_BYTES, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_32BIT, -1, 0);
    if (machine == MAP_FAILED)
        return -1;
    mb = (struct multiboot1_info *)(void *)machine;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    return munmap(machine, MACHINE_BYTES);
}

static void set_flags(uint32_t flags)
{
    mb->flags = le32_make(le32_get(mb->flags) | flags);
}

/* One more entry of the memory map, which lies in the second page. */
static void add_range(uint64_t start, uint64_t len, uint32_t type)
{
    const uint32_t used = le32_get(mb->mmap_length);
    struct multiboot1_mmap *entry = (struct multiboot1_mmap *)(void *)(machine + PAGE + used);
    entry->size = le32_make(20);
    entry->start = (le64){start};
    entry->len = (le64){len};
    entry->type = le32_make(type);
    mb->mmap_addr = le32_make(phys(machine + PAGE));
    mb->mmap_length = le32_make(used + 24);
    set_flags(MB1_HAS_MMAP);
}

static void set_cmdline(const char *text)
{
    char *at = (char *)machine + 8 * PAGE;
    memcpy(at, text, strlen(text) + 1);
    mb->cmdline = le32_make(phys(at));
    set_flags(MB1_HAS_CMDLINE);
}

static struct multiboot1_module *add_module(uint32_t offset, uint32_t len, const char *text)
{
    struct multiboot1_module *list = (struct multiboot1_module *)(void *)(machine + 2 * PAGE);
    const uint32_t count = le32_get(mb->mods_count);
    mb->mods_addr = le32_make(phys(list));
    mb->mods_count = le32_make(count + 1);
    list[count].start = le32_make(phys(machine + offset));
    list[count].end = le32_make(phys(machine + offset) + len);
    if (text) {
        char *at = (char *)machine + 3 * PAGE + count * 64;
        memcpy(at, text, strlen(text) + 1);
        list[count].text = le32_make(phys(at));
    }
    set_flags(MB1_HAS_MODULES);
    return &list[count];
}

static int read_all(void)
{
    const struct span image = {(uintptr_t)machine + 16 * PAGE, (uintptr_t)machine + 32 * PAGE};
    return boot_info_read(&info, BOOT_MAGIC_MULTIBOOT1, phys(machine), image);
}

/* The whole machine is usable memory. */
static void all_ram(void)
{
    add_range((uintptr_t)machine, MACHINE_BYTES, MB1_MMAP_RAM);
}

static bool is_free(const void *p)
{
    for (size_t i = 0; i < info.free.count; i++) {
        if ((uintptr_t)p >= info.free.v[i].start && (uintptr_t)p < info.free.v[i].end)
            return true;
    }
    return false;
}

/* What a program would do: use every byte that it is told is free. */
static void scribble_over_free_memory(void)
{
    for (size_t i = 0; i < info.free.count; i++) {
        const struct span s = info.free.v[i];
        memset((void *)(uintptr_t)s.start, 0xdd, s.end - s.start);
    }
}

static void everything_survives_when_all_free_memory_is_used(void **state)
{
    (void)state;
    all_ram();
    set_cmdline("/boot/image ip=off -- a b");
    memset(machine + 64 * PAGE, 0x11, 5000);
    memset(machine + 80 * PAGE, 0x22, 100);
    add_module(64 * PAGE, 5000, "first words");
    add_module(80 * PAGE, 100, NULL);

    assert_int_equal(read_all(), 0);
    scribble_over_free_memory();
    memset(machine, 0xee, 16 * PAGE); /* and whatever the loader had for itself */

    assert_string_equal(info.cmdline, "/boot/image ip=off -- a b");
    assert_int_equal(info.module_count, 2);
    assert_string_equal(info.modules[0].text, "first words");
    assert_int_equal(info.modules[0].len, 5000);
    assert_int_equal(info.modules[0].data[4999], 0x11);
    assert_string_equal(info.modules[1].text, "");
    assert_int_equal(info.modules[1].data[99], 0x22);
}

/* The copy is made at the top of memory: here the loader has left a module's words there, or its list. */
static void the_copy_never_lands_on_what_is_still_to_be_copied(void **state)
{
    uint8_t *const top = machine + MACHINE_BYTES - PAGE;

    (void)state;
    all_ram();
    set_cmdline("a command line");
    struct multiboot1_module *m = add_module(64 * PAGE, PAGE, "x");
    memcpy(top, "words", 6);
    m->text = le32_make(phys(top));
    assert_int_equal(read_all(), 0);
    assert_string_equal(info.modules[0].text, "words");

    memcpy(machine + 3 * PAGE, "words", 6);
    m->text = le32_make(phys(machine + 3 * PAGE));
    memcpy(top, m, sizeof(*m));
    mb->mods_addr = le32_make(phys(top));
    assert_int_equal(read_all(), 0);
    assert_string_equal(info.modules[0].text, "words");
    assert_string_equal(info.cmdline, "a command line");
}

static void the_image_and_the_modules_are_not_free(void **state)
{
    (void)state;
    all_ram();
    add_module(64 * PAGE + 100, PAGE, "m");
    assert_int_equal(read_all(), 0);
    assert_false(is_free(machine + 16 * PAGE));
    assert_false(is_free(machine + 32 * PAGE - 1));
    assert_true(is_free(machine + 32 * PAGE));
    assert_false(is_free(machine + 64 * PAGE)); /* whole pages, also those a module only touches */
    assert_false(is_free(machine + 66 * PAGE - 1));
    assert_true(is_free(machine + 66 * PAGE));
    assert_int_equal(span_total(&info.ram), MACHINE_BYTES);
}

static void the_longest_command_line_is_taken_and_a_longer_one_refused(void **state)
{
    (void)state;
    all_ram();
    static char text[BOOT_TEXT_MAX + 1];
    memset(text, 'x', sizeof(text));
    text[BOOT_TEXT_MAX - 1] = '\0';
    set_cmdline(text);
    /* It runs over the image's pages here, which nothing reads. */
    assert_int_equal(read_all(), 0);
    assert_int_equal(strlen(info.cmdline), BOOT_TEXT_MAX - 1);

    text[BOOT_TEXT_MAX - 1] = 'x';
    text[BOOT_TEXT_MAX] = '\0';
    set_cmdline(text);
    assert_int_equal(read_all(), -E2BIG);
}

static void no_command_line_is_an_empty_one(void **state)
{
    (void)state;
    all_ram();
    assert_int_equal(read_all(), 0);
    assert_string_equal(info.cmdline, "");
}

static void a_range_that_is_also_reserved_is_not_used(void **state)
{
    (void)state;
    add_range((uintptr_t)machine + 40 * PAGE, 10 * PAGE, 2);
    all_ram();
    add_range((uintptr_t)machine + 60 * PAGE + 1, 10, 3);
    assert_int_equal(read_all(), 0);
    assert_true(is_free(machine + 39 * PAGE));
    assert_false(is_free(machine + 40 * PAGE));
    assert_false(is_free(machine + 50 * PAGE - 1));
    assert_true(is_free(machine + 50 * PAGE));
    assert_false(is_free(machine + 60 * PAGE));
}

static void page_zero_is_never_free(void **state)
{
    (void)state;
    all_ram();
    add_range(0, 0x9fc00, MB1_MMAP_RAM);
    assert_int_equal(read_all(), 0);
    assert_false(is_free((const void *)(uintptr_t)0));
    assert_int_equal(info.free.v[0].start, PAGE);
    assert_int_equal(info.free.v[0].end, 0x9f000);
}

static void memory_above_4_gib_is_kept(void **state)
{
    (void)state;
    all_ram();
    add_range(0x100000000, 0x140000000, MB1_MMAP_RAM);
    add_range(0xffffffffffff0000, 0x20000, MB1_MMAP_RAM); /* would wrap: ends at the top instead */
    assert_int_equal(read_all(), 0);
    assert_int_equal(info.free.v[info.free.count - 2].start, 0x100000000);
    assert_int_equal(info.free.v[info.free.count - 2].end, 0x240000000);
    assert_int_equal(info.free.v[info.free.count - 1].end, 0xfffffffffffff000);
}

static void mem_upper_serves_when_there_is_no_map(void **state)
{
    (void)state;
    mb->mem_lower = le32_make(9999); /* more than a PC has */
    mb->mem_upper = le32_make(phys(machine + MACHINE_BYTES) / 1024 - 1024);
    set_flags(MB1_HAS_MEM);
    /* An image that takes everything below this machine, which isn't there to be copied to. */
    const struct span image = {PAGE, (uintptr_t)machine + 32 * PAGE};
    assert_int_equal(boot_info_read(&info, BOOT_MAGIC_MULTIBOOT1, phys(machine), image), 0);
    assert_int_equal(info.ram.v[0].end, 640 * 1024);
    assert_int_equal(info.ram.v[1].start, 1 << 20);
    assert_int_equal(info.ram.v[1].end, (uintptr_t)machine + MACHINE_BYTES);
}

static void a_loader_that_says_nothing_about_memory_is_an_error(void **state)
{
    (void)state;
    assert_int_equal(read_all(), -ENODATA);
    add_range((uintptr_t)machine, MACHINE_BYTES, 2);
    assert_int_equal(read_all(), -ENODATA);
}

static void memory_full_to_the_brim_is_an_error(void **state)
{
    (void)state;
    add_range((uintptr_t)machine + 16 * PAGE, 16 * PAGE, MB1_MMAP_RAM); /* the image and no more */
    set_cmdline("x");
    assert_int_equal(read_all(), -ENOMEM);
}

static void a_map_entry_of_an_impossible_size_ends_the_map(void **state)
{
    (void)state;
    all_ram();
    add_range((uintptr_t)machine + 100 * PAGE, PAGE, 2);
    struct multiboot1_mmap *first = (struct multiboot1_mmap *)(void *)(machine + PAGE);
    const uint32_t sizes[] = {0, 19, 0xffffffff, 0xfffffffc, 100000};
    for (size_t i = 0; i < ARRAY_COUNT(sizes); i++) {
        first->size = le32_make(sizes[i]);
        assert_int_equal(read_all(), 0);
        assert_true(is_free(machine + 100 * PAGE)); /* the second entry was not reached */
    }
    first->size = le32_make(20);
    mb->mmap_length = le32_make(24 + 23); /* the second one is cut short */
    assert_int_equal(read_all(), 0);
    assert_true(is_free(machine + 100 * PAGE));
}

static void modules_that_make_no_sense_are_left_out_and_counted(void **state)
{
    (void)state;
    all_ram();
    add_module(64 * PAGE, 10, "good");
    struct multiboot1_module *bad = add_module(70 * PAGE, 10, "backwards");
    bad->end = le32_make(le32_get(bad->start) - 1);
    bad = add_module(70 * PAGE, 10, "at zero");
    bad->start = le32_make(0);
    assert_int_equal(read_all(), 0);
    assert_int_equal(info.module_count, 1);
    assert_int_equal(info.modules_dropped, 2);
    assert_string_equal(info.modules[0].text, "good");
}

static void modules_over_the_limit_are_counted_and_still_not_free(void **state)
{
    (void)state;
    all_ram();
    for (uint32_t i = 0; i < BOOT_MODULES_MAX + 3; i++)
        add_module((64 + i) * PAGE, PAGE, "m");
    assert_int_equal(read_all(), 0);
    assert_int_equal(info.module_count, BOOT_MODULES_MAX);
    assert_int_equal(info.modules_dropped, 3);
    assert_false(is_free(machine + (64 + BOOT_MODULES_MAX + 2) * PAGE));
}

static void an_empty_module_is_a_module(void **state)
{
    (void)state;
    all_ram();
    add_module(64 * PAGE, 0, "empty");
    assert_int_equal(read_all(), 0);
    assert_int_equal(info.module_count, 1);
    assert_int_equal(info.modules[0].len, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(everything_survives_when_all_free_memory_is_used),
        TEST(the_copy_never_lands_on_what_is_still_to_be_copied),
        TEST(the_image_and_the_modules_are_not_free),
        TEST(the_longest_command_line_is_taken_and_a_longer_one_refused),
        TEST(no_command_line_is_an_empty_one),
        TEST(a_range_that_is_also_reserved_is_not_used),
        TEST(page_zero_is_never_free),
        TEST(memory_above_4_gib_is_kept),
        TEST(mem_upper_serves_when_there_is_no_map),
        TEST(a_loader_that_says_nothing_about_memory_is_an_error),
        TEST(memory_full_to_the_brim_is_an_error),
        TEST(a_map_entry_of_an_impossible_size_ends_the_map),
        TEST(modules_that_make_no_sense_are_left_out_and_counted),
        TEST(modules_over_the_limit_are_counted_and_still_not_free),
        TEST(an_empty_module_is_a_module),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
