#include "lib/acpi.h"

#include <errno.h>
#include <string.h>

enum {
    BDA_EBDA_SEGMENT = 0x40e,
    EBDA_BYTES = 1024,
    BIOS_AREA = 0xe0000,
    BIOS_AREA_BYTES = 0x20000,
    RSDP_STEP = 16,
    RSDP_V1_BYTES = 20,
    TABLE_BYTES_MAX = 1 << 20,
    ROOT_ENTRIES_MAX = 256,
};

/* §5.2.5.3. Packed throughout: firmware tables align nothing. */
struct __attribute__((packed)) rsdp {
    char signature[8]; /* "RSD PTR " */
    uint8_t checksum;  /* over the first 20 bytes */
    char oem[6];
    uint8_t revision; /* 0: only what is above `length` */
    le32 rsdt;
    le32 length;
    le64 xsdt;
    uint8_t checksum_all;
    uint8_t reserved[3];
};
static_assert(sizeof(struct rsdp) == 36, "§5.2.5.3");

/* §5.2.6 */
struct __attribute__((packed)) table_header {
    char signature[4];
    le32 length; /* bytes, header included */
    uint8_t revision;
    uint8_t checksum;
    char oem[6];
    char oem_table[8];
    le32 oem_revision;
    le32 creator;
    le32 creator_revision;
};
static_assert(sizeof(struct table_header) == 36, "§5.2.6");

/* §5.2.3.2 */
struct __attribute__((packed)) gas {
    uint8_t space; /* enum gas_space */
    uint8_t bit_width, bit_offset, access_size;
    le64 addr;
};
enum gas_space { GAS_MEMORY = 0, GAS_IO = 1 };

/* §5.2.9 */
struct __attribute__((packed)) fadt {
    struct table_header header;
    le32 firmware_ctrl;
    le32 dsdt;
    uint8_t reserved0;
    uint8_t pm_profile;
    le16 sci_int;
    le32 smi_cmd;
    uint8_t acpi_enable, acpi_disable, s4bios_req, pstate_cnt;
    le32 pm1a_evt, pm1b_evt, pm1a_cnt, pm1b_cnt, pm2_cnt, pm_tmr, gpe0, gpe1;
    uint8_t pm1_evt_len, pm1_cnt_len, pm2_cnt_len, pm_tmr_len, gpe0_len, gpe1_len, gpe1_base;
    uint8_t cst_cnt;
    le16 lvl2_lat, lvl3_lat, flush_size, flush_stride;
    uint8_t duty_offset, duty_width, day_alarm, month_alarm, century;
    le16 boot_arch;
    uint8_t reserved1;
    le32 flags;
    struct gas reset_reg;
    uint8_t reset_value;
    le16 arm_boot_arch;
    uint8_t minor_version;
    le64 x_firmware_ctrl;
    le64 x_dsdt;
    struct gas x_pm1a_evt, x_pm1b_evt, x_pm1a_cnt, x_pm1b_cnt, x_pm2_cnt, x_pm_tmr, x_gpe0, x_gpe1;
    struct gas sleep_control, sleep_status;
};
static_assert(offsetof(struct fadt, boot_arch) == 109, "§5.2.9");
static_assert(offsetof(struct fadt, flags) == 112, "§5.2.9");
static_assert(offsetof(struct fadt, x_dsdt) == 140, "§5.2.9");
static_assert(offsetof(struct fadt, sleep_control) == 244, "§5.2.9");

enum fadt_flags { FADT_TMR_VAL_EXT = 1 << 8, FADT_HW_REDUCED_ACPI = 1 << 20 };
enum fadt_boot_arch { BOOT_ARCH_NO_CMOS_RTC = 1 << 5 };
enum { FADT_V1_BYTES = 116 };

static bool sums_to_zero(const void *p, size_t len)
{
    const uint8_t *bytes = p;
    uint8_t sum = 0;
    for (size_t i = 0; i < len; i++)
        sum = (uint8_t)(sum + bytes[i]);
    return sum == 0;
}

static uint64_t find_rsdp_in(acpi_view view, uint64_t start, uint64_t len)
{
    const uint8_t *area = view(start, len);
    if (!area)
        return 0;
    for (uint64_t i = 0; i + RSDP_V1_BYTES <= len; i += RSDP_STEP) {
        if (memcmp(area + i, "RSD PTR ", 8) == 0 && sums_to_zero(area + i, RSDP_V1_BYTES))
            return start + i;
    }
    return 0;
}

uint64_t acpi_find_rsdp(acpi_view view)
{
    const uint8_t *bda = view(BDA_EBDA_SEGMENT, 2);
    const uint64_t ebda = bda ? (uint64_t)(bda[0] | bda[1] << 8) << 4 : 0;
    uint64_t found = 0;
    if (ebda >= 0x400 && ebda + EBDA_BYTES <= 0x100000)
        found = find_rsdp_in(view, ebda, EBDA_BYTES);
    return found ? found : find_rsdp_in(view, BIOS_AREA, BIOS_AREA_BYTES);
}

/* A whole table, or NULL when its header makes no sense or (if asked for) its sum is wrong. */
static const struct table_header *table_at(acpi_view view, uint64_t phys, bool check_sum)
{
    const struct table_header *header = phys ? view(phys, sizeof(*header)) : NULL;
    if (!header)
        return NULL;
    const uint32_t length = le32_get(header->length);
    if (length < sizeof(*header) || length > TABLE_BYTES_MAX)
        return NULL;
    header = view(phys, length);
    if (!header || (check_sum && !sums_to_zero(header, length)))
        return NULL;
    return header;
}

const uint8_t *acpi_table_body(acpi_view view, uint64_t phys, size_t *len)
{
    const struct table_header *table = table_at(view, phys, true);
    if (!table)
        return NULL;
    *len = le32_get(table->length) - sizeof(*table);
    return (const uint8_t *)(table + 1);
}

static bool has_signature(const struct table_header *table, const char *signature)
{
    return memcmp(table->signature, signature, sizeof(table->signature)) == 0;
}

/* Address of the table with that signature, from a RSDT (4-byte entries) or XSDT (8-byte). 0: none. */
static uint64_t find_table(acpi_view view, const struct table_header *root, const char *signature)
{
    const size_t width = has_signature(root, "XSDT") ? 8 : 4;
    const uint8_t *entries = (const uint8_t *)(root + 1);
    const size_t count =
        size_min((le32_get(root->length) - sizeof(*root)) / width, ROOT_ENTRIES_MAX);
    for (size_t i = 0; i < count; i++) {
        uint64_t phys = 0;
        memcpy(&phys, entries + i * width, width);
        const struct table_header *table = table_at(view, phys, false);
        if (table && has_signature(table, signature))
            return phys;
    }
    return 0;
}

static const struct table_header *root_table(acpi_view view, uint64_t phys)
{
    const struct rsdp *rsdp = phys ? view(phys, RSDP_V1_BYTES) : NULL;
    if (!rsdp || memcmp(rsdp->signature, "RSD PTR ", 8) != 0 || !sums_to_zero(rsdp, RSDP_V1_BYTES))
        return NULL;
    const uint64_t rsdt = le32_get(rsdp->rsdt);
    if (rsdp->revision >= 2) {
        rsdp = view(phys, sizeof(*rsdp));
        const struct table_header *xsdt = rsdp ? table_at(view, le64_get(rsdp->xsdt), true) : NULL;
        if (xsdt && has_signature(xsdt, "XSDT"))
            return xsdt;
    }
    const struct table_header *table = table_at(view, rsdt, true);
    return table && has_signature(table, "RSDT") ? table : NULL;
}

static uint16_t port_of(le32 field)
{
    const uint32_t v = le32_get(field);
    return v <= UINT16_MAX ? (uint16_t)v : 0;
}

/* Older firmware has a shorter FADT: what is beyond its end reads as 0. */
static void read_fadt(struct acpi_facts *facts, const struct table_header *table)
{
    struct fadt fadt = {0};
    memcpy(&fadt, table, size_min(le32_get(table->length), sizeof(fadt)));

    facts->found = true;
    facts->dsdt = le64_get(fadt.x_dsdt) ? le64_get(fadt.x_dsdt) : le32_get(fadt.dsdt);
    facts->century_reg = fadt.century;
    facts->no_cmos_rtc = le16_get(fadt.boot_arch) & BOOT_ARCH_NO_CMOS_RTC;
    if (le32_get(fadt.flags) & FADT_HW_REDUCED_ACPI) {
        facts->hw_reduced = true;
        facts->sleep_control = le64_get(fadt.sleep_control.addr);
        facts->sleep_control_is_io = fadt.sleep_control.space == GAS_IO;
        return; /* §4.1: no fixed hardware, whatever else the fields hold */
    }
    facts->pm1a_cnt = port_of(fadt.pm1a_cnt);
    facts->pm1b_cnt = port_of(fadt.pm1b_cnt);
    facts->smi_cmd = port_of(fadt.smi_cmd);
    facts->acpi_enable = fadt.acpi_enable;
    facts->pm_timer = fadt.pm_tmr_len == 4 ? port_of(fadt.pm_tmr) : 0;
    facts->pm_timer_32bit = le32_get(fadt.flags) & FADT_TMR_VAL_EXT;
}

struct acpi_facts acpi_read(acpi_view view, uint64_t rsdp)
{
    struct acpi_facts facts = {0};
    const struct table_header *root = root_table(view, rsdp);
    if (!root)
        return facts;
    const struct table_header *fadt = table_at(view, find_table(view, root, "FACP"), true);
    if (fadt && le32_get(fadt->length) >= FADT_V1_BYTES)
        read_fadt(&facts, fadt);
    facts.mcfg = find_table(view, root, "MCFG");
    facts.madt = find_table(view, root, "APIC");
    return facts;
}

/* ---- \_S5 ----------------------------------------------------------------------------------------- */

/* AML encodings, ACPI 6.5 §20.2. */
enum {
    AML_ZERO = 0x00,
    AML_ONE = 0x01,
    AML_NAME = 0x08,
    AML_BYTE = 0x0a,
    AML_ROOT = '\\',
    AML_PACKAGE = 0x12,
};

struct aml {
    const uint8_t *at, *end;
};

static bool aml_byte(struct aml *aml, uint8_t *out)
{
    if (aml->at == aml->end)
        return false;
    *out = *aml->at++;
    return true;
}

/* A package element that is a small integer. */
static bool aml_integer(struct aml *aml, uint8_t *out)
{
    uint8_t op;
    if (!aml_byte(aml, &op))
        return false;
    if (op == AML_BYTE)
        return aml_byte(aml, out);
    *out = op;
    return op == AML_ZERO || op == AML_ONE;
}

/* PackageOp PkgLength NumElements element element …: the first two are SLP_TYPa and SLP_TYPb (§7.4.2). */
static bool aml_two_of_package(struct aml aml, uint8_t *a, uint8_t *b)
{
    uint8_t op, length, count;
    if (!aml_byte(&aml, &op) || op != AML_PACKAGE || !aml_byte(&aml, &length))
        return false;
    for (unsigned more = length >> 6; more > 0; more--) {
        if (!aml_byte(&aml, &length))
            return false;
    }
    if (!aml_byte(&aml, &count) || count < 1 || !aml_integer(&aml, a))
        return false;
    if (count < 2 || !aml_integer(&aml, b))
        *b = *a;
    return true;
}

int acpi_s5_types(acpi_view view, const struct acpi_facts *facts, uint8_t *type_a, uint8_t *type_b)
{
    const struct table_header *dsdt = table_at(view, facts->dsdt, false);
    if (!dsdt)
        return -ENOENT;
    const uint8_t *aml = (const uint8_t *)dsdt;
    const size_t length = le32_get(dsdt->length);
    for (size_t i = sizeof(*dsdt) + 2; i + 4 <= length; i++) {
        if (memcmp(aml + i, "_S5_", 4) != 0)
            continue;
        if (aml[i - 1] != AML_NAME && !(aml[i - 1] == AML_ROOT && aml[i - 2] == AML_NAME))
            continue;
        if (aml_two_of_package((struct aml){aml + i + 4, aml + length}, type_a, type_b))
            return 0;
    }
    return -ENOENT;
}
