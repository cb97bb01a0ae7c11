/* net/net.c, loop.c, ready.c, net_config.c, net_route.c: two fake NICs, from options to the ready line. */
#include "tests/host/support/net_fixture.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lib/console.h"
#include "lib/counters.h"
#include "lib/options.h"
#include "lib/page_alloc.h"
#include "lib/random.h"
#include "lib/thread.h"
#include "lwip/dns.h"
#include "lwip/netif.h"
#include "net/lwip_hooks.h"
#include "net/net.h"
#include "net/net_config.h"
#include "port/clock.h"
#include "tests/fake/fake_netdev.h"

enum { CONSOLE_BYTES = 8192, SHORT_US = 3000 };

static struct fake_netdev nic0, nic1;
static struct options options;
static char command_line[] = "ip=10.99.0.2/24 gw=10.99.0.1 ip6=fd00:99::2/64 gw6=fd00:99::1 "
                             "dns=10.99.0.53,fd00:99::53 hostname=tester net1.ip=dhcp net1.ip6=off";
static char console[CONSOLE_BYTES];
static size_t console_len;

static void keep(const char *text, size_t len)
{
    const size_t part = size_min(len, sizeof(console) - 1 - console_len);

    memcpy(console + console_len, text, part);
    console_len += part;
    console[console_len] = '\0';
}

static int start(void **state)
{
    void *memory = aligned_alloc(PAGE_BYTES, NET_FIXTURE_BYTES);
    const struct page_range range = {(uintptr_t)memory, (uintptr_t)memory + NET_FIXTURE_BYTES};

    (void)state;
    assert_int_equal(page_init(&range, 1), 0);
    random_init();
    console_set(keep, NULL);
    options_defaults(&options);
    assert_int_equal(options_parse(&options, command_line), 0);
    net_init(&options);
    fake_netdev_init(&nic0);
    fake_netdev_init(&nic1);
    memcpy(nic1.dev.name, "net1", 5);
    nic1.dev.mac[5] = 0x57;
    return 0;
}

static void turn(uint64_t us)
{
    net_wait(NULL, NULL, clock_now_us() + us);
}

static unsigned count_of(const char *text)
{
    unsigned count = 0;

    for (const char *at = console; (at = strstr(at, text)); at++)
        count++;
    return count;
}

static void a_static_address_is_ready_at_once_and_said_once(void **state)
{
    (void)state;
    assert_int_equal(net_attach(&nic0.dev, 0), 0);
    turn(SHORT_US);
    turn(SHORT_US);
    assert_int_equal(count_of("ready: net0 10.99.0.2/24 "), 1);
    assert_int_equal(count_of(" fd00:99::2/64 "), 1);
    assert_int_equal(count_of(" gw 10.99.0.1 mtu 1500 "), 1);
    const char *line = strstr(console, "ready: ");
    assert_true(line == console || line[-1] == '\n');
}

static void resolvers_of_the_command_line_are_in_use_whatever_dhcp_says(void **state)
{
    const ip_addr_t other = IPADDR4_INIT_BYTES(192, 0, 2, 53);
    ip_addr_t first, second;

    (void)state;
    dns_setserver(0, &other); /* as lwIP's DHCP does */
    net_config_name_server(0, &first);
    net_config_name_server(1, &second);
    assert_int_equal(ip_2_ip4(&first)->addr, PP_HTONL(0x0a630035));
    assert_true(IP_IS_V6_VAL(second));
    assert_int_equal(ip_2_ip6(&second)->addr[3], PP_HTONL(0x53));
    dns_setserver(0, NULL);
}

static void the_static_gateway_serves_ip4_and_only_our_own_interfaces(void **state)
{
    const ip4_addr_t dest = {PP_HTONL(0xc0000201)};
    const ip4_addr_t *gw = net_gateway4(netif_default, &dest);

    (void)state;
    assert_non_null(gw);
    assert_int_equal(gw->addr, PP_HTONL(0x0a630001));
    assert_null(net_gateway4(netif_find("lo0"), &dest));
}

static void the_static_gateway_serves_ip6_and_only_our_own_interfaces(void **state)
{
    ip6_addr_t dest = {{PP_HTONL(0x20010db8), 0, 0, 1}, 0};
    const ip6_addr_t *gw = net_gateway6(netif_default, &dest);

    (void)state;
    assert_non_null(gw);
    assert_int_equal(gw->addr[3], PP_HTONL(1));
    assert_null(net_gateway6(netif_find("lo0"), &dest));
}

static void an_idle_loop_arms_the_device_and_work_disarms_it(void **state)
{
    static const uint8_t lldp[60] = {0x52, 0x54, 0, 0x12, 0x34, 0x56, 2, 0, 0, 0, 0, 1, 0x88, 0xcc};

    (void)state;
    turn(SHORT_US);
    assert_true(nic0.arms > 0);
    assert_true(nic0.flushes > 0);
    const size_t disarms = nic0.disarms;
    fake_netdev_receive(&nic0, lldp, sizeof(lldp), 0, (struct frame_offload){0});
    turn(SHORT_US);
    assert_int_equal(nic0.disarms, disarms + 1);
}

static void the_device_gets_its_tick_about_ten_times_a_second(void **state)
{
    const size_t ticks = nic0.ticks;

    (void)state;
    turn(350 * 1000);
    assert_in_range(nic0.ticks - ticks, 2, 5);
}

static bool is_discover(const struct fake_sent *s)
{
    return s->len > 280 && s->bytes[23] == 17 && s->bytes[37] == 67 && s->bytes[42] == 1;
}

static void dhcp_asks_without_delay(void **state)
{
    (void)state;
    assert_int_equal(net_attach(&nic1.dev, 1), 0);
    assert_int_equal(nic1.sent_count, 1);
    assert_true(is_discover(&nic1.sent[0]));
    turn(SHORT_US);
    assert_true(nic1.flushes > 0);
}

static void a_reply_leaves_by_the_interface_of_its_source_address(void **state)
{
    ip4_addr_t ours, elsewhere, unknown;

    (void)state;
    IP4_ADDR(&ours, 10, 99, 0, 2);
    IP4_ADDR(&elsewhere, 192, 0, 2, 9);
    IP4_ADDR(&unknown, 10, 99, 0, 77);
    assert_ptr_equal(net_route4_by_source(&ours, &elsewhere), netif_default);
    assert_null(net_route4_by_source(&unknown, &elsewhere));
    assert_null(net_route4_by_source(NULL, &elsewhere));
    assert_null(net_route4_by_source(IP4_ADDR_ANY4, &elsewhere));
}

static bool flag_is_up(void *arg)
{
    return *(bool *)arg;
}

static void *raise_flag(void *arg)
{
    thread_sleep_until(clock_now_us() + SHORT_US);
    *(bool *)arg = true;
    return NULL;
}

static void a_wait_ends_when_its_condition_holds_while_other_threads_run(void **state)
{
    bool flag = false;

    (void)state;
    struct thread *t = thread_create(raise_flag, &flag, 0);
    assert_non_null(t);
    net_wait(flag_is_up, &flag, clock_now_us() + 5000000);
    assert_true(flag);
    thread_join(t, NULL);
}

static void no_more_nics_than_there_are_options_for(void **state)
{
    (void)state;
    assert_int_equal(net_attach(&nic1.dev, OPT_NICS_MAX), -ENOSPC);
}

static bool seen_tcp_connections;

static void look_for_connections(void *arg, const struct counter *c, uint64_t value)
{
    (void)arg;
    if (strcmp(c->name, "tcp_connections") == 0 && value == 0)
        seen_tcp_connections = true;
}

static void the_stack_shows_its_counters(void **state)
{
    (void)state;
    counters_each(look_for_connections, NULL);
    assert_true(seen_tcp_connections);
}

int main(void)
{
    /* In this order: it is one life of one machine. */
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_static_address_is_ready_at_once_and_said_once),
        cmocka_unit_test(resolvers_of_the_command_line_are_in_use_whatever_dhcp_says),
        cmocka_unit_test(the_static_gateway_serves_ip4_and_only_our_own_interfaces),
        cmocka_unit_test(the_static_gateway_serves_ip6_and_only_our_own_interfaces),
        cmocka_unit_test(an_idle_loop_arms_the_device_and_work_disarms_it),
        cmocka_unit_test(the_device_gets_its_tick_about_ten_times_a_second),
        cmocka_unit_test(dhcp_asks_without_delay),
        cmocka_unit_test(a_reply_leaves_by_the_interface_of_its_source_address),
        cmocka_unit_test(a_wait_ends_when_its_condition_holds_while_other_threads_run),
        cmocka_unit_test(no_more_nics_than_there_are_options_for),
        cmocka_unit_test(the_stack_shows_its_counters),
    };

    return cmocka_run_group_tests(tests, start, NULL);
}
