#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <string.h>

#include "lib/tar.h"
#include "tests/host/support/tar_build.h"

static struct tar_build archive;
static struct tar_reader reader;
static struct tar_entry entry;

static int setup(void **state)
{
    (void)state;
    tar_build_init(&archive);
    return 0;
}

static void open_archive(void)
{
    tar_open(&reader, archive.data, archive.used + 2 * TAR_BLOCK_BYTES);
}

static void next_is(enum tar_kind kind, const char *path)
{
    assert_true(tar_next(&reader, &entry));
    assert_int_equal(entry.kind, kind);
    assert_string_equal(entry.path, path);
}

static void next_is_file(const char *path, const char *content)
{
    next_is(TAR_FILE, path);
    assert_int_equal(entry.size, strlen(content));
    assert_memory_equal(entry.data, content, strlen(content));
}

static void that_was_all(unsigned skipped, unsigned damaged)
{
    assert_false(tar_next(&reader, &entry));
    assert_int_equal(reader.skipped, skipped);
    assert_int_equal(reader.damaged, damaged);
    assert_false(tar_next(&reader, &entry));
}

/* ---- what it reads ---- */

static void a_file_lies_in_the_archive_with_its_properties(void **state)
{
    (void)state;
    tar_build_file(&archive, "a.txt", "hello");
    open_archive();

    next_is_file("a.txt", "hello");
    assert_ptr_equal(entry.data, archive.data + TAR_BLOCK_BYTES);
    assert_int_equal(entry.mode, 0640);
    assert_int_equal(entry.mtime, TAR_BUILD_MTIME);
    that_was_all(0, 0);
}

static void every_kind_that_can_be_served_is_told(void **state)
{
    (void)state;
    tar_build_header(&archive, '5', "dir/", "", 0);
    tar_build_header(&archive, '0', "old-dir/", "", 0);
    tar_build_header(&archive, '2', "soft", "../a//b", 0);
    tar_build_header(&archive, '1', "hard", "./dir//a", 0);
    tar_build_header(&archive, '7', "contiguous", "", 0);
    tar_build_header(&archive, '\0', "ancient", "", 0);
    open_archive();

    next_is(TAR_DIR, "dir");
    next_is(TAR_DIR, "old-dir");
    next_is(TAR_SYMLINK, "soft");
    assert_string_equal(entry.target, "../a//b");
    next_is(TAR_HARDLINK, "hard");
    assert_string_equal(entry.target, "dir/a");
    next_is(TAR_FILE, "contiguous");
    next_is(TAR_FILE, "ancient");
    that_was_all(0, 0);
}

static void names_are_cleaned_and_the_prefix_is_put_before_them(void **state)
{
    (void)state;
    tar_build_file(&archive, "./a//b/./c", "");
    tar_build_file(&archive, "/abs", "");
    tar_build_header(&archive, '5', "./", "", 0);
    uint8_t *header = tar_build_header(&archive, '0', "name", "", 0);
    memcpy(header + 345, "some/where", 10);
    tar_build_sum(header);
    open_archive();

    next_is(TAR_FILE, "a/b/c");
    next_is(TAR_FILE, "abs");
    next_is(TAR_DIR, "");
    next_is(TAR_FILE, "some/where/name");
    that_was_all(0, 0);
}

static void a_name_may_fill_its_field_to_the_last_byte(void **state)
{
    (void)state;
    char name[101];

    memset(name, 'n', 100);
    name[100] = '\0';
    tar_build_file(&archive, name, "x");
    open_archive();

    next_is_file(name, "x");
}

static void pax_records_say_name_target_size_and_time(void **state)
{
    (void)state;
    tar_build_pax(&archive, "path", "a/long/name");
    tar_build_pax(&archive, "mtime", "1700000000.25");
    tar_build_pax(&archive, "size", "3");
    tar_build_header(&archive, '0', "short", "", 0);
    tar_build_data(&archive, "abc", 3);
    tar_build_pax(&archive, "linkpath", "far/away");
    tar_build_header(&archive, '2', "soft", "near", 0);
    tar_build_file(&archive, "next", "n");
    open_archive();

    next_is_file("a/long/name", "abc");
    assert_int_equal(entry.mtime, 1700000000);
    next_is(TAR_SYMLINK, "soft");
    assert_string_equal(entry.target, "far/away");
    next_is_file("next", "n");
    assert_int_equal(entry.mtime, TAR_BUILD_MTIME);
    that_was_all(0, 0);
}

static void gnu_long_names_and_targets_are_read(void **state)
{
    (void)state;
    char name[301];

    memset(name, 'n', 300);
    name[300] = '\0';
    tar_build_header(&archive, 'L', "././@LongLink", "", 301);
    tar_build_data(&archive, name, 301);
    tar_build_header(&archive, '0', "nnnn", "", 1);
    tar_build_data(&archive, "1", 1);
    tar_build_header(&archive, 'K', "././@LongLink", "", 301);
    tar_build_data(&archive, name, 301);
    tar_build_header(&archive, '2', "soft", "nnnn", 0);
    open_archive();

    next_is_file(name, "1");
    next_is(TAR_SYMLINK, "soft");
    assert_string_equal(entry.target, name);
    that_was_all(0, 0);
}

static void a_size_in_base_256_is_read(void **state)
{
    (void)state;
    uint8_t *header = tar_build_header(&archive, '0', "a", "", 0);

    memset(header + 124, 0, 12);
    header[124] = 0x80;
    header[135] = 4;
    tar_build_sum(header);
    tar_build_data(&archive, "four", 4);
    open_archive();

    next_is_file("a", "four");
}

static void a_checksum_of_signed_characters_is_right_too(void **state)
{
    (void)state;
    uint8_t *header = tar_build_header(&archive, '0', "\xff\xfe", "", 0);
    int sum = 0;
    char text[8];

    memset(header + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += (int8_t)header[i];
    snprintf(text, sizeof text, "%06o", (unsigned)sum);
    memcpy(header + 148, text, 7);
    open_archive();

    next_is(TAR_FILE, "\xff\xfe");
}

static void volume_labels_and_global_records_are_no_entries(void **state)
{
    (void)state;
    tar_build_header(&archive, 'V', "label", "", 0);
    tar_build_header(&archive, 'g', "global", "", 20);
    tar_build_data(&archive, "20 comment=whatever\n", 20);
    tar_build_file(&archive, "a", "");
    open_archive();

    next_is(TAR_FILE, "a");
    that_was_all(0, 0);
}

static void only_an_archive_looks_like_one(void **state)
{
    (void)state;
    tar_build_file(&archive, "a", "");
    assert_true(tar_looks_like(archive.data, archive.used));
    assert_false(tar_looks_like(archive.data, TAR_BLOCK_BYTES - 1));
    assert_false(tar_looks_like(archive.data, 0));
    assert_false(tar_looks_like(archive.data + TAR_BLOCK_BYTES, TAR_BLOCK_BYTES)); /* zeros */
    archive.data[0]++;
    assert_false(tar_looks_like(archive.data, archive.used));
}

/* ---- what it refuses ---- */

static void names_that_lead_out_are_skipped(void **state)
{
    (void)state;
    tar_build_file(&archive, "../a", "x");
    tar_build_file(&archive, "a/../../b", "x");
    tar_build_file(&archive, "a/..", "x");
    tar_build_header(&archive, '1', "hard", "../../etc/passwd", 0);
    tar_build_pax(&archive, "path", "/..");
    tar_build_file(&archive, "short", "x");
    tar_build_file(&archive, "..a/...", "fine");
    open_archive();

    next_is_file("..a/...", "fine");
    that_was_all(5, 0);
}

static void devices_and_unknown_kinds_are_skipped_with_their_data(void **state)
{
    (void)state;
    tar_build_header(&archive, '3', "char", "", 0);
    tar_build_header(&archive, '6', "fifo", "", 0);
    tar_build_header(&archive, 'Z', "unknown", "", 5);
    tar_build_data(&archive, "bytes", 5);
    tar_build_file(&archive, "a", "x");
    open_archive();

    next_is_file("a", "x");
    that_was_all(3, 0);
}

static void sparse_files_are_skipped_with_all_their_lists(void **state)
{
    (void)state;
    uint8_t *header = tar_build_header(&archive, 'S', "sparse", "", 5);

    header[482] = 1;
    tar_build_sum(header);
    archive.used += 2 * TAR_BLOCK_BYTES; /* two lists; the first says that there is one more */
    archive.data[TAR_BLOCK_BYTES + 504] = 1;
    memcpy(archive.data + 2 * TAR_BLOCK_BYTES, "list", 4);
    tar_build_data(&archive, "bytes", 5);
    tar_build_pax(&archive, "GNU.sparse.major", "1");
    tar_build_file(&archive, "also-sparse", "x");
    tar_build_file(&archive, "a", "x");
    open_archive();

    next_is_file("a", "x");
    that_was_all(2, 0);
}

static void a_name_that_is_too_long_is_not_served_under_a_shorter_one(void **state)
{
    (void)state;
    static char name[TAR_PATH_MAX + 1];

    memset(name, 'n', TAR_PATH_MAX);
    tar_build_pax(&archive, "path", name);
    tar_build_file(&archive, "short", "x");
    tar_build_header(&archive, 'L', "long", "", TAR_PATH_MAX);
    tar_build_data(&archive, name, TAR_PATH_MAX);
    tar_build_file(&archive, "short", "x");
    tar_build_header(&archive, 'L', "nul", "", 3);
    tar_build_data(&archive, "a\0b", 3);
    tar_build_file(&archive, "short", "x");
    tar_build_file(&archive, "a", "x");
    open_archive();

    next_is_file("a", "x");
    that_was_all(3, 0);
}

static void a_file_behind_a_bad_pax_record_is_not_served(void **state)
{
    (void)state;
    static const char *const bad[] = {"99 path=a\n",   "9 path=ab",
                                      "x path=a\n",    "7 path\n",
                                      "4 =\n2\n",      " path=a\n",
                                      "3 \n",          "18446744073709551615 a=b\n",
                                      "12 size=-1x\n", "20 size=9999999999999999999\n"};

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        setup(NULL);
        tar_build_header(&archive, 'x', "pax", "", strlen(bad[i]));
        tar_build_data(&archive, bad[i], strlen(bad[i]));
        tar_build_file(&archive, "short", "x");
        tar_build_file(&archive, "a", "x");
        open_archive();

        next_is_file("a", "x");
        that_was_all(1, 0);
    }
}

static void what_a_record_says_is_of_the_next_entry_alone(void **state)
{
    (void)state;
    tar_build_pax(&archive, "path", "../out");
    tar_build_file(&archive, "skipped", "x");
    tar_build_file(&archive, "a", "x");
    open_archive();

    next_is_file("a", "x");
    that_was_all(1, 0);
}

/* ---- damage ---- */

static void behind_a_bad_checksum_the_rest_is_read(void **state)
{
    (void)state;
    tar_build_file(&archive, "a", "1");
    archive.data[archive.used + 148] = 'x';
    archive.used += TAR_BLOCK_BYTES;
    tar_build_data(&archive, "its data", 8);
    archive.used += TAR_BLOCK_BYTES; /* and zeros, which are not the end there */
    tar_build_file(&archive, "b", "2");
    open_archive();

    next_is_file("a", "1");
    next_is_file("b", "2");
    that_was_all(0, 1);
}

static void a_size_beyond_the_archive_costs_that_entry_alone(void **state)
{
    (void)state;
    tar_build_header(&archive, '0', "huge", "", 077777777777);
    tar_build_file(&archive, "b", "2");
    tar_build_pax(&archive, "size", "18446744073709551000");
    tar_build_header(&archive, '0', "huger", "", 0);
    uint8_t *header = tar_build_header(&archive, '0', "negative", "", 0);
    memset(header + 124, 0xff, 12);
    tar_build_sum(header);
    tar_build_file(&archive, "c", "3");
    open_archive();

    next_is_file("b", "2");
    next_is_file("c", "3");
    that_was_all(0, 3);
}

static void a_cut_archive_serves_what_is_whole(void **state)
{
    (void)state;
    tar_build_file(&archive, "a", "1");
    tar_build_header(&archive, '0', "b", "", 1000);
    tar_build_data(&archive, (const char[1000]){"some"}, 1000);

    for (size_t len = 0; len < archive.used; len++) {
        tar_open(&reader, archive.data, len);
        unsigned count = 0;

        while (tar_next(&reader, &entry)) {
            assert_true(entry.data >= archive.data &&
                        entry.data + entry.size <= archive.data + len);
            count++;
        }
        assert_int_equal(count, (len >= TAR_BLOCK_BYTES + 1) + (len >= 3 * TAR_BLOCK_BYTES + 1000));
    }
}

static void headers_alone_end_by_themselves(void **state)
{
    (void)state;
    uint8_t *header = tar_build_header(&archive, 'S', "endless", "", 0);

    header[482] = 1;
    tar_build_sum(header);
    memset(archive.data + archive.used, 1,
           TAR_BUILD_ROOM - archive.used); /* each list says that one more follows */
    tar_open(&reader, archive.data, TAR_BUILD_ROOM);
    that_was_all(1, 0);

    setup(NULL);
    while (archive.used < TAR_BUILD_ROOM)
        tar_build_header(&archive, 'x', "only-overrides", "", 0);
    tar_open(&reader, archive.data, TAR_BUILD_ROOM);
    that_was_all(0, 0);

    memset(archive.data, 0xff, TAR_BUILD_ROOM);
    tar_open(&reader, archive.data, TAR_BUILD_ROOM - 1);
    that_was_all(0, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_file_lies_in_the_archive_with_its_properties, setup),
        cmocka_unit_test_setup(every_kind_that_can_be_served_is_told, setup),
        cmocka_unit_test_setup(names_are_cleaned_and_the_prefix_is_put_before_them, setup),
        cmocka_unit_test_setup(a_name_may_fill_its_field_to_the_last_byte, setup),
        cmocka_unit_test_setup(pax_records_say_name_target_size_and_time, setup),
        cmocka_unit_test_setup(gnu_long_names_and_targets_are_read, setup),
        cmocka_unit_test_setup(a_size_in_base_256_is_read, setup),
        cmocka_unit_test_setup(a_checksum_of_signed_characters_is_right_too, setup),
        cmocka_unit_test_setup(volume_labels_and_global_records_are_no_entries, setup),
        cmocka_unit_test_setup(only_an_archive_looks_like_one, setup),
        cmocka_unit_test_setup(names_that_lead_out_are_skipped, setup),
        cmocka_unit_test_setup(devices_and_unknown_kinds_are_skipped_with_their_data, setup),
        cmocka_unit_test_setup(sparse_files_are_skipped_with_all_their_lists, setup),
        cmocka_unit_test_setup(a_name_that_is_too_long_is_not_served_under_a_shorter_one, setup),
        cmocka_unit_test_setup(a_file_behind_a_bad_pax_record_is_not_served, setup),
        cmocka_unit_test_setup(what_a_record_says_is_of_the_next_entry_alone, setup),
        cmocka_unit_test_setup(behind_a_bad_checksum_the_rest_is_read, setup),
        cmocka_unit_test_setup(a_size_beyond_the_archive_costs_that_entry_alone, setup),
        cmocka_unit_test_setup(a_cut_archive_serves_what_is_whole, setup),
        cmocka_unit_test_setup(headers_alone_end_by_themselves, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
