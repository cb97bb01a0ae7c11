"""QEMU's microvm: virtio-mmio of both versions, its interrupts through I/O APICs, PCIe that nobody has set up, and no old devices."""

import pytest

from clients import MIB, check_echo, iperf, mbits
from guest import ADDRESS
from netns import GUEST6
from test_loaders import pvh_only
from test_rings import negotiated

MMIO = "virtio-net-device"
MODERN = ["-global", "virtio-mmio.force-legacy=false"]
VERSIONS = {"mmio legacy": [], "mmio": MODERN}
# Where microvm has its eight devices without ACPI. It fills them from the last one down.
PLACES = " ".join(f"virtio_mmio.device=512@{0xfeb00000 + 512 * i:#x}:{5 + i}" for i in range(8))


def interrupts(net):
    """Of the first NIC, so far."""
    return next(value for name, value in net.metrics().items() if 'vnet_irqs_total{nic="net0"' in name)


def interrupts_come(net, guest):
    """Not just the tick: it comes ten times a second, and a ping takes much less."""
    before = interrupts(net)
    assert net.ping(count=20) == 20
    assert interrupts(net) - before >= 20
    assert not guest.lines("no interrupt")


@pytest.mark.parametrize("transport", VERSIONS)
@pytest.mark.parametrize("machine", ["microvm", "microvm,pic=off,pit=off,rtc=off", "microvm,ioapic2=off"])
def test_a_nic_found_by_acpi_works(boot, net, machine, transport):
    guest = boot("iperf", net, machine=machine, model=MMIO, qemu=VERSIONS[transport])
    assert guest.ready().startswith("net0 10.99.0.2/24 ")

    assert negotiated(guest)["transport"] == transport
    interrupts_come(net, guest)
    check_echo(net, 16 * MIB)
    assert min(mbits(iperf(net, "-t", "1"))) > 0
    assert min(mbits(iperf(net, "-t", "1", "-R"))) > 0
    assert net.ping(count=2, host=GUEST6) == 2


@pytest.mark.parametrize("transport", VERSIONS)
@pytest.mark.parametrize("machine", ["microvm,acpi=off", "microvm,acpi=off,pic=off", "microvm,acpi=off,pit=off"])
def test_a_nic_found_by_the_command_line_works(boot, net, machine, transport):
    guest = boot("iperf", net, machine=machine, model=MMIO, qemu=VERSIONS[transport], append=f"{ADDRESS} {PLACES}")
    guest.ready()

    assert negotiated(guest)["transport"] == transport
    assert not guest.lines(r"\] error ")
    interrupts_come(net, guest)
    check_echo(net, 8 * MIB)


def test_what_qemu_tells_its_own_device_is_enough(boot, net):
    """A multiboot kernel's command line lacks what QEMU adds for others."""
    guest = boot("iperf", net, machine="microvm,acpi=off", model=MMIO)
    guest.ready()

    interrupts_come(net, guest)
    check_echo(net, 4 * MIB)


def test_what_qemu_adds_to_a_pvh_command_line_is_enough(boot, net, tmp_path):
    guest = boot(pvh_only(tmp_path, "iperf"), net, machine="microvm,acpi=off", model=MMIO)
    guest.ready()

    assert guest.lines(r"info boot: Ringlet .*, PVH, ")
    interrupts_come(net, guest)


def test_two_nics_each_work(boot, net):
    net.add_tap("t1", mac="02:00:00:00:00:02")
    net.sh("ip addr add 10.99.1.1/24 dev t1")
    netdev, fds = net.netdev("n1", "t1")
    guest = boot("iperf", net, machine="microvm", model=MMIO, append=f"{ADDRESS} net1.ip=10.99.1.2/24", fds=fds,
                 qemu=["-netdev", netdev, "-device", f"{MMIO},netdev=n1,mac=52:54:00:12:34:57"])
    guest.ready()

    assert net.ping(count=2) == 2
    assert net.ping(count=2, host="10.99.1.2") == 2
    check_echo(net, 4 * MIB, host="10.99.1.2")


def test_a_second_nic_with_the_first_ones_line_harms_nobody(boot, net):
    guest = boot("iperf", net, machine="microvm,acpi=off", model=MMIO,
                 append=f"{ADDRESS} virtio_mmio.device=512@0xfeb00e00:12 virtio_mmio.device=512@0xfeb00c00:12",
                 qemu=["-device", MMIO])
    guest.ready()

    assert guest.lines("info vnet: net1: feb00c00 virtio mmio legacy, line")
    interrupts_come(net, guest)
    check_echo(net, 4 * MIB)


@pytest.mark.parametrize("device", ["", "disable-legacy=on", "vectors=0", "vectors=1", "vectors=2"])
def test_pcie_without_firmware_works(boot, net, device):
    guest = boot("iperf", net, machine="microvm,pcie=on", device=device)
    guest.ready()

    assert negotiated(guest)["transport"] == "modern"
    check_echo(net, 8 * MIB)
    assert net.ping(count=3) == 3


@pytest.mark.parametrize("words", [
    ["-device", "pcie-root-port,id=rp0,chassis=1,slot=1"],
    ["-device", "pcie-root-port,id=x0,chassis=1,slot=1", "-device", "pcie-pci-bridge,id=rp0,bus=x0"],
])
def test_a_nic_behind_bridges_that_nobody_numbered_works(boot, net, words):
    guest = boot("iperf", net, machine="microvm,pcie=on", device="bus=rp0" + (",addr=5" if len(words) > 2 else ""), buses=words)
    guest.ready()

    check_echo(net, 8 * MIB)


@pytest.mark.parametrize("machine", ["microvm", "microvm,acpi=off", "microvm,acpi=off,pic=off,pit=off,rtc=off"])
def test_it_powers_off(boot, machine):
    guest = boot("hello", append="-- 6", machine=machine, debug_exit=False)

    assert guest.wait() == 0


@pytest.mark.parametrize("machine", ["microvm,pit=off", "microvm,acpi=off,pit=off,pic=off,rtc=off"])
def test_time_passes_as_fast_as_elsewhere_without_a_pit(boot, machine):
    guest = boot("test/sleep", append="-- 2", machine=machine)
    guest.wait_for("^asleep")

    assert guest.lines("TSC [0-9]+ MHz by LAPIC")
    assert 2 <= float(guest.wait_for(r"^slept ([0-9.]+) s$")[1]) < 2.5


def test_bad_words_for_a_device_end_the_image(boot):
    guest = boot("hello", machine="microvm", append="virtio_mmio.device=512@nowhere:5")

    assert guest.exit_status() == 2
    assert guest.lines("error options: virtio_mmio.device=512@nowhere:5: not of that form; allowed: SIZE@BASE:IRQ")


def test_a_place_without_a_device_is_named_and_left_alone(boot, net):
    guest = boot("iperf", net, machine="microvm", model=MMIO, append=f"{ADDRESS} virtio_mmio.device=4K@0xd0000000:5")
    guest.ready()

    assert guest.lines("error virtio: d0000000: no virtio device is there")
    assert net.ping(count=2) == 2
