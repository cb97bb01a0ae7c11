"""The command line of an image: every key of docs/options.md, unknown keys, bad values."""

import re

import pytest

from guest import ROOT

ROW = re.compile(r"^\| `([a-z0-9_.]+)` \| (.*?) \| (.*?) \| .* \|$", re.M)
TABLE = ROW.findall((ROOT / "docs/options.md").read_text())
KEYS = [key for key, _, _ in TABLE]
PER_NIC = ["ip", "gw", "ip6", "gw6"]


def warnings(guest):
    return guest.lines(r"\] warn ")


def test_the_table_has_the_keys_of_the_contract():
    features = ["mrg", "csum", "guest_csum", "tso", "lro", "event_idx", "indirect", "packed", "mq", "mtu"]
    strategies = ["rxbuf", "txirq", "kick", "poll"]

    assert set(KEYS) >= {*PER_NIC, "dns", "hostname", "log", *(f"vnet.{word}" for word in features + strategies)}


@pytest.mark.parametrize("key", KEYS + [f"net{n}.{key}" for n in (0, 1, 7) for key in PER_NIC])
def test_a_bad_value_is_one_error_line_and_status_2(boot, key):
    guest = boot("hello", append=f"{key}=:?:")

    assert guest.exit_status() == 2
    errors = guest.lines(r"\] error ")
    assert len(errors) == 1
    assert re.search(rf"\b{re.escape(key)}=:\?:", errors[0]) and "allowed: " in errors[0]
    assert not guest.lines("Hello"), "the program ran"


@pytest.mark.parametrize("key, allowed, default", TABLE, ids=KEYS)
def test_each_value_that_the_table_names_is_taken_silently(boot, key, allowed, default):
    words = re.findall(r"[A-Za-z0-9:./_-]+", re.sub(r"\(.*?\)", "", allowed))
    values = [word for word in words if word in ("on", "off", "dhcp", "auto", "page", "mtu", "split", "lazy", "each", "batch",
                                                 "adaptive", "irq", "spin", "error", "warn", "info", "debug")]
    examples = {"ip": ["192.0.2.2/24", "192.0.2.2/32"], "gw": ["192.0.2.1"], "ip6": ["fd00::2/64"], "gw6": ["fe80::1"],
                "dns": ["192.0.2.3", "192.0.2.3,2001:db8::1"], "hostname": ["a", "web-1.example"],
                "vnet.rxbuf": ["64", "65536"],
                "virtio_mmio.device": ["512@0xfeb00000:5", "4K@0xd0000000:5:0"]}
    values += examples.get(key, [])
    assert values, f"nothing found in {allowed!r}"

    guests = [boot("hello", append=f"{key}={value}") for value in values]

    for guest, value in zip(guests, values):
        assert guest.exit_status() == 0, f"{key}={value}"
        assert not warnings(guest) and not guest.lines(r"\] error "), guest.console()


@pytest.mark.parametrize("typed, nearest", [("pi=dhcp", "ip"), ("lag=info", "log"), ("vnet.eventidx=off", "vnet.event_idx"),
                                            ("host-name=x", "hostname"), ("net1.gv=192.0.2.1", "net1.gw")])
def test_an_unknown_key_is_one_warning_with_the_nearest_key_and_the_image_goes_on(boot, typed, nearest):
    guest = boot("hello", append=f"{typed} -- 5")

    assert guest.exit_status() == 5
    assert len(warnings(guest)) == 1
    assert re.search(rf"\b{typed.split('=')[0]}\b.*\b{re.escape(nearest)}\b", warnings(guest)[0])


@pytest.mark.parametrize("text", ["ip", "=", "=x", "==", "nonsense", '"'])
def test_a_word_without_form_is_reported_and_never_crashes(boot, text):
    guest = boot("hello", append=f"{text} -- 5" if '"' not in text else text)

    assert guest.exit_status() in (0, 2, 5)
    assert warnings(guest) or guest.lines(r"\] error ")


def test_the_last_of_two_values_counts_with_a_warning(boot, net):
    guest = boot("iperf", net, append="ip=10.99.0.9/24 ip=10.99.0.2/24")

    assert guest.ready().startswith("net0 10.99.0.2/24")
    assert len(guest.lines(r"\] warn .*\bip\b")) == 1


def test_net0_and_the_bare_key_are_the_same(boot, net):
    guest = boot("iperf", net, append="net0.ip=10.99.0.2/24")

    assert guest.ready().startswith("net0 10.99.0.2/24")


@pytest.mark.parametrize("level, seen", [("error", set()), ("warn", set()), ("info", {"info"})])
def test_log_says_how_much_is_written(boot, level, seen):
    guest = boot("hello", append=f"log={level}")

    assert guest.exit_status() == 0
    assert set(re.findall(r"\] (error|warn|info|debug) ", guest.console())) == seen


FEATURES = {"mrg": "mrg", "event_idx": "event_idx", "indirect": "indirect", "status": "status", "csum": "csum",
            "guest_csum": "guest_csum",
            "ctrl": "ctrl", "ctrl_rx": "ctrl_rx_extra", "ctrl_mac": "ctrl_mac", "announce": "announce"}


@pytest.mark.parametrize("option, word", FEATURES.items())
def test_a_feature_switched_off_is_not_negotiated(boot, net, option, word):
    normal = boot("iperf", net)
    normal.ready()
    normal.stop()
    assert re.search(rf": .*\b{word}\b", normal.lines(r"net0: negotiated: ")[0])

    guest = boot("iperf", net, append=f"ip=10.99.0.2/24 vnet.{option}=off")
    guest.ready()

    assert not re.search(rf": .*\s{word}\b", guest.lines(r"net0: negotiated: ")[0])
    assert net.ping(count=3, size=1400) == 3


@pytest.mark.parametrize("words", ["vnet.rxbuf=page", "vnet.rxbuf=mtu", "vnet.rxbuf=split", "vnet.rxbuf=64", "vnet.rxbuf=65536",
                                   "vnet.txirq=each", "vnet.kick=each", "vnet.poll=irq", "vnet.poll=spin",
                                   "vnet.packed=on", "vnet.mq=on"])
def test_every_strategy_carries_traffic(boot, net, words):
    guest = boot("iperf", net, append=f"ip=10.99.0.2/24 {words}")
    guest.ready()

    assert net.ping(count=5, size=1400) == 5
