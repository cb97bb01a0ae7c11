"""The image that loaders will take, and what the build refuses."""

import shutil
import struct
import subprocess

import pytest

from conftest import BUILD, DEPS, ROOT, clean_env, run

HELLO = BUILD / "hello.elf"
CHECK = ("/usr/bin/python3", ROOT / "tools/check_image.py")


@pytest.fixture(scope="module")
def spare_tree(clean_build, tmp_path_factory):
    """A copy of the clean build, to be linked in other ways."""
    place = tmp_path_factory.mktemp("spare") / "tree"
    shutil.copytree(clean_build, place, symlinks=True)
    return place


def header_at(data):
    return next(i for i in range(0, 8192, 4) if data[i:i + 4] == struct.pack("<I", 0x1BADB002))


def boot(image, machine="pc", append="ip=off"):
    """QEMU's status (2n + 1 for the image's n) and the console."""
    done = subprocess.run(
        ["qemu-system-x86_64", "-accel", "tcg", "-M", machine, "-m", "64", "-display", "none", "-nic", "none",
         "-serial", "stdio", "-no-reboot", "-device", "isa-debug-exit,iobase=0xf4,iosize=4",
         "-kernel", str(image), "-append", append],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=30, check=False)
    return done.returncode, done.stdout.decode(errors="replace")


def image_plain(_spare_tree, _out):
    return HELLO


def image_with_symbols(_spare_tree, _out):
    return BUILD / "hello.debug"


def image_stripped(_spare_tree, out):
    subprocess.run(["strip", "-o", out, BUILD / "hello.debug"], check=True)
    return out


def image_without_debug(_spare_tree, out):
    subprocess.run(["objcopy", "--strip-debug", BUILD / "hello.debug", out], check=True)
    return out


def image_with_build_id(spare_tree, out):
    done = run("make", f"DEPS={DEPS}", "LDFLAGS_EXTRA=-Wl,--build-id=sha1", "-W", "linker.ld",
               "build/hello.elf", cwd=spare_tree, env=clean_env())
    assert done.returncode == 0, done.stdout
    shutil.copy(spare_tree / "build/hello.elf", out)
    assert b"\x03\0\0\0GNU\0" in out.read_bytes()  # the note is in the image
    return out


@pytest.mark.parametrize("machine", ["pc", "q35"])
@pytest.mark.parametrize("make_image", [image_plain, image_with_symbols, image_stripped, image_without_debug,
                                        image_with_build_id])
def test_every_form_of_the_image_boots(spare_tree, tmp_path, make_image, machine):
    image = make_image(spare_tree, tmp_path / "image")

    assert run(*CHECK, image).returncode == 0
    status, console = boot(image, machine)
    assert status == 1, console
    assert "exit: 0" in console


def test_a_command_line_of_four_thousand_characters_boots():
    status, console = boot(HELLO, append="ip=off x=" + "0" * 3999 + "1")

    assert status == 1, console


def test_the_header_is_aligned_and_early():
    assert header_at(HELLO.read_bytes()) % 4 == 0


def damaged(tmp_path, change):
    data = bytearray(HELLO.read_bytes())
    change(data, header_at(data))
    (tmp_path / "bad.elf").write_bytes(data)
    return run(*CHECK, tmp_path / "bad.elf")


def poke(offset, value):
    def change(data, header):
        struct.pack_into("<I", data, header + offset, value)
    return change


@pytest.mark.parametrize("change, says", [
    (poke(0, 0), "no multiboot header"),
    (poke(8, 0), "no multiboot header"),
    (poke(28, 0x1234), "entry_addr"),
    (poke(16, 0x300000), "load_addr"),
    (poke(20, 0x7FFFFFFF), "load_end_addr"),
    (poke(24, 0x100000), "bss_end_addr"),
    (poke(12, 0x200000), "load_addr"),
    (poke(32, 0), "no multiboot 2 header"),
    (poke(44, 0), "no multiboot 2 header"),
    (poke(52, 0), "no size"),
    (poke(60, 0x200000), "multiboot 2 addresses"),
    (poke(80, 0x1234), "multiboot 2 entry"),
    (lambda data, _: data.__setitem__(slice(data.index(b"Xen\0"), data.index(b"Xen\0") + 3), b"Zen"), "no PVH note"),
])
def test_a_header_that_disagrees_with_the_file_is_refused(tmp_path, change, says):
    done = damaged(tmp_path, change)

    assert done.returncode == 1
    assert says in done.stdout


def test_a_segment_both_writable_and_executable_is_refused(tmp_path):
    def change(data, _header):
        phoff, = struct.unpack_from("<Q", data, 32)
        struct.pack_into("<I", data, phoff + 4, 7)
    done = damaged(tmp_path, change)

    assert done.returncode == 1
    assert "written and executed" in done.stdout


def test_a_build_whose_header_is_misplaced_fails(spare_tree):
    script = spare_tree / "linker.ld"
    text = script.read_text()
    moved = text.replace("KEEP(*(.multiboot))", ". += 16384; KEEP(*(.multiboot))", 1)
    assert moved != text
    script.write_text(moved)
    try:
        done = run("make", f"DEPS={DEPS}", "build/hello.elf", cwd=spare_tree, env=clean_env())
    finally:
        script.write_text(text)

    assert done.returncode != 0
    assert "header" in done.stdout
