#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "lib/boot_info.h"
#include "lib/vfs_impl.h"
#include "tests/host/support/clock.h"
#include "tests/host/support/net_env.h"
#include "tests/host/support/tar_build.h"

enum { PAGES = 2048 };

static struct tar_build site, second, damaged;
static const uint8_t raw[] = "no archive";

static void build_site(void)
{
    tar_build_header(&site, '5', "dir/", "", 0);
    tar_build_file(&site, "dir/file", "in a directory");
    tar_build_file(&site, "a/b/c", "without entries for its directories");
    tar_build_file(&site, "plain", "first");
    tar_build_file(&site, "same", "earlier");
    tar_build_file(&site, "same", "later");
    tar_build_header(&site, '1', "hard", "dir/file", 0);
    tar_build_header(&site, '1', "lost", "no/such", 0);
    tar_build_header(&site, '2', "soft", "dir/file", 0);
    tar_build_header(&site, '2', "dir/up", "../plain", 0);
    tar_build_header(&site, '2', "escape", "../../../plain", 0);
    tar_build_header(&site, '2', "loop", "loop", 0);
    tar_build_header(&site, '2', "way", "/a/b/", 0);
    tar_build_header(&site, '2', "to-tmp", "/tmp/made", 0);
    tar_build_file(&site, "plain/below", "a file is in the way");
    tar_build_file(&site, "soft/below", "a link is not followed");
    tar_build_file(&site, "dir", "a directory does not become a file");
    tar_build_file(&site, "dev", "does not become a file");
    tar_build_file(&site, "dev/null", "stays the device");
    tar_build_file(&site, "dev/zero/below", "stays the device");
    tar_build_file(&site, "tmp/old", "is kept");
}

static int group_setup(void **state)
{
    (void)state;
    net_env_init(PAGES);
    build_site();
    tar_build_file(&second, "plain", "second");
    tar_build_file(&damaged, "whole", "is served");
    tar_build_header(&damaged, '0', "cut", "", 100000);
    boot_info.modules[0] = (struct boot_module){site.data, sizeof site.data, "/boot/site.tar"};
    boot_info.modules[1] = (struct boot_module){second.data, second.used, "second.tar"};
    boot_info.modules[2] = (struct boot_module){raw, sizeof raw - 1, "/boot/raw.bin some words"};
    boot_info.modules[3] = (struct boot_module){raw, 2, ""};
    boot_info.modules[4] = (struct boot_module){raw, 0, "/boot/empty"};
    boot_info.modules[5] = (struct boot_module){raw, 1, "/other/raw.bin"};
    boot_info.modules[6] = (struct boot_module){damaged.data, damaged.used, "damaged.tar"};
    boot_info.module_count = 7;
    vfs_root();
    assert_true(net_env_logged(
        "/boot/site.tar: 14 entries are served, 7 left out; damaged or cut short at 0 places"));
    assert_true(net_env_logged(
        "damaged.tar: 1 entries are served, 0 left out; damaged or cut short at 1 places"));
    assert_true(net_env_logged("module 5, \"raw.bin\", is left out"));
    return 0;
}

static int setup(void **state)
{
    (void)state;
    net_env_init(PAGES);
    return vfs_chdir("/");
}

static void remove_all(const char *dir)
{
    struct file *f;
    struct vfs_dirent found;
    char path[600];

    assert_int_equal(vfs_open(NULL, dir, O_RDONLY, 0, &f), 0);
    while (vfs_dir_next(f, &found) > 0) {
        if (strcmp(found.name, ".") == 0 || strcmp(found.name, "..") == 0)
            continue;
        snprintf(path, sizeof path, "%s/%s", dir, found.name);
        if (found.kind == INODE_DIR)
            remove_all(path);
        assert_int_equal(found.kind == INODE_DIR ? vfs_rmdir(NULL, path) : vfs_unlink(NULL, path),
                         0);
    }
    file_put(f);
}

static int everything_came_back(void **state)
{
    (void)state;
    assert_int_equal(vfs_chdir("/"), 0);
    remove_all("/tmp");
    assert_int_equal(ram_pages_in_use(), 0);
    assert_true(net_env_clean());
    return 0;
}

/* ---- helpers ---- */

static struct file *opened(const char *path, int flags)
{
    struct file *f = NULL;

    assert_int_equal(vfs_open(NULL, path, flags, 0666, &f), 0);
    return f;
}

static int open_error(const char *path, int flags)
{
    struct file *f;
    const int err = vfs_open(NULL, path, flags, 0666, &f);

    if (!err)
        file_put(f);
    return err;
}

static ssize_t read_some(struct file *f, void *buf, size_t len)
{
    const struct iovec iov = {buf, len};

    return f->ops->read(f, &iov, 1);
}

static ssize_t write_text(struct file *f, const char *text)
{
    const struct iovec iov = {(void *)(uintptr_t)text, strlen(text)};

    return f->ops->write(f, &iov, 1);
}

static void holds(const char *path, const char *content)
{
    char buf[200];
    struct file *f = opened(path, O_RDONLY);
    const ssize_t got = read_some(f, buf, sizeof buf - 1);

    assert_true(got >= 0);
    buf[got] = '\0';
    assert_string_equal(buf, content);
    file_put(f);
}

static void put(const char *path, const char *content)
{
    struct file *f = opened(path, O_WRONLY | O_CREAT | O_TRUNC);

    assert_int_equal(write_text(f, content), strlen(content));
    file_put(f);
}

static struct stat stat_of(const char *path)
{
    struct stat st;

    assert_int_equal(vfs_stat(NULL, path, false, &st), 0);
    return st;
}

static void real_is(const char *path, const char *expected)
{
    char buf[100];

    assert_int_equal(vfs_realpath(NULL, path, buf, sizeof buf), strlen(expected) + 1);
    assert_string_equal(buf, expected);
}

/* ---- what the archives brought ---- */

static void archives_are_the_root_and_the_last_one_wins(void **state)
{
    (void)state;
    holds("/dir/file", "in a directory");
    holds("/a/b/c", "without entries for its directories");
    holds("/plain", "second");
    holds("/same", "later");
    holds("/whole", "is served");
    assert_int_equal(open_error("/cut", O_RDONLY), -ENOENT);
}

static void what_is_no_archive_is_a_file_by_its_name_or_number(void **state)
{
    (void)state;
    holds("/modules/raw.bin", "no archive");
    holds("/modules/03", "no");
    holds("/modules/empty", "");
    assert_int_equal(open_error("/modules/x", O_CREAT | O_WRONLY), -EROFS);
}

static void properties_are_the_archives(void **state)
{
    (void)state;
    const struct stat st = stat_of("/dir/file"), dir = stat_of("/dir"), implied = stat_of("/a");

    assert_int_equal(st.st_mode, S_IFREG | 0640);
    assert_int_equal(st.st_size, 14);
    assert_int_equal(st.st_mtim.tv_sec, TAR_BUILD_MTIME);
    assert_int_equal(st.st_nlink, 2);
    assert_int_equal(stat_of("/hard").st_ino, st.st_ino);
    assert_int_equal(dir.st_mode, S_IFDIR | 0640);
    assert_int_equal(implied.st_mode, S_IFDIR | 0755);
    assert_int_equal(stat_of("/soft").st_mode, S_IFLNK | 0777);
    assert_int_equal(stat_of("/soft").st_size, 8);
}

static void an_archives_bytes_stay_where_they_are(void **state)
{
    (void)state;
    struct file *f = opened("/dir/file", O_RDONLY);
    const uint8_t *data;
    size_t len;

    assert_int_equal(vfs_map(f, &data, &len), 0);
    assert_int_equal(len, 14);
    assert_ptr_equal(data, site.data + 2 * TAR_BLOCK_BYTES);
    file_put(f);
}

static void the_archives_part_of_the_tree_is_read_only(void **state)
{
    (void)state;
    struct timespec now = {0};

    assert_int_equal(open_error("/new", O_CREAT | O_WRONLY), -EROFS);
    assert_int_equal(open_error("/plain", O_WRONLY), -EROFS);
    assert_int_equal(open_error("/plain", O_RDWR | O_TRUNC), -EROFS);
    assert_int_equal(open_error("/plain", O_RDONLY | O_CREAT), 0);
    assert_int_equal(vfs_mkdir(NULL, "/dir/new", 0777), -EROFS);
    assert_int_equal(vfs_unlink(NULL, "/plain"), -EROFS);
    assert_int_equal(vfs_rmdir(NULL, "/dir"), -EROFS);
    assert_int_equal(vfs_rename(NULL, "/plain", NULL, "/tmp/x"), -EROFS);
    assert_int_equal(vfs_symlink("x", NULL, "/x"), -EROFS);
    assert_int_equal(vfs_truncate("/plain", 0), -EROFS);
    assert_int_equal(vfs_chmod(NULL, "/plain", 0777), -EROFS);
    assert_int_equal(vfs_set_mtime(NULL, "/plain", true, now), -EROFS);
    assert_int_equal(vfs_access(NULL, "/plain", W_OK), -EROFS);
    put("/tmp/x", "x");
    assert_int_equal(vfs_rename(NULL, "/tmp/x", NULL, "/x"), -EROFS);
    holds("/plain", "second");
}

static void an_archive_may_bring_files_for_tmp(void **state)
{
    (void)state;
    holds("/tmp/old", "is kept");
    assert_int_equal(open_error("/tmp/old", O_WRONLY), -EROFS);
    assert_int_equal(vfs_unlink(NULL, "/tmp/old"), 0);
    put("/tmp/old", "new");
    holds("/tmp/old", "new");
}

static void a_flood_of_names_leaves_room_for_programs(void **state)
{
    (void)state;
    const size_t entries = vfs_entry_limit() + 100;
    uint8_t *flood = calloc(entries, TAR_BLOCK_BYTES);
    struct inode *top = inode_new(INODE_DIR, 0755);
    static struct tar_build one;
    char name[32];

    assert_true(flood && top);
    for (size_t i = 0; i < entries; i++) {
        snprintf(name, sizeof name, "d%zu/f", i);
        tar_build_init(&one);
        tar_build_header(&one, '0', name, "", 0);
        memcpy(flood + i * TAR_BLOCK_BYTES, one.data, TAR_BLOCK_BYTES);
    }
    top->names = 1;
    const size_t taken = vfs_mount_tar(top, flood, entries * TAR_BLOCK_BYTES, "flood.tar");

    assert_in_range(taken, entries / 4, entries / 2);
    assert_true(net_env_logged("flood.tar"));
    assert_true(net_env_logged("the rest is left out, there are too many"));
    put("/tmp/a", "still possible");
    holds("/tmp/a", "still possible");
    dir_clear(top);
    free(top);
    free(flood);
}

/* ---- paths ---- */

static void paths_lead_where_posix_says(void **state)
{
    (void)state;
    real_is("/", "/");
    real_is("//..//./", "/");
    real_is("/../../dir/../dir/./file", "/dir/file");
    real_is("/soft", "/dir/file");
    real_is("/dir/up", "/plain");
    real_is("/escape", "/plain");
    real_is("/way/c", "/a/b/c");
    real_is("/way/../b", "/a/b");
    real_is("/way/", "/a/b");
    holds("/way/c", "without entries for its directories");
    assert_int_equal(open_error("", O_RDONLY), -ENOENT);
    assert_int_equal(open_error("/none/x", O_RDONLY), -ENOENT);
    assert_int_equal(open_error("/plain/", O_RDONLY), -ENOTDIR);
    assert_int_equal(open_error("/plain/x", O_RDONLY), -ENOTDIR);
    assert_int_equal(open_error("/plain/..", O_RDONLY), -ENOTDIR);
    assert_int_equal(open_error("/none/..", O_RDONLY), -ENOENT);
    assert_int_equal(open_error("/soft/", O_RDONLY), -ENOTDIR);
}

static void links_are_followed_a_bounded_number_of_times(void **state)
{
    (void)state;
    char name[32], target[32];

    assert_int_equal(open_error("/loop", O_RDONLY), -ELOOP);
    assert_int_equal(open_error("/loop/x", O_RDONLY), -ELOOP);
    assert_int_equal(vfs_symlink("/plain", NULL, "/tmp/0"), 0);
    for (int i = 1; i <= VFS_SYMLINKS_MAX; i++) {
        snprintf(name, sizeof name, "/tmp/%d", i);
        snprintf(target, sizeof target, "%d", i - 1);
        assert_int_equal(vfs_symlink(target, NULL, name), 0);
    }
    holds("/tmp/15", "second");
    assert_int_equal(open_error("/tmp/16", O_RDONLY), -ELOOP);
}

static void names_and_paths_have_a_longest_length(void **state)
{
    (void)state;
    char path[VFS_PATH_MAX + 10] = "/tmp/";
    char target[VFS_PATH_MAX];

    memset(path + 5, 'n', VFS_NAME_MAX);
    put(path, "x");
    holds(path, "x");
    path[5 + VFS_NAME_MAX] = 'n';
    assert_int_equal(open_error(path, O_CREAT | O_WRONLY), -ENAMETOOLONG);
    memset(path, '/', sizeof path);
    path[VFS_PATH_MAX - 1] = '\0';
    assert_int_equal(open_error(path, O_RDONLY), 0);
    path[VFS_PATH_MAX - 1] = '/';
    path[VFS_PATH_MAX] = '\0';
    assert_int_equal(open_error(path, O_RDONLY), -ENAMETOOLONG);

    memset(target, '/', sizeof target);
    target[VFS_PATH_MAX - 1] = '\0';
    assert_int_equal(vfs_symlink(target, NULL, "/tmp/long"), 0);
    assert_int_equal(open_error("/tmp/long", O_RDONLY), 0);
    assert_int_equal(open_error("/tmp/long/a", O_RDONLY), -ENAMETOOLONG);
}

static void relative_paths_begin_at_the_working_directory_or_where_told(void **state)
{
    (void)state;
    char buf[20];
    struct file *f, *dir = opened("/dir", O_RDONLY);

    assert_int_equal(vfs_chdir("/a"), 0);
    holds("b/c", "without entries for its directories");
    holds("../plain", "second");
    assert_int_equal(vfs_getcwd(buf, sizeof buf), 3);
    assert_string_equal(buf, "/a");
    assert_int_equal(vfs_getcwd(buf, 2), -ERANGE);
    assert_int_equal(vfs_chdir("b/c"), -ENOTDIR);
    assert_int_equal(vfs_open(vfs_inode_of(dir), "file", O_RDONLY, 0, &f), 0);
    file_put(f);
    assert_int_equal(vfs_chdir_file(dir), 0);
    real_is("file", "/dir/file");
    file_put(dir);
}

static void nothing_can_be_made_in_a_directory_that_was_removed(void **state)
{
    (void)state;
    char buf[20];

    vfs_mkdir(NULL, "/tmp/d", 0777);
    assert_int_equal(vfs_chdir("/tmp/d"), 0);
    put("/tmp/x", "x");
    assert_int_equal(vfs_rmdir(NULL, "/tmp/d"), 0);
    assert_int_equal(vfs_getcwd(buf, sizeof buf), -ENOENT);
    assert_int_equal(open_error("new", O_CREAT | O_WRONLY), -ENOENT);
    assert_int_equal(vfs_mkdir(NULL, "new", 0777), -ENOENT);
    assert_int_equal(vfs_rename(NULL, "/tmp/x", NULL, "new"), -ENOENT);
    assert_int_equal(open_error("..", O_RDONLY), -ENOENT);
    assert_int_equal(open_error(".", O_RDONLY), 0);
}

/* ---- names ---- */

static void a_file_lives_while_it_has_a_name_or_is_open(void **state)
{
    (void)state;
    char buf[10];
    struct file *f = opened("/tmp/a", O_CREAT | O_EXCL | O_RDWR);

    assert_int_equal(write_text(f, "alive"), 5);
    assert_int_equal(open_error("/tmp/a", O_CREAT | O_EXCL | O_RDWR), -EEXIST);
    assert_int_equal(vfs_link(NULL, "/tmp/a", false, NULL, "/tmp/b"), 0);
    assert_int_equal(stat_of("/tmp/a").st_nlink, 2);
    assert_int_equal(vfs_unlink(NULL, "/tmp/a"), 0);
    holds("/tmp/b", "alive");
    assert_int_equal(vfs_unlink(NULL, "/tmp/b"), 0);
    assert_int_equal(ram_pages_in_use(), 1);
    assert_int_equal(f->ops->seek(f, 0, SEEK_SET), 0);
    assert_int_equal(read_some(f, buf, sizeof buf), 5);
    file_put(f);
    assert_int_equal(ram_pages_in_use(), 0);
}

static void removing_says_what_stands_in_the_way(void **state)
{
    (void)state;
    vfs_mkdir(NULL, "/tmp/d", 0777);
    put("/tmp/d/f", "");
    assert_int_equal(vfs_rmdir(NULL, "/tmp/d"), -ENOTEMPTY);
    assert_int_equal(vfs_unlink(NULL, "/tmp/d"), -EISDIR);
    assert_int_equal(vfs_unlink(NULL, "/"), -EISDIR);
    assert_int_equal(vfs_rmdir(NULL, "/tmp/d/f"), -ENOTDIR);
    assert_int_equal(vfs_rmdir(NULL, "/tmp/d/."), -EINVAL);
    assert_int_equal(vfs_rmdir(NULL, "/"), -EBUSY);
    assert_int_equal(vfs_unlink(NULL, "/tmp/none"), -ENOENT);
    assert_int_equal(vfs_rmdir(NULL, "/tmp/none"), -ENOENT);
    assert_int_equal(vfs_unlink(NULL, "/tmp/d/f"), 0);
    assert_int_equal(vfs_rmdir(NULL, "/tmp/d/"), 0);
}

static void a_rename_replaces_and_moves(void **state)
{
    (void)state;
    put("/tmp/a", "a");
    put("/tmp/b", "b");
    assert_int_equal(vfs_rename(NULL, "/tmp/a", NULL, "/tmp/b"), 0);
    holds("/tmp/b", "a");
    assert_int_equal(open_error("/tmp/a", O_RDONLY), -ENOENT);
    vfs_mkdir(NULL, "/tmp/d", 0777);
    vfs_mkdir(NULL, "/tmp/d/e", 0777);
    put("/tmp/d/e/f", "f");
    assert_int_equal(vfs_rename(NULL, "/tmp/d", NULL, "/tmp/d/e/x"), -EINVAL);
    assert_int_equal(vfs_rename(NULL, "/tmp/b", NULL, "/tmp/d"), -EISDIR);
    assert_int_equal(vfs_rename(NULL, "/tmp/d", NULL, "/tmp/b"), -ENOTDIR);
    assert_int_equal(vfs_rename(NULL, "/tmp/b", NULL, "/tmp/new/"), -ENOENT);
    assert_int_equal(vfs_rename(NULL, "/tmp/d/e", NULL, "/tmp/e"), 0);
    holds("/tmp/e/f", "f");
    real_is("/tmp/e/..", "/tmp");
    assert_int_equal(vfs_rename(NULL, "/tmp/d", NULL, "/tmp/e"), -ENOTEMPTY);
    assert_int_equal(vfs_rename(NULL, "/tmp/e", NULL, "/tmp/d"),
                     0); /* takes an empty one's place */
    holds("/tmp/d/f", "f");
    real_is("/tmp/d/..", "/tmp");
    vfs_mkdir(NULL, "/tmp/g", 0777);
    vfs_mkdir(NULL, "/tmp/g/h", 0777);
    assert_int_equal(vfs_rename(NULL, "/tmp/d", NULL, "/tmp/g/h"), 0);
    real_is("/tmp/g/h/..", "/tmp/g");
    assert_int_equal(vfs_rename(NULL, "/tmp/g/h", NULL, "/tmp/d"), 0);
    assert_int_equal(vfs_rename(NULL, "/tmp/d/f", NULL, "/tmp/d/f"), 0);
    holds("/tmp/d/f", "f");
}

static void symbolic_links_are_made_and_read(void **state)
{
    (void)state;
    char buf[20];

    assert_int_equal(vfs_symlink("made", NULL, "/tmp/l"), 0);
    assert_int_equal(vfs_readlink(NULL, "/tmp/l", buf, sizeof buf), 4);
    assert_int_equal(vfs_readlink(NULL, "/tmp/l", buf, 2), 2);
    assert_int_equal(vfs_readlink(NULL, "/plain", buf, 2), -EINVAL);
    assert_int_equal(open_error("/tmp/l", O_RDONLY), -ENOENT);
    assert_int_equal(open_error("/tmp/l", O_RDONLY | O_NOFOLLOW), -ELOOP);
    assert_int_equal(open_error("/tmp/l", O_CREAT | O_EXCL | O_WRONLY), -EEXIST);
    put("/to-tmp", "through a link of the archive");
    holds("/tmp/l", "through a link of the archive");
    assert_int_equal(vfs_symlink("", NULL, "/tmp/m"), -ENOENT);
    assert_int_equal(vfs_symlink("x", NULL, "/tmp/l"), -EEXIST);
    assert_int_equal(vfs_link(NULL, "/tmp/l", true, NULL, "/tmp/h"), 0);
    holds("/tmp/h", "through a link of the archive");
}

static void a_directory_is_read_while_it_changes(void **state)
{
    (void)state;
    char path[20];
    struct vfs_dirent found;
    unsigned seen = 0;

    for (int i = 0; i < 10; i++) {
        snprintf(path, sizeof path, "/tmp/%d", i);
        put(path, "");
    }
    struct file *f = opened("/tmp", O_RDONLY | O_DIRECTORY);

    while (vfs_dir_next(f, &found) > 0) {
        if (found.name[0] == '3') { /* the one that comes next, and one that has been */
            vfs_unlink(NULL, "/tmp/4");
            vfs_unlink(NULL, "/tmp/1");
        }
        if (found.name[0] == '5')
            put("/tmp/late", "");
        seen++;
    }
    assert_int_equal(seen, 2 + 9 + 1); /* dots, all but "4", and "late" */
    vfs_dir_rewind(f);
    assert_int_equal(vfs_dir_next(f, &found), 1);
    assert_string_equal(found.name, ".");
    file_put(f);
    f = opened("/plain", O_RDONLY);
    assert_int_equal(vfs_dir_next(f, &found), -ENOTDIR);
    file_put(f);
}

static void the_number_of_names_is_limited(void **state)
{
    (void)state;
    char path[20];
    int err = 0;
    unsigned made = 0;

    while (!err) {
        snprintf(path, sizeof path, "/tmp/%u", made);
        err = vfs_mkdir(NULL, path, 0777);
        made += !err;
    }
    assert_int_equal(err, -ENOSPC);
    assert_true(made > 1000);
    assert_int_equal(vfs_entry_count(), vfs_entry_limit());
    assert_int_equal(vfs_rmdir(NULL, "/tmp/7"), 0);
    assert_int_equal(vfs_mkdir(NULL, "/tmp/again", 0777), 0);
}

/* ---- bytes ---- */

static void writing_appends_cuts_and_leaves_holes(void **state)
{
    (void)state;
    struct file *f = opened("/tmp/a", O_CREAT | O_RDWR | O_APPEND);
    const struct iovec iov = {(char[]){"XY"}, 2};

    write_text(f, "one");
    assert_int_equal(f->ops->seek(f, 0, SEEK_SET), 0);
    write_text(f, "two");
    holds("/tmp/a", "onetwo");
    assert_int_equal(vfs_pwrite(f, &iov, 1, 1), 2);
    assert_int_equal(f->ops->seek(f, 0, SEEK_CUR), 6);
    holds("/tmp/a", "oXYtwo");
    assert_int_equal(vfs_truncate_file(f, 2), 0);
    holds("/tmp/a", "oX");
    assert_int_equal(f->ops->seek(f, -3, SEEK_END), -EINVAL);
    assert_int_equal(f->ops->seek(f, INT64_MAX, SEEK_END), -EOVERFLOW);
    assert_int_equal(f->ops->seek(f, 0, 99), -EINVAL);
    file_put(f);
    file_put(opened("/tmp/a", O_WRONLY | O_TRUNC));
    holds("/tmp/a", "");
    f = opened("/tmp/a", O_RDONLY);
    assert_int_equal(vfs_truncate_file(f, 0), -EINVAL);
    assert_int_equal(vfs_pwrite(f, &iov, 1, 0), -EBADF);
    assert_int_equal(vfs_pread(f, &iov, 1, -1), -EINVAL);
    file_put(f);
}

static void what_was_mapped_stays_until_the_file_is_closed(void **state)
{
    (void)state;
    struct file *f = opened("/tmp/a", O_CREAT | O_RDWR), *other = opened("/tmp/a", O_RDONLY);
    const uint8_t *data, *again;
    size_t len;
    char block[5000];

    memset(block, 'b', sizeof block - 1);
    block[sizeof block - 1] = '\0';
    write_text(f, block);
    write_text(f, block);
    assert_int_equal(vfs_map(f, &data, &len), 0);
    assert_int_equal(len, 9998);
    assert_int_equal(vfs_map(f, &again, &len), 0);
    assert_ptr_equal(again, data);
    assert_int_equal(vfs_truncate_file(f, 10), 0);
    assert_int_equal(vfs_unlink(NULL, "/tmp/a"), 0);
    assert_memory_equal(data, block, 10);
    assert_int_equal(data[9000], 0);
    assert_int_equal(ram_pages_in_use(), 3);
    file_put(f);
    assert_int_equal(ram_pages_in_use(), 1);
    file_put(other);

    f = opened("/tmp", O_RDONLY);
    assert_int_equal(vfs_map(f, &data, &len), -EISDIR);
    file_put(f);
    f = opened("/dev/null", O_RDONLY);
    assert_int_equal(vfs_map(f, &data, &len), -EINVAL);
    file_put(f);
}

static void times_and_modes_are_kept(void **state)
{
    (void)state;
    struct timespec then = {.tv_sec = 1234, .tv_nsec = 5678};

    assert_int_equal(vfs_umask(027), 022);
    put("/tmp/a", "a");
    assert_int_equal(vfs_umask(022), 027);
    assert_int_equal(stat_of("/tmp/a").st_mode & 0777, 0640);
    assert_true(stat_of("/tmp/a").st_mtim.tv_sec > TAR_BUILD_MTIME);
    assert_int_equal(vfs_set_mtime(NULL, "/tmp/a", true, then), 0);
    assert_int_equal(stat_of("/tmp/a").st_mtim.tv_nsec, 5678);
    put("/tmp/a", "b");
    assert_true(stat_of("/tmp/a").st_mtim.tv_sec > 1234);
    assert_int_equal(vfs_chmod(NULL, "/tmp/a", 0111), 0);
    assert_int_equal(vfs_access(NULL, "/tmp/a", X_OK), 0);
    assert_int_equal(vfs_access(NULL, "/plain", X_OK), -EACCES);
}

/* ---- devices ---- */

static void devices_do_what_their_names_say(void **state)
{
    (void)state;
    uint8_t buf[64];
    struct file *f = opened("/dev/null", O_RDWR);

    assert_int_equal(write_text(f, "gone"), 4);
    assert_int_equal(read_some(f, buf, sizeof buf), 0);
    file_put(f);
    f = opened("/dev/zero", O_RDWR);
    memset(buf, 1, sizeof buf);
    assert_int_equal(read_some(f, buf, sizeof buf), sizeof buf);
    assert_int_equal(buf[0] | buf[63], 0);
    file_put(f);
    f = opened("/dev/full", O_RDWR);
    assert_int_equal(write_text(f, "x"), -ENOSPC);
    file_put(f);
    f = opened("/dev/urandom", O_RDONLY);
    assert_int_equal(read_some(f, buf, sizeof buf), sizeof buf);
    assert_memory_not_equal(buf, buf + 32, 32);
    file_put(f);
    assert_true(S_ISCHR(stat_of("/dev/null").st_mode));
    assert_int_equal(open_error("/dev/new", O_CREAT | O_WRONLY), -EROFS);
    assert_int_equal(open_error("/dev/null", O_WRONLY | O_CREAT | O_TRUNC), 0);
}

static void a_descriptor_is_opened_again_by_its_number(void **state)
{
    (void)state;
    struct file *f = opened("/dev/null", O_RDWR), *again;

    assert_int_equal(open_error("/dev/fd/0", O_RDONLY), -ENXIO);
    assert_int_equal(fd_install(file_ref(f), 0, false), 0);
    again = opened("/dev/stdin", O_RDONLY);
    assert_ptr_equal(again, f);
    file_put(again);
    fd_close(0);
    file_put(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, everything_came_back)
        TEST(an_archive_may_bring_files_for_tmp),
        TEST(archives_are_the_root_and_the_last_one_wins),
        TEST(what_is_no_archive_is_a_file_by_its_name_or_number),
        TEST(properties_are_the_archives),
        TEST(an_archives_bytes_stay_where_they_are),
        TEST(the_archives_part_of_the_tree_is_read_only),
        TEST(a_flood_of_names_leaves_room_for_programs),
        TEST(paths_lead_where_posix_says),
        TEST(links_are_followed_a_bounded_number_of_times),
        TEST(names_and_paths_have_a_longest_length),
        TEST(relative_paths_begin_at_the_working_directory_or_where_told),
        TEST(nothing_can_be_made_in_a_directory_that_was_removed),
        TEST(a_file_lives_while_it_has_a_name_or_is_open),
        TEST(removing_says_what_stands_in_the_way),
        TEST(a_rename_replaces_and_moves),
        TEST(symbolic_links_are_made_and_read),
        TEST(a_directory_is_read_while_it_changes),
        TEST(the_number_of_names_is_limited),
        TEST(writing_appends_cuts_and_leaves_holes),
        TEST(what_was_mapped_stays_until_the_file_is_closed),
        TEST(times_and_modes_are_kept),
        TEST(devices_do_what_their_names_say),
        /* The table of descriptors keeps its page. */
        cmocka_unit_test_setup(a_descriptor_is_opened_again_by_its_number, setup),
    };

    return cmocka_run_group_tests(tests, group_setup, NULL);
}
