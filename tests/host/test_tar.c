#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "lib/tar.h"

/* An archive that is put together by hand, so that it can also be wrong. */
enum { ROOM = 64 * TAR_BLOCK_BYTES };
static uint8_t archive[ROOM];
static size_t used;

static struct tar_reader reader;
static struct tar_entry entry;

static int setup(void **state)
{
    (void)state;
    memset(archive, 0, sizeof archive);
    used = 0;
    return 0;
}

static void sum_header(uint8_t *header)
{
    unsigned sum = 0;
    char text[8];

    memset(header + 148, ' ', 8);
    for (size_t i = 0; i < TAR_BLOCK_BYTES; i++)
        sum += header[i];
    snprintf(text, sizeof text, "%06o", sum);
    memcpy(header + 148, text, 7);
}

/* A header at the end of the archive; gives it, to be changed and summed again. */
static uint8_t *add_header(char type, const char *name, const char *target, size_t size)
{
    uint8_t *header = archive + used;
    char text[16];

    assert_true(used + TAR_BLOCK_BYTES <= ROOM);
    memset(header, 0, TAR_BLOCK_BYTES);
    memcpy(header, name, strnlen(name, 100));
    memcpy(header + 100, "0000640", 8);
    snprintf(text, sizeof text, "%011o", (unsigned)size);
    memcpy(header + 124, text, 12);
    memcpy(header + 136, "14524770421", 12);
    header[156] = (uint8_t)type;
    memcpy(header + 157, target, strnlen(target, 100));
    memcpy(header + 257, "ustar\00000", 8);
    sum_header(header);
    used += TAR_BLOCK_BYTES;
    return header;
}

static void add_data(const char *data, size_t len)
{
    const size_t room = (len + TAR_BLOCK_BYTES - 1) / TAR_BLOCK_BYTES * TAR_BLOCK_BYTES;

    assert_true(used + room <= ROOM);
    memset(archive + used, 0, room);
    memcpy(archive + used, data, len);
    used += room;
}

static void add_file(const char *name, const char *content)
{
    add_header('0', name, "", strlen(content));
    add_data(content, strlen(content));
}

/* pax: a record for what follows. */
static void add_pax(const char *key, const char *value)
{
    char record[2 * TAR_PATH_MAX];
    int len = snprintf(record, sizeof record, "%d %s=%s\n", 0, key, value) - 1;
    char digits[16];

    for (int before = 0; before != len;) {
        before = len;
        len = snprintf(digits, sizeof digits, "%d", before) + (int)strlen(key) +
              (int)strlen(value) + 3;
    }
    snprintf(record, sizeof record, "%d %s=%s\n", len, key, value);
    add_header('x', "pax", "", (size_t)len);
    add_data(record, (size_t)len);
}

static void open_archive(void)
{
    tar_open(&reader, archive, used + 2 * TAR_BLOCK_BYTES);
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
    add_file("a.txt", "hello");
    open_archive();

    next_is_file("a.txt", "hello");
    assert_ptr_equal(entry.data, archive + TAR_BLOCK_BYTES);
    assert_int_equal(entry.mode, 0640);
    assert_int_equal(entry.mtime, 014524770421);
    that_was_all(0, 0);
}

static void every_kind_that_can_be_served_is_told(void **state)
{
    (void)state;
    add_header('5', "dir/", "", 0);
    add_header('0', "old-dir/", "", 0);
    add_header('2', "soft", "../a//b", 0);
    add_header('1', "hard", "./dir//a", 0);
    add_header('7', "contiguous", "", 0);
    add_header('\0', "ancient", "", 0);
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
    add_file("./a//b/./c", "");
    add_file("/abs", "");
    add_header('5', "./", "", 0);
    uint8_t *header = add_header('0', "name", "", 0);
    memcpy(header + 345, "some/where", 10);
    sum_header(header);
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
    add_file(name, "x");
    open_archive();

    next_is_file(name, "x");
}

static void pax_records_say_name_target_size_and_time(void **state)
{
    (void)state;
    add_pax("path", "a/long/name");
    add_pax("mtime", "1700000000.25");
    add_pax("size", "3");
    add_header('0', "short", "", 0);
    add_data("abc", 3);
    add_pax("linkpath", "far/away");
    add_header('2', "soft", "near", 0);
    add_file("next", "n");
    open_archive();

    next_is_file("a/long/name", "abc");
    assert_int_equal(entry.mtime, 1700000000);
    next_is(TAR_SYMLINK, "soft");
    assert_string_equal(entry.target, "far/away");
    next_is_file("next", "n");
    assert_int_equal(entry.mtime, 014524770421);
    that_was_all(0, 0);
}

static void gnu_long_names_and_targets_are_read(void **state)
{
    (void)state;
    char name[301];

    memset(name, 'n', 300);
    name[300] = '\0';
    add_header('L', "././@LongLink", "", 301);
    add_data(name, 301);
    add_header('0', "nnnn", "", 1);
    add_data("1", 1);
    add_header('K', "././@LongLink", "", 301);
    add_data(name, 301);
    add_header('2', "soft", "nnnn", 0);
    open_archive();

    next_is_file(name, "1");
    next_is(TAR_SYMLINK, "soft");
    assert_string_equal(entry.target, name);
    that_was_all(0, 0);
}

static void a_size_in_base_256_is_read(void **state)
{
    (void)state;
    uint8_t *header = add_header('0', "a", "", 0);

    memset(header + 124, 0, 12);
    header[124] = 0x80;
    header[135] = 4;
    sum_header(header);
    add_data("four", 4);
    open_archive();

    next_is_file("a", "four");
}

static void a_checksum_of_signed_characters_is_right_too(void **state)
{
    (void)state;
    uint8_t *header = add_header('0', "\xff\xfe", "", 0);
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
    add_header('V', "label", "", 0);
    add_header('g', "global", "", 20);
    add_data("20 comment=whatever\n", 20);
    add_file("a", "");
    open_archive();

    next_is(TAR_FILE, "a");
    that_was_all(0, 0);
}

static void only_an_archive_looks_like_one(void **state)
{
    (void)state;
    add_file("a", "");
    assert_true(tar_looks_like(archive, used));
    assert_false(tar_looks_like(archive, TAR_BLOCK_BYTES - 1));
    assert_false(tar_looks_like(archive, 0));
    assert_false(tar_looks_like(archive + TAR_BLOCK_BYTES, TAR_BLOCK_BYTES)); /* zeros */
    archive[0]++;
    assert_false(tar_looks_like(archive, used));
}

/* ---- what it refuses ---- */

static void names_that_lead_out_are_skipped(void **state)
{
    (void)state;
    add_file("../a", "x");
    add_file("a/../../b", "x");
    add_file("a/..", "x");
    add_header('1', "hard", "../../etc/passwd", 0);
    add_pax("path", "/..");
    add_file("short", "x");
    add_file("..a/...", "fine");
    open_archive();

    next_is_file("..a/...", "fine");
    that_was_all(5, 0);
}

static void devices_and_unknown_kinds_are_skipped_with_their_data(void **state)
{
    (void)state;
    add_header('3', "char", "", 0);
    add_header('6', "fifo", "", 0);
    add_header('Z', "unknown", "", 5);
    add_data("bytes", 5);
    add_file("a", "x");
    open_archive();

    next_is_file("a", "x");
    that_was_all(3, 0);
}

static void sparse_files_are_skipped_with_all_their_lists(void **state)
{
    (void)state;
    uint8_t *header = add_header('S', "sparse", "", 5);

    header[482] = 1;
    sum_header(header);
    used += 2 * TAR_BLOCK_BYTES; /* two lists; the first says that there is one more */
    archive[TAR_BLOCK_BYTES + 504] = 1;
    memcpy(archive + 2 * TAR_BLOCK_BYTES, "list", 4);
    add_data("bytes", 5);
    add_pax("GNU.sparse.major", "1");
    add_file("also-sparse", "x");
    add_file("a", "x");
    open_archive();

    next_is_file("a", "x");
    that_was_all(2, 0);
}

static void a_name_that_is_too_long_is_not_served_under_a_shorter_one(void **state)
{
    (void)state;
    static char name[TAR_PATH_MAX + 1];

    memset(name, 'n', TAR_PATH_MAX);
    add_pax("path", name);
    add_file("short", "x");
    add_header('L', "long", "", TAR_PATH_MAX);
    add_data(name, TAR_PATH_MAX);
    add_file("short", "x");
    add_header('L', "nul", "", 3);
    add_data("a\0b", 3);
    add_file("short", "x");
    add_file("a", "x");
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
        add_header('x', "pax", "", strlen(bad[i]));
        add_data(bad[i], strlen(bad[i]));
        add_file("short", "x");
        add_file("a", "x");
        open_archive();

        next_is_file("a", "x");
        that_was_all(1, 0);
    }
}

static void what_a_record_says_is_of_the_next_entry_alone(void **state)
{
    (void)state;
    add_pax("path", "../out");
    add_file("skipped", "x");
    add_file("a", "x");
    open_archive();

    next_is_file("a", "x");
    that_was_all(1, 0);
}

/* ---- damage ---- */

static void behind_a_bad_checksum_the_rest_is_read(void **state)
{
    (void)state;
    add_file("a", "1");
    archive[used + 148] = 'x';
    used += TAR_BLOCK_BYTES;
    add_data("its data", 8);
    used += TAR_BLOCK_BYTES; /* and zeros, which are not the end there */
    add_file("b", "2");
    open_archive();

    next_is_file("a", "1");
    next_is_file("b", "2");
    that_was_all(0, 1);
}

static void a_size_beyond_the_archive_costs_that_entry_alone(void **state)
{
    (void)state;
    add_header('0', "huge", "", 077777777777);
    add_file("b", "2");
    add_pax("size", "18446744073709551000");
    add_header('0', "huger", "", 0);
    uint8_t *header = add_header('0', "negative", "", 0);
    memset(header + 124, 0xff, 12);
    sum_header(header);
    add_file("c", "3");
    open_archive();

    next_is_file("b", "2");
    next_is_file("c", "3");
    that_was_all(0, 3);
}

static void a_cut_archive_serves_what_is_whole(void **state)
{
    (void)state;
    add_file("a", "1");
    add_header('0', "b", "", 1000);
    add_data((const char[1000]){"some"}, 1000);

    for (size_t len = 0; len < used; len++) {
        tar_open(&reader, archive, len);
        unsigned count = 0;

        while (tar_next(&reader, &entry)) {
            assert_true(entry.data >= archive && entry.data + entry.size <= archive + len);
            count++;
        }
        assert_int_equal(count, (len >= TAR_BLOCK_BYTES + 1) + (len >= 3 * TAR_BLOCK_BYTES + 1000));
    }
}

static void headers_alone_end_by_themselves(void **state)
{
    (void)state;
    uint8_t *header = add_header('S', "endless", "", 0);

    header[482] = 1;
    sum_header(header);
    memset(archive + used, 1, ROOM - used); /* each list says that one more follows */
    tar_open(&reader, archive, ROOM);
    that_was_all(1, 0);

    setup(NULL);
    while (used < ROOM)
        add_header('x', "only-overrides", "", 0);
    tar_open(&reader, archive, ROOM);
    that_was_all(0, 0);

    memset(archive, 0xff, ROOM);
    tar_open(&reader, archive, ROOM - 1);
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
