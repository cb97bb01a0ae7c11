/* QEMU's configuration device, there or not, and its command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "drivers/qemu/fw_cfg.h"
#include "tests/host/support/bus.h"

static struct {
    const char *signature, *cmdline;
    uint32_t size;
    uint16_t key;
    unsigned at;
} fake;

static uint32_t read_port(void *arg, uint64_t offset, unsigned bytes)
{
    (void)arg;
    if (offset != 1 || bytes != 1)
        return UINT32_MAX;
    const unsigned at = fake.at++;
    switch (fake.key) {
    case 0x00:
        return at < 4 ? (uint8_t)fake.signature[at] : 0;
    case 0x14:
        return at < 4 ? fake.size >> 8 * at & 0xff : 0;
    case 0x15:
        return at < fake.size ? (uint8_t)fake.cmdline[at] : 0;
    default:
        return 0;
    }
}

static void write_port(void *arg, uint64_t offset, unsigned bytes, uint32_t v)
{
    (void)arg;
    assert_true(offset == 0 && bytes == 2);
    fake.key = (uint16_t)v;
    fake.at = 0;
}

static void start(const char *signature, const char *cmdline, uint32_t size)
{
    static const struct host_bus_ops ops = {read_port, write_port};

    fake.signature = signature;
    fake.cmdline = cmdline;
    fake.size = size;
    host_bus_reset();
    host_bus_attach(true, 0x510, 2, &ops, &fake);
}

static void the_command_line_is_read(void **state)
{
    char text[16];
    (void)state;
    start("QEMU", "a=b c", 6);
    assert_int_equal(fw_cfg_cmdline(text, sizeof(text)), 5);
    assert_string_equal(text, "a=b c");
    start("QEMU", "a\0 c", 5);
    assert_int_equal(fw_cfg_cmdline(text, sizeof(text)), 1);
    start("QEMU", "0123456789abcdef", 16); /* without its end */
    assert_int_equal(fw_cfg_cmdline(text, sizeof(text)), 15);
}

static void nothing_is_read_where_there_is_nothing_or_too_much(void **state)
{
    char text[16] = "x";
    (void)state;
    start("QEMU", "", 0);
    assert_int_equal(fw_cfg_cmdline(text, sizeof(text)), 0);
    assert_string_equal(text, "");
    start("QEMU", "0123456789abcdef", 17);
    assert_int_equal(fw_cfg_cmdline(text, sizeof(text)), 0);
    start("XEMU", "a", 2);
    assert_int_equal(fw_cfg_cmdline(text, sizeof(text)), 0);
    host_bus_reset();
    assert_int_equal(fw_cfg_cmdline(text, sizeof(text)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_command_line_is_read),
        cmocka_unit_test(nothing_is_read_where_there_is_nothing_or_too_much),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
