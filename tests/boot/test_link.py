"""A11: the cable is pulled and put back."""

import threading
import time

import pytest

from netns import GUEST, GUEST6
from test_dhcp import ACK, NAK, OFFER, await_message, dnsmasq, options, reply  # noqa: F401
from wire import ARP, IP, ICMPv6EchoRequest, IPv6

BACK_WITHIN = 5  # seconds after the link is up


def outage(guest, seconds):
    guest.set_link(False)
    time.sleep(seconds)
    guest.set_link(True)


def back(net, host=GUEST):
    """Seconds until a ping is answered."""
    begin = time.monotonic()
    while not net.ping(wait=0.3, host=host):
        assert time.monotonic() - begin < BACK_WITHIN, f"{host} doesn't answer {BACK_WITHIN} s after link up"
    return time.monotonic() - begin


@pytest.mark.parametrize("device", ["", "disable-modern=on", "vectors=0", "vectors=1", "status=off"])
def test_a11_the_guest_is_back_after_an_outage(boot, net, device):
    guest = boot("iperf", net, device=device)
    guest.ready()
    assert net.ping(count=2) == 2

    outage(guest, 2)

    back(net)
    back(net, GUEST6)
    assert bool(guest.lines("net0: link down")) == bool(guest.lines("net0: link up")) == (device != "status=off")


def test_a11_a_lease_is_confirmed(boot, net, dnsmasq):  # noqa: F811
    dnsmasq()
    guest = boot("iperf", net, append="")
    address = guest.ready().split()[1].split("/")[0]

    with net.capture("udp port 67 or udp port 68", snaplen=400) as capture:
        outage(guest, 5)
        back(net, address)
        time.sleep(1)

    kinds = [data[data.index(b"\x35\x01") + 2] for _, _, data in capture.frames() if b"\x35\x01" in data[280:]]
    assert kinds[:2] == [3, 5], kinds  # REQUEST, ACK: nothing was discovered again


def test_a11_a_lease_of_another_network_is_replaced(boot, net, dnsmasq):  # noqa: F811
    first = dnsmasq()
    guest = boot("iperf", net, append="")
    guest.ready()

    guest.set_link(False)
    first.terminate()
    first.wait()
    net.sh("ip addr flush dev t0; ip addr add 10.97.0.1/24 dev t0")
    dnsmasq("--dhcp-range=10.97.0.50,10.97.0.60,1h")
    time.sleep(1)
    guest.set_link(True)

    begin = time.monotonic()
    hosts = [f"10.97.0.{n}" for n in range(50, 61)]
    while not any(net.ping(wait=0.05, host=host) for host in hosts):
        assert time.monotonic() - begin < BACK_WITHIN + 2, guest.console()


def test_a11_silence_for_the_old_lease_leads_to_a_new_one(boot, wire):
    guest = boot("iperf", wire, append="")
    reply(wire, await_message(wire, 1), OFFER)
    reply(wire, await_message(wire, 3), ACK)
    guest.ready()
    outage(guest, 1)
    begin = time.monotonic()

    request = await_message(wire, 3)
    assert options(request)["requested_addr"] == "10.99.0.2" and "server_id" not in options(request)
    discover = await_message(wire, 1)
    reply(wire, discover, OFFER, address="10.99.0.9")
    reply(wire, await_message(wire, 3), ACK, address="10.99.0.9")

    assert time.monotonic() - begin < BACK_WITHIN
    wire.arp(address="10.99.0.9")


def test_a11_a_refused_lease_is_given_up_at_once(boot, wire):
    guest = boot("iperf", wire, append="")
    reply(wire, await_message(wire, 1), OFFER)
    reply(wire, await_message(wire, 3), ACK)
    guest.ready()
    outage(guest, 1)

    reply(wire, await_message(wire, 3), NAK, dst="255.255.255.255")

    await_message(wire, 1)
    wire.send(IPv6(src="fe80::ff:fe00:1", dst=GUEST6) / ICMPv6EchoRequest())
    wire.quiet(lambda p: ARP in p and p[ARP].op == 2 and p[ARP].psrc == "10.99.0.2", 0.3)


def test_a11_a_guest_that_starts_without_a_link_gets_its_address_later(boot, net, dnsmasq):  # noqa: F811
    dnsmasq()
    guest = boot("iperf", net, append="", qemu=("-S",))
    while not guest.qmp_path().exists():
        assert guest.alive()
        time.sleep(0.01)
    guest.set_link(False)
    guest.qmp("cont")
    guest.wait_for("net0 has no address yet: the link is down")
    time.sleep(10)

    guest.set_link(True)

    assert guest.ready(BACK_WITHIN).startswith("net0 10.99.0.5")


def echo(sock, megabytes):
    """The same bytes come back, whatever happens to the link."""
    block = bytes(range(256)) * 256

    def feed():
        for _ in range(megabytes * 16):
            sock.sendall(block)

    feeder = threading.Thread(target=feed, daemon=True)
    feeder.start()
    got = 0
    while got < megabytes << 20:
        data = sock.recv(1 << 16)
        assert data, f"closed after {got} bytes"
        assert data == (block + block)[got % 256:got % 256 + len(data)]
        got += len(data)
    feeder.join(5)
    assert not feeder.is_alive()


@pytest.mark.timeout(180)
def test_a11_a_connection_outlives_a_hundred_flaps(boot, net):
    guest = boot("iperf", net)
    guest.ready()

    def flap():
        for _ in range(100):
            guest.set_link(False)
            guest.set_link(True)
            time.sleep(0.02)

    with net.connect(7, timeout=90) as sock:
        flapper = threading.Thread(target=flap, daemon=True)
        flapper.start()
        echo(sock, 64)
        flapper.join(30)
    back(net)
    metrics = net.metrics()
    assert metrics['ringlet_vnet_link_changes{nic="net0"}'] >= 2
    assert metrics['ringlet_vnet_ctrl_errors_total{nic="net0"}'] == 0
    assert len(guest.lines("net0: link ")) < 100


@pytest.mark.timeout(120)
def test_a11_a_connection_outlives_an_outage_of_5_seconds(boot, net):
    guest = boot("iperf", net)
    guest.ready()
    with net.connect(7, timeout=60) as sock:
        cut = threading.Thread(target=outage, args=(guest, 5), daemon=True)
        cut.start()
        echo(sock, 16)
        cut.join()
        echo(sock, 1)
