#include "drivers/qemu/fw_cfg.h"

#include <string.h>

#include "port/pio.h"

enum {
    SELECT = 0x510, /* 16 bits: which item to read, from its start */
    DATA = 0x511,   /* 8 bits: the next byte of it */
    KEY_SIGNATURE = 0x00,
    KEY_CMDLINE_SIZE = 0x14, /* 32 bits, little-endian; NUL included */
    KEY_CMDLINE_DATA = 0x15,
};

static void read_item(uint16_t key, void *to, size_t len)
{
    uint8_t *bytes = to;

    pio_write16(SELECT, key);
    for (size_t i = 0; i < len; i++)
        bytes[i] = pio_read8(DATA);
}

size_t fw_cfg_cmdline(char *text, size_t max)
{
    char signature[4];
    uint32_t size;

    text[0] = '\0';
    read_item(KEY_SIGNATURE, signature, sizeof(signature));
    if (memcmp(signature, "QEMU", sizeof(signature)) != 0)
        return 0;
    read_item(KEY_CMDLINE_SIZE, &size, sizeof(size));
    if (size == 0 || size > max)
        return 0;
    read_item(KEY_CMDLINE_DATA, text, size);
    text[size - 1] = '\0';
    return strlen(text);
}
