/*
 * The control queue of the fake device: commands are checked against virtio 1.2 §5.1.6.5, kept, and answered.
 * See fake_vdev.h.
 */
#include <string.h>

#include "drivers/virtio_net/spec.h"
#include "tests/fake/fake_vdev.h"

enum { ANY_LENGTH = -1 };

/* Which command needs which feature, and how long its data is. */
static const struct {
    uint8_t class, command, feature;
    int len;
    const char *unwanted; /* what is wrong when the feature is missing */
} known[] = {
    {VNET_CTRL_RX, VNET_CTRL_RX_PROMISC, VNET_F_CTRL_RX, 1, "PROMISC without CTRL_RX (§5.1.6.5.1)"},
    {VNET_CTRL_RX, VNET_CTRL_RX_ALLMULTI, VNET_F_CTRL_RX, 1,
     "ALLMULTI without CTRL_RX (§5.1.6.5.1)"},
    {VNET_CTRL_RX, VNET_CTRL_RX_NOBCAST, VNET_F_CTRL_RX_EXTRA, 1,
     "NOBCAST without CTRL_RX_EXTRA (§5.1.6.5.1)"},
    {VNET_CTRL_MAC, VNET_CTRL_MAC_TABLE_SET, VNET_F_CTRL_RX, ANY_LENGTH,
     "MAC_TABLE_SET without CTRL_RX (§5.1.6.5.2)"},
    {VNET_CTRL_MAC, VNET_CTRL_MAC_ADDR_SET, VNET_F_CTRL_MAC_ADDR, 6,
     "MAC_ADDR_SET without CTRL_MAC_ADDR (§5.1.6.5.2)"},
    {VNET_CTRL_VLAN, VNET_CTRL_VLAN_ADD, VNET_F_CTRL_VLAN, 2,
     "VLAN_ADD without CTRL_VLAN (§5.1.6.5.3)"},
    {VNET_CTRL_ANNOUNCE, VNET_CTRL_ANNOUNCE_ACK, VNET_F_GUEST_ANNOUNCE, 0,
     "ANNOUNCE_ACK without GUEST_ANNOUNCE (§5.1.6.5.4)"},
    {VNET_CTRL_MQ, VNET_CTRL_MQ_PAIRS_SET, VNET_F_MQ, 2, "VQ_PAIRS_SET without MQ (§5.1.6.5.6)"},
    {VNET_CTRL_GUEST_OFFLOADS, VNET_CTRL_GUEST_OFFLOADS_SET, VNET_F_CTRL_GUEST_OFFLOADS, 8,
     "OFFLOADS_SET without CTRL_GUEST_OFFLOADS (§5.1.6.5.8)"},
    {VNET_CTRL_NOTF_COAL, VNET_CTRL_NOTF_COAL_TX_SET, VNET_F_NOTF_COAL, 8,
     "NOTF_COAL without its feature (§5.1.6.5.9)"},
    {VNET_CTRL_NOTF_COAL, VNET_CTRL_NOTF_COAL_RX_SET, VNET_F_NOTF_COAL, 8,
     "NOTF_COAL without its feature (§5.1.6.5.9)"},
};

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] | at[1] << 8);
}

static uint32_t get32(const uint8_t *at)
{
    return get16(at) | (uint32_t)get16(at + 2) << 16;
}

static uint64_t get64(const uint8_t *at)
{
    return get32(at) | (uint64_t)get32(at + 4) << 32;
}

uint16_t fake_ctrl_queue(const struct fake_vdev *v)
{
    return fake_has(v, VNET_F_MQ) ? (uint16_t)(2 * get16(v->config + 8)) : (uint16_t)VNET_CTRLQ;
}

/* Bytes of the first address table, or 0 when the two don't fill the data exactly. */
static size_t first_table(const struct fake_ctrl_cmd *cmd)
{
    const size_t first = cmd->len < 4 ? 0 : 4 + 6 * (size_t)get32(cmd->data);

    if (!first || first + 4 > cmd->len)
        return 0;
    return first + 4 + 6 * (size_t)get32(cmd->data + first) == cmd->len ? first : 0;
}

static void check_values(struct fake_vdev *v, const struct fake_ctrl_cmd *cmd)
{
    const uint8_t *d = cmd->data;

    if (cmd->class == VNET_CTRL_RX && d[0] > 1)
        fake_violation(v, "on or off is one of 0 and 1 (§5.1.6.5.1)");
    if (cmd->class == VNET_CTRL_MAC && cmd->command == VNET_CTRL_MAC_TABLE_SET && !first_table(cmd))
        fake_violation(v, "address tables that don't fill the command (§5.1.6.5.2)");
    if (cmd->class == VNET_CTRL_MAC && cmd->command == VNET_CTRL_MAC_ADDR_SET && (d[0] & 1))
        fake_violation(v, "a multicast address as one's own (§5.1.6.5.2)");
    if (cmd->class == VNET_CTRL_VLAN && get16(d) > 4094)
        fake_violation(v, "an impossible VLAN (§5.1.6.5.3)");
    if (cmd->class == VNET_CTRL_MQ && (get16(d) < 1 || get16(d) > get16(v->config + 8)))
        fake_violation(v, "pairs that the device hasn't (§5.1.6.5.6.2)");
    if (cmd->class == VNET_CTRL_GUEST_OFFLOADS && (get64(d) & ~v->features))
        fake_violation(v, "offloads that were not negotiated (§5.1.6.5.8.2)");
}

static void check_cmd(struct fake_vdev *v, const struct fake_ctrl_cmd *cmd)
{
    for (size_t i = 0; i < ARRAY_COUNT(known); i++) {
        if (known[i].class != cmd->class || known[i].command != cmd->command)
            continue;
        if (!fake_has(v, known[i].feature))
            fake_violation(v, known[i].unwanted);
        if (known[i].len != ANY_LENGTH && cmd->len != (size_t)known[i].len)
            fake_violation(v, "a command with data of a wrong length (§5.1.6.5)");
        else
            check_values(v, cmd);
        return;
    }
    fake_violation(v, "a command that doesn't exist (§5.1.6.5)");
}

/* §5.1.6.6: two bytes, then the data in one descriptor, or two for the tables; one byte for the answer. */
static void check_framing(struct fake_vdev *v, const struct fake_chain *c,
                          const struct fake_ctrl_cmd *cmd)
{
    const bool tables = cmd->class == VNET_CTRL_MAC && cmd->command == VNET_CTRL_MAC_TABLE_SET;
    const unsigned parts = tables ? 2 : cmd->len ? 1 : 0;

    if (c->count != c->out_count + 1 || c->in_len != 1)
        fake_violation(v, "a command wants exactly one byte for its answer (§5.1.6.5)");
    if (!v->transport.legacy || fake_has(v, VNET_F_ANY_LAYOUT))
        return;
    if (c->out_count != 1 + parts || c->iov[0].len != 2 ||
        (tables && c->iov[1].len != first_table(cmd)))
        fake_violation(v, "legacy framing of a command (§5.1.6.6)");
}

static void read_cmd(struct fake_vdev *v, const struct fake_chain *c, struct fake_ctrl_cmd *cmd)
{
    uint8_t bytes[2 + FAKE_CTRL_DATA];
    size_t len = 0;

    *cmd = (struct fake_ctrl_cmd){0};
    if (c->out_len < 2 || c->out_len > sizeof(bytes)) {
        fake_violation(v, "a command that is shorter than its header, or longer than any");
        return;
    }
    for (unsigned i = 0; i < c->out_count; i++) {
        memcpy(bytes + len, c->iov[i].base, c->iov[i].len);
        len += c->iov[i].len;
    }
    cmd->class = bytes[0];
    cmd->command = bytes[1];
    cmd->len = len - 2;
    memcpy(cmd->data, bytes + 2, cmd->len);
    check_framing(v, c, cmd);
    check_cmd(v, cmd);
}

static bool refuses(const struct fake_vdev *v, const struct fake_ctrl_cmd *cmd)
{
    for (unsigned i = 0; i < v->ctrl.refuse_count; i++) {
        if (v->ctrl.refuse[i].class == cmd->class && v->ctrl.refuse[i].command == cmd->command)
            return true;
    }
    return false;
}

static void obey(struct fake_vdev *v, const struct fake_ctrl_cmd *cmd)
{
    if (cmd->class == VNET_CTRL_MQ)
        v->ctrl.pairs = get16(cmd->data);
    if (cmd->class == VNET_CTRL_ANNOUNCE) {
        v->config[6] &= (uint8_t)~VNET_S_ANNOUNCE;
        v->generation++;
    }
}

static void answer(struct fake_vdev *v, const struct fake_chain *c, const struct fake_ctrl_cmd *cmd)
{
    uint8_t *ack = c->count ? c->iov[c->count - 1].base : NULL;

    if (fake_lie(v, FAKE_CTRL_NEVER))
        return;
    if (ack && !fake_lie(v, FAKE_CTRL_ACK_UNWRITTEN)) {
        *ack = refuses(v, cmd) ? VNET_CTRL_ERR : VNET_CTRL_OK;
        if (fake_lie(v, FAKE_CTRL_ACK_ALL_ONES))
            *ack = 0xff;
        if (*ack == VNET_CTRL_OK)
            obey(v, cmd);
    }
    fake_push(v, fake_ctrl_queue(v), c->head, 1);
}

unsigned fake_ctrl_work(struct fake_vdev *v)
{
    struct fake_ctrl *ctrl = &v->ctrl;
    struct fake_chain c;
    unsigned count = 0;

    while (fake_pop(v, fake_ctrl_queue(v), &c)) {
        struct fake_ctrl_cmd *cmd = &ctrl->log[ctrl->count++ % FAKE_CTRL_LOG];

        read_cmd(v, &c, cmd);
        answer(v, &c, cmd);
        count++;
    }
    return count;
}

void fake_ctrl_refuse(struct fake_vdev *v, uint8_t class, uint8_t command)
{
    v->ctrl.refuse[v->ctrl.refuse_count].class = class;
    v->ctrl.refuse[v->ctrl.refuse_count++].command = command;
}

const struct fake_ctrl_cmd *fake_ctrl_find(const struct fake_vdev *v, uint8_t class,
                                           uint8_t command)
{
    for (unsigned i = v->ctrl.count; i > 0 && v->ctrl.count - i < FAKE_CTRL_LOG; i--) {
        const struct fake_ctrl_cmd *cmd = &v->ctrl.log[(i - 1) % FAKE_CTRL_LOG];

        if (cmd->class == class && cmd->command == command)
            return cmd;
    }
    return NULL;
}
