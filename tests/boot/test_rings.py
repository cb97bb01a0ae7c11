"""A5: rings of every size, with little memory; and what the guest says it negotiated is what the device offered."""

import re

import pytest

from clients import MIB, check_echo, iperf, mbits
from netns import GUEST6

DEVICES = {"modern": "disable-legacy=on", "legacy": "disable-modern=on", "transitional": ""}


def negotiated(guest):
    """{"transport":, "rx":, "tx":, "features": {…}} from the NIC's lines on the console."""
    found = re.search(r"net0: .* virtio ([\w ]+), .*rx (\d+) tx (\d+), ", guest.console())
    features = re.search(r"net0: negotiated: (.*)$", guest.console(), re.M)
    return {"transport": found[1], "rx": int(found[2]), "tx": int(found[3]), "features": set(features[1].split())}


def size_by_the_device(guest, queue):
    """What QEMU itself holds: newer ones don't offer just what rx_queue_size= says."""
    path = guest.qmp("x-query-virtio")[0]["path"]
    return guest.qmp("x-query-virtio-queue-status", path=path, queue=queue)["vring-num"]


@pytest.mark.parametrize("mem", [32, 64, 512])
@pytest.mark.parametrize("size", [256, 512, 1024])
@pytest.mark.parametrize("kind", ["modern", "legacy"])
def test_a5_rings_of_every_size_with_any_memory(boot, net, kind, size, mem):
    guest = boot("iperf", net, mem=mem, device=f"{DEVICES[kind]},rx_queue_size={size}")
    guest.ready()

    assert negotiated(guest)["rx"] == size_by_the_device(guest, 0)
    done = net.run("ping", "-n", "-q", "-f", "-c", 5000, "10.99.0.2", timeout=60)
    assert ", 0% packet loss" in done.stdout, done.stdout
    assert min(mbits(iperf(net, "-t", "1"))) > 0
    assert min(mbits(iperf(net, "-t", "1", "-R"))) > 0


def test_a5_a_ping_flood_of_20000_over_the_largest_ring(boot, net):
    guest = boot("iperf", net, device="rx_queue_size=1024")
    guest.ready()

    done = net.run("ping", "-n", "-q", "-f", "-c", 20000, "10.99.0.2", timeout=60)

    assert ", 0% packet loss" in done.stdout, done.stdout


@pytest.mark.parametrize("machine", ["pc", "q35"])
@pytest.mark.parametrize("kind, transport", [("modern", "modern"), ("legacy", "legacy"), ("transitional", "modern")])
def test_the_better_transport_is_taken(boot, net, machine, kind, transport):
    guest = boot("iperf", net, machine=machine, device=DEVICES[kind])
    guest.ready()

    assert negotiated(guest)["transport"] == transport
    assert ("version_1" in negotiated(guest)["features"]) == (transport == "modern")


@pytest.mark.parametrize("option, feature", [("mrg_rxbuf", "mrg"), ("event_idx", "event_idx"), ("indirect_desc", "indirect"),
                                             ("csum", "csum"), ("guest_csum", "guest_csum"), ("status", "status")])
def test_what_the_device_lacks_is_not_negotiated(boot, net, option, feature):
    guest = boot("iperf", net, device=f"{option}=off")
    guest.ready()

    assert feature not in negotiated(guest)["features"]
    check_echo(net, 4 * MIB)


@pytest.mark.parametrize("event", ["on", "off"])
@pytest.mark.parametrize("kind", ["modern", "transitional", "mmio"])
def test_a_packed_ring_carries_bytes(boot, net, kind, event):
    words = {"machine": "microvm", "model": "virtio-net-device", "qemu": ["-global", "virtio-mmio.force-legacy=false"]}
    device = [DEVICES.get(kind, ""), f"packed=on,event_idx={event},rx_queue_size=256"]
    guest = boot("iperf", net, device=",".join(word for word in device if word),
                 append="ip=10.99.0.2/24 vnet.packed=on", **(words if kind == "mmio" else {}))
    guest.ready()

    assert "packed" in negotiated(guest)["features"]
    assert ("event_idx" in negotiated(guest)["features"]) == (event == "on")
    assert net.ping(count=3) == 3
    done = net.run("ping", "-n", "-q", "-f", "-c", 2560, "10.99.0.2", timeout=60)
    assert ", 0% packet loss" in done.stdout, done.stdout
    check_echo(net, 20 * MIB)
    assert min(mbits(iperf(net, "-t", "1"))) > 0
    assert min(mbits(iperf(net, "-t", "1", "-R"))) > 0
    assert net.ping(count=3) == 3
    assert not guest.lines(r"\] (warn|error) ")


@pytest.mark.parametrize("device, words", [("packed=on", ""), ("packed=off", "vnet.packed=on"),
                                           ("packed=on,disable-modern=on", "vnet.packed=on")])
def test_the_ring_is_split_unless_both_sides_want_it_packed(boot, net, device, words):
    guest = boot("iperf", net, device=device, append=f"ip=10.99.0.2/24 {words}")
    guest.ready()

    assert "packed" not in negotiated(guest)["features"]
    check_echo(net, 4 * MIB)


@pytest.mark.parametrize("device", ["vectors=0", "disable-modern=on,vectors=0", "vectors=1", "vectors=2"])
@pytest.mark.parametrize("machine", ["pc", "q35"])
def test_few_or_no_message_interrupts(boot, net, machine, device):
    guest = boot("iperf", net, machine=machine, device=device)
    guest.ready()

    check_echo(net, 20 * MIB)
    assert net.ping(count=3) == 3


@pytest.mark.parametrize("words", [
    ["-device", "pcie-root-port,id=rp0,chassis=1,slot=1"],
    ["-device", "pcie-root-port,id=x0,chassis=1,slot=1", "-device", "pcie-pci-bridge,id=rp0,bus=x0"],
])
def test_a_nic_behind_bridges_is_found(boot, net, words):
    guest = boot("iperf", net, machine="q35", device="bus=rp0" + (",addr=5" if len(words) > 2 else ""),
                 buses=words)
    guest.ready()

    check_echo(net, 8 * MIB)
    assert net.ping(count=2, host=GUEST6) == 2


def test_several_nics_each_get_their_address(boot, net):
    net.add_tap("t1", mac="02:00:00:00:00:02")
    net.sh("ip addr add 10.99.1.1/24 dev t1")
    netdev, fds = net.netdev("n1", "t1")
    guest = boot("iperf", net, append="ip=10.99.0.2/24 net1.ip=10.99.1.2/24",
                 qemu=["-netdev", netdev, "-device", "virtio-net-pci,netdev=n1,mac=52:54:00:12:34:57,romfile="], fds=fds)
    guest.ready()

    assert net.ping(count=2) == 2
    assert net.ping(count=2, host="10.99.1.2") == 2
    check_echo(net, 4 * MIB, host="10.99.1.2")
