#include "lib/acpi_devices.h"

#include <string.h>

enum {
    STEPS_PER_BYTE =
        16, /* of the table: device blocks that overlap are nonsense, and must not cost more */
    NAME_BYTES = 4,
};

/* §20.2.2 to §20.2.5 */
enum {
    AML_ZERO = 0x00,
    AML_ONE = 0x01,
    AML_NAME = 0x08,
    AML_BYTE = 0x0a,
    AML_WORD = 0x0b,
    AML_DWORD = 0x0c,
    AML_STRING = 0x0d,
    AML_QWORD = 0x0e,
    AML_BUFFER = 0x11,
    AML_METHOD = 0x14,
    AML_EXT = 0x5b,
    AML_EXT_DEVICE = 0x82,
    AML_RETURN = 0xa4,
};

/* A piece of the table. `at` never passes `end`. */
struct aml {
    const uint8_t *at, *end;
};

struct scan {
    const char *hid;
    uint32_t eisa; /* the same, compressed; 0 = it has no such form */
    size_t steps;  /* left */
    struct acpi_device *out;
    size_t count, max;
};

static size_t left(struct aml aml)
{
    return (size_t)(aml.end - aml.at);
}

/* ---- numbers and lengths ---- */

static uint64_t little_endian(const uint8_t *from, size_t bytes)
{
    uint64_t v = 0;

    memcpy(&v, from, bytes);
    return v;
}

/* A constant integer. False, and nothing taken, for anything else. */
static bool take_integer(struct aml *aml, uint64_t *out)
{
    if (left(*aml) == 0)
        return false;
    const uint8_t op = *aml->at;
    const size_t bytes = op == AML_BYTE    ? 1
                         : op == AML_WORD  ? 2
                         : op == AML_DWORD ? 4
                         : op == AML_QWORD ? 8
                                           : 0;
    if (bytes == 0 && op != AML_ZERO && op != AML_ONE)
        return false;
    if (left(*aml) < 1 + bytes)
        return false;
    *out = bytes ? little_endian(aml->at + 1, bytes) : op;
    aml->at += 1 + bytes;
    return true;
}

/* PkgLength counts from its own first byte (§20.2.4). What it encloses; at = NULL when it leaves `aml`. */
static struct aml take_package(struct aml aml)
{
    if (left(aml) == 0)
        return (struct aml){0};
    const uint8_t lead = *aml.at;
    const size_t more = lead >> 6;
    if (left(aml) < 1 + more)
        return (struct aml){0};
    const size_t len =
        more ? (lead & 0x0fu) | (size_t)little_endian(aml.at + 1, more) << 4 : lead & 0x3fu;
    if (len < 1 + more || len > left(aml))
        return (struct aml){0};
    return (struct aml){aml.at + 1 + more, aml.at + len};
}

/* What a device block encloses, its name first; at = NULL when no block starts here. */
static struct aml device_block(struct aml aml)
{
    if (left(aml) < 2 || aml.at[0] != AML_EXT || aml.at[1] != AML_EXT_DEVICE)
        return (struct aml){0};
    return take_package((struct aml){aml.at + 2, aml.end});
}

/* ---- resources: §6.4 ---- */

static void add_range(struct acpi_device *dev, uint64_t base, uint64_t len)
{
    if (len == 0 || base > UINT64_MAX - len || dev->mem_count == ACPI_RANGES_MAX)
        return;
    dev->mem[dev->mem_count++] = (struct acpi_range){base, len};
}

static void add_irq(struct acpi_device *dev, uint32_t gsi, bool edge, bool low)
{
    if (dev->has_irq)
        return;
    dev->has_irq = true;
    dev->gsi = gsi;
    dev->irq_edge = edge;
    dev->irq_low = low;
}

/* §6.4.2.1: a mask of 16 lines, then perhaps how they trigger; without it: edge, active high. */
static void small_irq(struct acpi_device *dev, const uint8_t *body, size_t len)
{
    enum { EDGE = 1 << 0, LOW = 1 << 3 };
    const unsigned mask = len >= 2 ? (unsigned)little_endian(body, 2) : 0;
    const uint8_t how = len >= 3 ? body[2] : EDGE;

    if (mask != 0)
        add_irq(dev, (uint32_t)__builtin_ctz(mask), how & EDGE, how & LOW);
}

/* §6.4.3.6 */
static void extended_irq(struct acpi_device *dev, const uint8_t *body, size_t len)
{
    enum { EDGE = 1 << 1, LOW = 1 << 2 };

    if (len >= 6 && body[1] > 0)
        add_irq(dev, (uint32_t)little_endian(body + 2, 4), body[0] & EDGE, body[0] & LOW);
}

/* §6.4.3.5: type, two bytes of flags, then granularity, minimum, maximum, translation, length. */
static void address_space(struct acpi_device *dev, const uint8_t *body, size_t len, size_t width)
{
    enum { TYPE_MEMORY = 0, TYPE_BUS = 2, FIXED = 3 };

    if (len < FIXED + 5 * width)
        return;
    const uint64_t min = little_endian(body + FIXED + width, width);
    const uint64_t size = little_endian(body + FIXED + 4 * width, width);
    if (body[0] == TYPE_MEMORY) {
        add_range(dev, min, size);
    } else if (body[0] == TYPE_BUS && size != 0 && min <= UINT8_MAX &&
               size - 1 <= UINT8_MAX - min) {
        dev->bus_first = (uint8_t)min;
        dev->bus_last = (uint8_t)(min + size - 1);
    }
}

static void large_item(struct acpi_device *dev, uint8_t tag, const uint8_t *body, size_t len)
{
    switch (tag) {
    case 0x85: /* 32-bit memory: flags, minimum, maximum, alignment, length */
        if (len >= 17)
            add_range(dev, little_endian(body + 1, 4), little_endian(body + 13, 4));
        break;
    case 0x86: /* the same at a fixed place: flags, base, length */
        if (len >= 9)
            add_range(dev, little_endian(body + 1, 4), little_endian(body + 5, 4));
        break;
    case 0x87:
        address_space(dev, body, len, 4);
        break;
    case 0x88:
        address_space(dev, body, len, 2);
        break;
    case 0x8a:
        address_space(dev, body, len, 8);
        break;
    case 0x89:
        extended_irq(dev, body, len);
        break;
    default:
        break;
    }
}

static void read_template(struct acpi_device *dev, struct aml list)
{
    enum { LARGE = 0x80, SMALL_IRQ = 4, SMALL_END = 15 };

    while (left(list) > 0) {
        const uint8_t tag = *list.at;
        const size_t head = tag & LARGE ? 3 : 1;
        if (left(list) < head)
            return;
        const size_t len = tag & LARGE ? (size_t)little_endian(list.at + 1, 2) : tag & 7u;
        if (left(list) - head < len || (!(tag & LARGE) && tag >> 3 == SMALL_END))
            return;
        if (tag & LARGE)
            large_item(dev, tag, list.at + head, len);
        else if (tag >> 3 == SMALL_IRQ)
            small_irq(dev, list.at + head, len);
        list.at += head + len;
    }
}

/* ---- names in a device ---- */

static bool matches_hid(const struct scan *scan, struct aml value)
{
    const size_t bytes = strlen(scan->hid) + 1;
    uint64_t number;

    if (left(value) > bytes && *value.at == AML_STRING)
        return memcmp(value.at + 1, scan->hid, bytes) == 0;
    return scan->eisa != 0 && take_integer(&value, &number) && number == scan->eisa;
}

static void read_crs(struct acpi_device *dev, struct aml value)
{
    uint64_t size;

    if (left(value) == 0 || *value.at != AML_BUFFER)
        return;
    struct aml buffer = take_package((struct aml){value.at + 1, value.end});
    if (buffer.at && take_integer(&buffer, &size))
        read_template(dev, buffer);
}

/* Name (XXXX, value): where the value starts; at = NULL when no such thing is here. */
static struct aml named(struct aml aml, const char *name)
{
    if (left(aml) < 1 + NAME_BYTES || *aml.at != AML_NAME ||
        memcmp(aml.at + 1, name, NAME_BYTES) != 0)
        return (struct aml){0};
    return (struct aml){aml.at + 1 + NAME_BYTES, aml.end};
}

/* Method (XXXX) { Return (constant) …: where the constant starts. */
static struct aml returned(struct aml aml, const char *name)
{
    enum { FLAGS = 1, BODY = NAME_BYTES + FLAGS };

    if (left(aml) == 0 || *aml.at != AML_METHOD)
        return (struct aml){0};
    const struct aml block = take_package((struct aml){aml.at + 1, aml.end});
    if (!block.at || left(block) < BODY + 1 || memcmp(block.at, name, NAME_BYTES) != 0 ||
        block.at[BODY] != AML_RETURN)
        return (struct aml){0};
    return (struct aml){block.at + BODY + 1, block.end};
}

static void read_cba(struct acpi_device *dev, struct aml here)
{
    struct aml value = named(here, "_CBA");

    if (!value.at)
        value = returned(here, "_CBA");
    if (value.at)
        take_integer(&value, &dev->ecam);
}

/* Everything that stands directly in this block, devices inside it left out. True: it is one of those asked for. */
static bool read_device(struct scan *scan, struct aml block, struct acpi_device *dev)
{
    bool wanted = false;

    *dev = (struct acpi_device){0};
    while (block.at < block.end && scan->steps > 0) {
        const struct aml inner = device_block(block);
        scan->steps--;
        if (inner.at) {
            block.at = inner.end;
            continue;
        }
        const struct aml hid = named(block, "_HID");
        const struct aml crs = named(block, "_CRS");
        if (hid.at)
            wanted = matches_hid(scan, hid);
        else if (crs.at)
            read_crs(dev, crs);
        else
            read_cba(dev, block);
        block.at++;
    }
    return wanted;
}

/* "PNP0A08" → §6.1.5: three letters of five bits, four hexadecimal digits, big-endian. 0: not of that form. */
static uint32_t compress(const char *hid)
{
    uint32_t v = 0;

    if (strlen(hid) != 7)
        return 0;
    for (unsigned i = 0; i < 3; i++) {
        if (hid[i] < 'A' || hid[i] > 'Z')
            return 0;
        v = v << 5 | (uint32_t)(hid[i] - 'A' + 1);
    }
    for (unsigned i = 3; i < 7; i++) {
        const char c = hid[i];
        const bool letter = c >= 'A' && c <= 'F';
        if (!letter && (c < '0' || c > '9'))
            return 0;
        v = v << 4 | (uint32_t)(letter ? c - 'A' + 10 : c - '0');
    }
    return __builtin_bswap32(v);
}

size_t acpi_find_devices(acpi_view view, const struct acpi_facts *facts, const char *hid,
                         struct acpi_device *out, size_t max)
{
    size_t len;
    const uint8_t *dsdt = acpi_table_body(view, facts->dsdt, &len);
    if (!dsdt)
        return 0;
    struct scan scan = {
        .hid = hid, .eisa = compress(hid), .steps = STEPS_PER_BYTE * len, .out = out, .max = max};

    for (struct aml aml = {dsdt, dsdt + len};
         aml.at < aml.end && scan.steps > 0 && scan.count < max; aml.at++, scan.steps--) {
        const struct aml block = device_block(aml);
        if (block.at && read_device(&scan, block, &out[scan.count]))
            scan.count++;
    }
    return scan.count;
}

/* ---- two tables of plain structs ---- */

size_t acpi_find_ioapics(acpi_view view, const struct acpi_facts *facts, struct acpi_ioapic *out,
                         size_t max)
{
    enum { FIRST = 8, TYPE_IOAPIC = 1, IOAPIC_BYTES = 12 };
    size_t len, count = 0;
    const uint8_t *madt = acpi_table_body(view, facts->madt, &len);

    for (size_t at = FIRST; madt && at + 2 <= len && count < max;) {
        const size_t bytes = madt[at + 1];
        if (bytes < 2 || bytes > len - at)
            break;
        if (madt[at] == TYPE_IOAPIC && bytes >= IOAPIC_BYTES)
            out[count++] =
                (struct acpi_ioapic){.base = (uint32_t)little_endian(madt + at + 4, 4),
                                     .gsi_base = (uint32_t)little_endian(madt + at + 8, 4)};
        at += bytes;
    }
    return count;
}

bool acpi_find_ecam(acpi_view view, const struct acpi_facts *facts, struct acpi_ecam *out)
{
    enum { FIRST = 8, ENTRY_BYTES = 16 };
    size_t len;
    const uint8_t *mcfg = acpi_table_body(view, facts->mcfg, &len);

    if (!mcfg || len < FIRST + ENTRY_BYTES)
        return false;
    const uint8_t *entry = mcfg + FIRST;
    *out = (struct acpi_ecam){
        .base = little_endian(entry, 8), .bus_first = entry[10], .bus_last = entry[11]};
    return out->base != 0 && out->bus_first <= out->bus_last;
}
