"""A1: whatever a user's tools did to the image, QEMU's loader takes it."""

import shutil
import struct
import subprocess

import pytest

from guest import ADDRESS, image_path

MAGIC = 0x1BADB002


def changed(folder, name, *command):
    """The image with symbols, treated by a tool."""
    path = folder / f"{name}.elf"
    shutil.copy(image_path(name).with_suffix(".debug"), path)
    if command:
        subprocess.run([*command, path], check=True)
    return path


@pytest.mark.parametrize("name", ["iperf", "hello", "echo"])
def test_a1_the_multiboot_header_is_where_loaders_look(name):
    data = image_path(name).read_bytes()[:8192]

    found = [at for at in range(0, 8192 - 8, 4) if struct.unpack_from("<I", data, at)[0] == MAGIC]

    assert len(found) == 1
    magic, flags, checksum = struct.unpack_from("<III", data, found[0])
    assert (magic + flags + checksum) & 0xFFFFFFFF == 0
    assert flags & 1 << 16, "an ELF64 needs the address fields"


@pytest.mark.parametrize("machine", ["pc", "q35"])
@pytest.mark.parametrize("command", [[], ["strip"], ["objcopy", "--strip-debug"], ["strip", "--strip-unneeded"]],
                         ids=["with symbols", "strip", "strip-debug", "strip-unneeded"])
def test_a1_it_boots_after_strip_and_objcopy(boot, net, tmp_path, machine, command):
    guest = boot(changed(tmp_path, "iperf", *command), net, machine=machine, mem=128)
    guest.ready()

    assert net.ping(count=2) == 2


def test_a1_a_note_put_in_front_does_not_move_the_header(boot, tmp_path):
    image = changed(tmp_path, "hello")
    (tmp_path / "note").write_bytes(struct.pack("<III4s20s", 4, 20, 3, b"GNU\0", bytes(range(20))))
    subprocess.run(["objcopy", "--add-section", f".note.gnu.build-id={tmp_path}/note", "--set-section-flags",
                    ".note.gnu.build-id=alloc,readonly", image], check=True, stderr=subprocess.DEVNULL)

    assert boot(image, append="-- 5").exit_status() == 5


@pytest.mark.parametrize("machine", ["pc", "q35"])
def test_a1_an_option_of_4000_characters_is_survived(boot, net, machine):
    guest = boot("iperf", net, machine=machine, append=f"{ADDRESS} x={'1' * 4000}")
    guest.ready()

    assert net.ping(count=2) == 2
    assert len(guest.lines(r"\] warn .*\bx\b")) == 1
