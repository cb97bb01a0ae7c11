/*
 * The part of QEMU's plugin interface that is used here, declared from its documentation
 * (docs/devel/tcg-plugins.rst): Debian packages QEMU without the header.
 *
 * The inline counters of QEMU 7.2 and 8 were replaced in QEMU 9 by ones that need QEMU's own memory; callbacks exist
 * in all. Both are weak here: what the running QEMU has is used.
 */
#ifndef TESTS_BENCH_QEMU_API_H
#define TESTS_BENCH_QEMU_API_H

#include <stddef.h>
#include <stdint.h>

#ifndef QEMU_API
#define QEMU_API 1 /* the interface's version: 1 up to QEMU 8.1, later ones accept 2 */
#endif

typedef uint64_t qemu_plugin_id_t;
struct qemu_plugin_tb; /* a translated block: instructions that run one after another */
struct qemu_info;      /* about the emulator; not looked at */

enum qemu_plugin_op { QEMU_PLUGIN_INLINE_ADD_U64 };
enum qemu_plugin_cb_flags { QEMU_PLUGIN_CB_NO_REGS };

/* Called whenever QEMU translates a block, which it may do again for the same code. */
void qemu_plugin_register_vcpu_tb_trans_cb(qemu_plugin_id_t id,
                                           void (*cb)(qemu_plugin_id_t id,
                                                      struct qemu_plugin_tb *tb));

size_t qemu_plugin_tb_n_insns(const struct qemu_plugin_tb *tb);
uint64_t qemu_plugin_tb_vaddr(const struct qemu_plugin_tb *tb);

/* Add imm to *ptr each time the block is entered. */
__attribute__((weak)) void qemu_plugin_register_vcpu_tb_exec_inline(struct qemu_plugin_tb *tb,
                                                                    enum qemu_plugin_op op,
                                                                    void *ptr, uint64_t imm);

/* Call cb each time the block is entered. */
void qemu_plugin_register_vcpu_tb_exec_cb(struct qemu_plugin_tb *tb,
                                          void (*cb)(unsigned int vcpu, void *userdata),
                                          enum qemu_plugin_cb_flags flags, void *userdata);

/* What a plugin has. */
extern int qemu_plugin_version;
int qemu_plugin_install(qemu_plugin_id_t id, const struct qemu_info *info, int argc, char **argv);

#endif
