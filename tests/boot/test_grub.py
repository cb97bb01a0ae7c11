"""A2: started by GRUB from a BIOS disc, with a module and options, it does what it does with -kernel."""

import subprocess

import pytest

from clients import MIB, check_echo, iperf, mbits
from guest import BUILD, ROOT, image_path
from test_loaders import OVMF, grub_iso


@pytest.fixture(scope="module", params=[1, 2])
def protocol(request):
    return request.param


@pytest.fixture(scope="module")
def iso(tmp_path_factory, protocol):
    suffix = {1: "", 2: "2"}[protocol]
    folder = tmp_path_factory.mktemp("grub")
    (folder / "module.bin").write_bytes(bytes(range(256)) * (8 * MIB // 256))
    return grub_iso(folder, image_path("iperf"), f"multiboot{suffix} /boot/iperf.elf ip=10.99.0.2/24 hostname=grub\n"
                    f"module{suffix} /boot/module.bin what it is", [folder / "module.bin"])


@pytest.mark.parametrize("machine", ["pc", "q35"])
@pytest.mark.parametrize("mem", [64, 512, "4G"])
def test_a2_the_disc_boots_and_serves(boot, net, iso, machine, mem):
    guest = boot(iso, net, machine=machine, mem=mem)
    assert guest.ready(timeout=40).startswith("net0 10.99.0.2/24 ")

    assert net.ping(count=3) == 3
    assert min(mbits(iperf(net, "-t", "2"))) > 0
    check_echo(net, 16 * MIB)
    assert not guest.lines(r"\] (warn|error) ")


def test_a2_the_disc_boots_and_serves_under_uefi(boot, net, iso, protocol):
    guest = boot(iso, net, machine="q35", mem=128, qemu=["-bios", OVMF])
    guest.ready(timeout=60)

    assert guest.lines(f"info boot: Ringlet .*, multiboot {protocol}, ")
    assert net.ping(count=3) == 3
    check_echo(net, 16 * MIB)
    assert not guest.lines(r"\] (warn|error) ")


def test_the_disc_that_make_builds_boots(boot, wire):
    guest = boot("iperf.iso", wire)
    assert (BUILD / "iperf.iso").exists()

    assert guest.wait_for(r"\] info boot: Ringlet ", timeout=40)
    assert guest.wait_for(r"\] info vnet: net0: ")


def test_the_disc_that_make_builds_boots_under_uefi(boot, wire):
    guest = boot("iperf.iso", wire, machine="q35", mem=128, qemu=["-bios", OVMF])

    assert guest.wait_for(r"\] info vnet: net0: ", timeout=60)


def test_make_iso_takes_a_command_line(boot, tmp_path):
    out = tmp_path / "hello.iso"
    subprocess.run([ROOT / "tools/mkiso.sh", image_path("hello"), out, "log=info", "--", "17"], check=True,
                   stdout=subprocess.DEVNULL)

    assert boot(out).exit_status(timeout=40) == 17
