/*
 * A QEMU plugin that counts the guest's instructions, in a file that others may watch while it runs.
 *
 *   qemu-system-x86_64 -accel tcg -plugin insn_plugin.so,counts=PATH …
 *
 * The file is mapped memory (struct insn_counts): the counts in it are live, so a measurement reads them before and
 * after, and nobody has to talk to QEMU. One processor only. An iteration of a repeated string instruction counts as one
 * instruction, because QEMU enters the block again for each; a block that an interrupt or a fault leaves early counts whole.
 *
 * Places: each block is counted by its address as well, so that a profile by symbol can be made. Blocks that find no room
 * are counted in the last place, whose address is 0.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "tests/bench/qemu_api.h"

enum { PLACES = 1 << 16, PROBES = 64, MAGIC = 0x6e736e69 /* "insn" */ };

struct insn_place {
    uint64_t address; /* of the block's first instruction; 0 = not used */
    uint64_t count;   /* instructions executed in blocks that begin there */
};

struct insn_counts {
    uint64_t magic, places;
    struct insn_place place[PLACES];
};

static struct insn_counts *counts;

int qemu_plugin_version = QEMU_API;

static struct insn_place *place_of(uint64_t address)
{
    const uint64_t hash = address * 0x9e3779b97f4a7c15u >> 48;

    for (unsigned i = 0; i < PROBES; i++) {
        struct insn_place *p = &counts->place[(hash + i) % (PLACES - 1)];

        if (p->address == address || p->address == 0) {
            p->address = address;
            return p;
        }
    }
    return &counts->place[PLACES - 1];
}

/* For a QEMU without inline counters: the number of instructions is the low half of what is handed over. */
static void on_block(unsigned int vcpu, void *userdata)
{
    const uintptr_t packed = (uintptr_t)userdata;

    (void)vcpu;
    counts->place[packed >> 16].count += packed & 0xffff;
}

static void on_translation(qemu_plugin_id_t id, struct qemu_plugin_tb *tb)
{
    const size_t insns = qemu_plugin_tb_n_insns(tb);
    struct insn_place *place = place_of(qemu_plugin_tb_vaddr(tb));
    const uintptr_t idx = (uintptr_t)(place - counts->place);

    (void)id;
    if (qemu_plugin_register_vcpu_tb_exec_inline)
        qemu_plugin_register_vcpu_tb_exec_inline(tb, QEMU_PLUGIN_INLINE_ADD_U64, &place->count,
                                                 insns);
    else
        qemu_plugin_register_vcpu_tb_exec_cb(tb, on_block, QEMU_PLUGIN_CB_NO_REGS,
                                             (void *)(idx << 16 | insns));
}

static struct insn_counts *map_file(const char *path)
{
    const int fd = open(path, O_RDWR | O_CREAT, 0600);

    if (fd < 0)
        return NULL;
    void *memory = MAP_FAILED;
    if (ftruncate(fd, sizeof(struct insn_counts)) == 0)
        memory = mmap(NULL, sizeof(struct insn_counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv)
{
    (void)info;
    if (argc != 1 || strncmp(argv[0], "counts=", 7) != 0) {
        fprintf(stderr, "insn_plugin: counts=PATH is wanted\n");
        return -1;
    }
    counts = map_file(argv[0] + 7);
    if (!counts) {
        perror(argv[0] + 7);
        return -1;
    }
    counts->places = PLACES;
    counts->magic = MAGIC;
    qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
    return 0;
}
