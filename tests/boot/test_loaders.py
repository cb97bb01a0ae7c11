"""One file boots by every way there is now, wherever the loader leaves its information, and memory it gave is respected."""

import random
import shutil
import subprocess
import time

import pytest

from guest import image_path

MIB = 1 << 20
OVMF = "/usr/share/ovmf/OVMF.fd"


def fnv1a(data):
    value = 0xCBF29CE484222325
    for byte in data:
        value = (value ^ byte) * 0x100000001B3 & (1 << 64) - 1
    return value


@pytest.fixture(scope="module")
def modules():
    """Two modules: name → content; one ends in the middle of a page."""
    dice = random.Random(1)
    return {"first.bin": dice.randbytes(8 * MIB), "second.bin": dice.randbytes(100001)}


@pytest.fixture(scope="module")
def module_lines(modules):
    return [f"module {i} {len(data)} {fnv1a(data):016x}" for i, data in enumerate(modules.values())]


@pytest.fixture
def module_files(modules, tmp_path):
    for name, data in modules.items():
        (tmp_path / name).write_bytes(data)
    return [tmp_path / name for name in modules]


def grub_iso(folder, image, config, files=()):
    """A rescue image that boots by `config` at once."""
    root = folder / "iso"
    (root / "boot" / "grub").mkdir(parents=True)
    for path in (image, *files):
        shutil.copy(path, root / "boot" / path.name)
    (root / "boot" / "grub" / "grub.cfg").write_text("set timeout=0\nmenuentry ringlet {\n" + config + "\n}\n")
    out = folder / "image.iso"
    subprocess.run(["grub-mkrescue", "-o", out, root], check=True, capture_output=True)
    return out


def pvh_only(folder, app):
    """The image without its multiboot 1 header, so that QEMU goes by the note."""
    data = image_path(app).read_bytes()
    header = (0x1BADB002).to_bytes(4, "little")
    assert data[:8192].count(header) == 1
    out = folder / (app.replace("/", "-") + "-pvh.elf")
    out.write_bytes(data.replace(header, bytes(4), 1))
    return out


def modules_are_unharmed(guest, module_lines):
    assert guest.exit_status(timeout=60) == 0
    shown = [" ".join(line.split()[:4]) for line in guest.lines(r"^module ")]
    assert shown == module_lines


@pytest.mark.parametrize("machine", ["pc", "q35"])
@pytest.mark.parametrize("mem", [32, 64, "3G"])
def test_modules_survive_when_all_memory_is_used(boot, module_files, module_lines, machine, mem):
    guest = boot("test/modules", machine=machine, mem=mem,
                 qemu=["-initrd", f"{module_files[0]} some words,{module_files[1]}"])

    modules_are_unharmed(guest, module_lines)
    assert guest.lines(r"^module 0 .* some words$")


@pytest.mark.parametrize("machine", ["pc", "q35"])
@pytest.mark.parametrize("mem", [64, 512, "4G"])
@pytest.mark.parametrize("protocol", [1, 2])
def test_grub_boots_it_with_modules_and_options(boot, tmp_path, module_files, module_lines, machine, mem, protocol):
    suffix = {1: "", 2: "2"}[protocol]
    iso = grub_iso(tmp_path, image_path("test/modules"),
                   f'multiboot{suffix} /boot/modules.elf ip=off -- one "two words"\n'
                   f"module{suffix} /boot/first.bin some words\nmodule{suffix} /boot/second.bin", module_files)
    guest = boot(iso, machine=machine, mem=mem)

    modules_are_unharmed(guest, module_lines)
    assert guest.lines("^argument") == ["argument 1: one", "argument 2: two words"]


@pytest.mark.parametrize("protocol", [1, 2])
@pytest.mark.parametrize("mem", [128, "4G"])
def test_grub_boots_it_under_uefi_too(boot, tmp_path, module_files, module_lines, mem, protocol):
    suffix = {1: "", 2: "2"}[protocol]
    iso = grub_iso(tmp_path, image_path("test/modules"),
                   f'multiboot{suffix} /boot/modules.elf ip=off -- one "two words"\n'
                   f"module{suffix} /boot/first.bin some words\nmodule{suffix} /boot/second.bin", module_files)
    guest = boot(iso, machine="q35", mem=mem, qemu=["-bios", OVMF])

    modules_are_unharmed(guest, module_lines)
    assert guest.lines(f"info boot: Ringlet .*, multiboot {protocol}, ")
    assert guest.lines("^argument") == ["argument 1: one", "argument 2: two words"]


def test_multiboot_2_tells_where_acpi_is_under_uefi(boot, tmp_path):
    iso = grub_iso(tmp_path, image_path("hello"), "multiboot2 /boot/hello.elf -- 5")
    guest = boot(iso, machine="q35", mem=128, qemu=["-bios", OVMF], debug_exit=False)

    assert guest.wait(timeout=40) == 0
    assert guest.lines("by ACPI timer$")


@pytest.mark.parametrize("machine", ["pc", "q35", "microvm", "microvm,acpi=off"])
def test_the_pvh_note_boots_it_with_a_module_and_options(boot, tmp_path, module_files, module_lines, machine):
    guest = boot(pvh_only(tmp_path, "test/modules"), machine=machine, append='ip=off -- one "two words"',
                 qemu=["-initrd", module_files[0]])

    modules_are_unharmed(guest, module_lines[:1])
    assert guest.lines("info boot: Ringlet .*, PVH, ")
    assert guest.lines("^argument 2") == ["argument 2: two words"]


@pytest.mark.parametrize("mem", [8, 64, "3G", "8G"])
def test_the_pvh_note_boots_it_with_little_and_much_memory(boot, tmp_path, mem):
    assert boot(pvh_only(tmp_path, "hello"), append="-- 4", mem=mem).exit_status() == 4


@pytest.mark.parametrize("machine", ["pc", "q35"])
def test_grub_boots_an_image_that_answers(boot, net, tmp_path, machine):
    iso = grub_iso(tmp_path, image_path("iperf"), "multiboot /boot/iperf.elf ip=10.99.0.2/24")
    guest = boot(iso, net, machine=machine)
    guest.ready()

    assert net.ping(count=3) == 3


@pytest.mark.parametrize("change", [["strip"], ["objcopy", "--strip-debug"]])
def test_a_stripped_image_boots(boot, tmp_path, change):
    changed = tmp_path / "changed.elf"
    shutil.copy(image_path("hello").with_suffix(".debug"), changed)
    subprocess.run([*change, changed], check=True)

    assert boot(changed, append="-- 9").exit_status() == 9


def test_a_long_command_line_reaches_the_program(boot):
    words = [f"word-{i:04}-" + "x" * 1000 for i in range(60)]
    guest = boot("hello", append="-- 5 " + " ".join(words))

    assert guest.exit_status() == 5
    assert guest.lines("^argument")[1:] == [f"argument {i + 2}: {word}" for i, word in enumerate(words)]


def test_a_command_line_over_64_kib_is_refused_with_a_clear_line(boot):
    guest = boot("hello", append="-- " + "x" * 66000)

    assert guest.exit_status() == 2
    assert guest.lines("error boot: the command line.* longer than 65535 bytes")


@pytest.mark.parametrize("cpu", ["qemu64,-nx", "max", "max,-pdpe1gb,-rdrand,-rdseed"])
def test_processors_with_more_or_less_features_run_it(boot, cpu):
    guest = boot("test/libc", qemu=["-cpu", cpu])

    assert guest.exit_status(timeout=60) == 0


@pytest.mark.parametrize("machine", ["microvm", "microvm,pit=off", "microvm,pic=off,pit=off,rtc=off"])
def test_microvm_runs_it_with_whatever_clocks_it_has(boot, machine):
    guest = boot("hello", append="-- 6", machine=machine)

    assert guest.exit_status() == 6


def test_microvm_powers_off(boot):
    guest = boot("hello", append="-- 6", machine="microvm", debug_exit=False)

    assert guest.wait() == 0


def test_a_module_larger_than_memory_is_refused_with_a_clear_line(boot, tmp_path):
    """QEMU puts it behind the end of memory without a word; the first read of it would have crashed."""
    module = tmp_path / "big"
    with open(module, "wb") as file:
        file.truncate(100 << 20)
    guest = boot("test/cat", mem=64, qemu=["-initrd", module], append="-- /modules/big")

    assert guest.exit_status() != 0
    assert "a module is larger than the machine's memory" in guest.console()


@pytest.mark.parametrize("mem", [2, 3, 8, "8G"])
def test_little_and_much_memory_will_do(boot, mem):
    assert boot("hello", append="-- 4", mem=mem).exit_status() == 4


def test_an_image_without_network_halts_while_it_sleeps(boot):
    guest = boot("test/sleep", append="-- 4")
    guest.wait_for("^asleep")
    time.sleep(1)
    before = guest.cpu_seconds()
    time.sleep(2)
    used = guest.cpu_seconds() - before

    assert used < 0.1
    slept = float(guest.wait_for(r"^slept ([0-9.]+) s$")[1])
    assert 4 <= slept < 4.5
    assert guest.exit_status() == 0
