/*
 * Any text as a command line: no memory error, no line too long, and a result that keeps its promises.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "lib/check.h"
#include "lib/log.h"
#include "lib/options.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static unsigned errors;

static void check_line(const char *line, size_t len)
{
    ASSERT(len > 1 && len <= LOG_LINE_MAX && line[len - 1] == '\n');
    for (size_t i = 0; i < len - 1; i++)
        ASSERT((uint8_t)line[i] >= ' ' && line[i] != 0x7f);
    const char *time_end = memchr(line, ']', len); /* the first: what follows may hold anything */
    ASSERT(time_end && len - (size_t)(time_end - line) > 8);
    errors += memcmp(time_end, "] error ", 8) == 0;
}

static bool zero(const uint8_t *addr, size_t len)
{
    for (size_t i = 0; i < len; i++)
        if (addr[i])
            return false;
    return true;
}

static void check_nic(const struct opt_nic *nic)
{
    ASSERT(nic->ip.mode <= OPT_IP_STATIC && nic->ip6.mode <= OPT_IP_STATIC);
    if (nic->ip.mode == OPT_IP_STATIC)
        ASSERT(nic->ip.prefix >= 1 && nic->ip.prefix <= 32 && !zero(nic->ip.addr, 4));
    if (nic->ip6.mode == OPT_IP_STATIC)
        ASSERT(nic->ip6.prefix >= 1 && nic->ip6.prefix <= 128 && !zero(nic->ip6.addr, 16));
    ASSERT(nic->gw_set == !zero(nic->gw, 4));
    ASSERT(nic->gw6_set == !zero(nic->gw6, 16));
}

static void check_options(const struct options *opt, const char *text, size_t size)
{
    for (size_t i = 0; i < OPT_NICS_MAX; i++)
        check_nic(&opt->nic[i]);
    for (size_t i = 0; i < OPT_DNS_MAX; i++)
        ASSERT(opt->dns[i].family == 0 || opt->dns[i].family == 4 || opt->dns[i].family == 6);
    ASSERT(strlen(opt->hostname) >= 1 && strlen(opt->hostname) <= OPT_HOSTNAME_MAX);
    ASSERT(opt->log_level <= LOG_DEBUG);
    for (size_t i = 0; i < OPT_F_COUNT; i++)
        ASSERT(opt->vnet.feature[i] <= OPT_OFF);
    ASSERT(opt->vnet.rxbuf <= OPT_RXBUF_BYTES);
    ASSERT((opt->vnet.rxbuf == OPT_RXBUF_BYTES) == (opt->vnet.rxbuf_bytes != 0));
    ASSERT(opt->vnet.txirq <= OPT_TXIRQ_EACH && opt->vnet.kick <= OPT_KICK_EACH);
    ASSERT(opt->vnet.poll <= OPT_POLL_SPIN);

    ASSERT(opt->argc >= 1 && opt->argc <= OPT_ARGV_MAX + 1 && !opt->argv[opt->argc]);
    for (int i = 1; i < opt->argc; i++)
        ASSERT(opt->argv[i] >= text && opt->argv[i] + strlen(opt->argv[i]) <= text + size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct options opt;
    char *text = malloc(size + 1); /* exactly: one byte too far is seen */
    if (!text)
        return 0;
    if (size > 0)
        memcpy(text, data, size);
    text[size] = '\0';

    errors = 0;
    log_set_level(LOG_DEBUG);
    log_set_sink(check_line);
    options_defaults(&opt);
    const int err = options_parse(&opt, text);
    ASSERT((err != 0) == (errors > 0));
    check_options(&opt, text, size);
    free(text);
    return 0;
}
