#include "net/ready.h"

#include <stdio.h>
#include <string.h>

#include "lib/console.h"
#include "lib/log.h"
#include "lib/options.h"
#include "net/net_config.h"
#include "port/clock.h"

enum { COMPLAIN_US = 5 * 1000 * 1000, LINE_BYTES = 512 };

static const struct vif *nics[OPT_NICS_MAX];
static size_t nic_count;
static size_t said_count;
static bool said[OPT_NICS_MAX], complained;

void ready_add(const struct vif *vif)
{
    nics[nic_count++] = vif;
}

static void say_ready(void)
{
    char text[LINE_BYTES - 64];
    char line[LINE_BYTES];
    const uint64_t now_us = clock_now_us();

    net_config_text(nics[0], text, sizeof(text));
    const int len =
        snprintf(line, sizeof(line), "ready: %s %s after %u.%06u s\n", nics[0]->dev->name, text,
                 (unsigned)(now_us / 1000000), (unsigned)(now_us % 1000000));
    console_fresh_line();
    console_write(line, size_min((size_t)len, sizeof(line) - 1));
}

static void say(size_t i)
{
    char text[LINE_BYTES - 64];

    said[i] = true;
    if (i == 0) {
        say_ready();
        return;
    }
    net_config_text(nics[i], text, sizeof(text));
    log_info("net", "%s %s", nics[i]->dev->name, text);
}

static void complain(const struct vif *vif)
{
    if (complained || clock_now_us() < COMPLAIN_US)
        return;
    complained = true;
    if (!vif->dev->link_up)
        log_warn("net", "%s has no address yet: the link is down", vif->dev->name);
    else if (vif->dhcp)
        log_warn("net", "%s has no address yet: no DHCP server answers; ip=A.B.C.D/N sets one",
                 vif->dev->name);
    else
        log_warn("net", "%s has no usable address yet", vif->dev->name);
}

void ready_check(void)
{
    if (said_count == nic_count)
        return;
    for (size_t i = 0; i < nic_count; i++) {
        if (said[i])
            continue;
        if (!net_config_usable(nics[i])) {
            complain(nics[i]);
            continue;
        }
        said_count++;
        say(i);
    }
}
