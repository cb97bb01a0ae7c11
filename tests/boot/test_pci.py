"""A3 and its neighbours: registers anywhere in memory, lines that are shared, notifications in odd places."""

import pytest

from clients import MIB, check_echo, iperf, mbits
from test_rings import DEVICES, negotiated

GIB = 1 << 30
# A 2 GiB BAR of another device fills the window below 4 GiB: firmware makes the one above it larger and uses that.
IVSHMEM = ["-object", "memory-backend-ram,id=m1,size=2G,share=on", "-device", "ivshmem-plain,memdev=m1"]
ROOT_PORT = ["-device", "pcie-root-port,id=rp0,chassis=1,slot=1,pref64-reserve=8G"]


def memory_bars(guest):
    """Addresses of the NIC's memory BARs, as QEMU sees them."""
    def devices(buses):
        for device in (device for bus in buses for device in bus["devices"]):
            yield device
            yield from devices([device["pci_bridge"]] if "devices" in device.get("pci_bridge", {}) else [])

    nic = next(device for device in devices(guest.qmp("query-pci")) if device["id"]["vendor"] == 0x1AF4
               and device["id"]["device"] in (0x1000, 0x1041))
    return [region["address"] for region in nic["regions"] if region["type"] == "memory"]


def serves(net, guest):
    guest.ready()
    assert net.ping(count=3) == 3
    check_echo(net, 16 * MIB)
    assert min(mbits(iperf(net, "-t", "1"))) > 0
    assert min(mbits(iperf(net, "-t", "1", "-R"))) > 0


@pytest.mark.parametrize("kind", ["modern", "transitional"])
@pytest.mark.parametrize("words, bus", [(IVSHMEM, ""), (ROOT_PORT, ",bus=rp0"), ([*IVSHMEM, *ROOT_PORT], ",bus=rp0")],
                         ids=["ivshmem", "port", "both"])
def test_a3_beside_large_bars(boot, net, words, bus, kind):
    guest = boot("iperf", net, machine="q35", mem="1G", buses=words, device=(DEVICES[kind] or "disable-legacy=off") + bus)

    serves(net, guest)
    assert negotiated(guest)["transport"] == "modern"
    if bus:
        assert max(memory_bars(guest)) >= 4 * GIB


@pytest.mark.parametrize("machine", ["pc", "q35"])
@pytest.mark.parametrize("kind", DEVICES)
def test_a3_rings_above_4_gib(boot, net, machine, kind):
    serves(net, boot("iperf", net, machine=machine, mem="8G", device=DEVICES[kind] or "disable-legacy=off"))


@pytest.mark.parametrize("machine, slots", [("pc", (4, 8)), ("q35", (4, 8))])
@pytest.mark.parametrize("kind", DEVICES)
def test_two_nics_share_a_line(boot, net, machine, slots, kind):
    net.add_tap("t1", mac="02:00:00:00:00:02")
    net.sh("ip addr add 10.99.1.1/24 dev t1")
    netdev, fds = net.netdev("n1", "t1")
    device = ",".join(filter(None, [DEVICES[kind] or "disable-legacy=off", "vectors=0"]))
    guest = boot("iperf", net, machine=machine, device=f"{device},addr={slots[0]:#x}",
                 append="ip=10.99.0.2/24 net1.ip=10.99.1.2/24", fds=fds,
                 qemu=["-netdev", netdev, "-device", f"virtio-net-pci,netdev=n1,mac=52:54:00:12:34:57,romfile=,{device},addr={slots[1]:#x}"])
    guest.ready()

    lines = {device["irq"] for bus in guest.qmp("query-pci") for device in bus["devices"] if device["id"]["vendor"] == 0x1AF4}
    assert len(lines) == 1, "this test wants slots that share a line"
    for host in ("10.99.0.2", "10.99.1.2"):
        assert net.ping(count=20, host=host) == 20
        check_echo(net, 8 * MIB, host=host)
    counts = {name: value for name, value in net.metrics().items() if "vnet_irqs_total" in name}
    assert all(value >= 20 for value in counts.values()), counts
    assert len(guest.lines("info vnet: net[01]: .* intx, ")) == 2


@pytest.mark.parametrize("device", ["page-per-vq=on", "modern-pio-notify=on", "page-per-vq=on,modern-pio-notify=on"])
def test_doorbells_in_other_places(boot, net, device):
    serves(net, boot("iperf", net, machine="q35", device=device))


@pytest.mark.parametrize("vectors", [3, 4, 17, 64])
def test_more_vectors_than_are_needed(boot, net, vectors):
    guest = boot("iperf", net, device=f"vectors={vectors}")

    serves(net, guest)
    assert guest.lines("info vnet: net0: .* msi-x 3, ")
