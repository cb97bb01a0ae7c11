"""Files: one program, built for Linux and for an image, prints the same lines about the same archive."""

import io
import os
import pathlib
import subprocess
import tarfile

import pytest

SOURCES = sorted((pathlib.Path(__file__).parent / "apps/files").glob("*.c"))
MTIME = 1_700_000_000


def make_site(top):
    """A folder with one of everything that an archive can hold and a program can ask for."""
    site = top / "site"
    (site / "deep/er/and/deeper").mkdir(parents=True)
    (site / "plain.txt").write_text("plain text\nsecond line\n")
    (site / "deep/er/and/deeper/file.txt").write_text("far down\n")
    (site / "deep" / ("long" * 40)).write_text("a long name\n")
    (site / "link.txt").symlink_to("plain.txt")
    (site / "dirlink").symlink_to("deep/")
    (site / "dangling").symlink_to("nowhere")
    (site / "loop").symlink_to("loop")
    (site / "a name with blanks, and an ü").write_text("found\n")
    (site / "big.bin").write_bytes(bytes(i * i % 251 for i in range(250_000)))
    (site / "script.sh").write_text("#!/bin/sh\n")
    (site / "script.sh").chmod(0o755)
    os.link(site / "plain.txt", site / "hard.txt")
    for path in site.rglob("*"):
        if not path.is_symlink():
            os.utime(path, (MTIME, MTIME))
    return site


def lines(text):
    return [line for line in text.replace("\r", "").split("\n") if line.startswith("files: ")]


@pytest.mark.parametrize("form", ["ustar", "gnu", "pax"])
def test_a_program_sees_what_it_sees_on_linux(boot, tmp_path, form):
    site, scratch, native = make_site(tmp_path), tmp_path / "scratch", tmp_path / "files"
    scratch.mkdir()
    if form == "ustar":  # holds no such name
        (site / "deep" / ("long" * 40)).rename(site / "deep" / "short")
    subprocess.run(["gcc", "-O1", "-o", native, *SOURCES, "-D_GNU_SOURCE", "-pthread"], check=True)
    expected = subprocess.run([native, site, scratch], check=True, capture_output=True, timeout=30).stdout.decode()
    archive = tmp_path / "site.tar"
    subprocess.run(["tar", f"--format={form}", "-C", tmp_path, "-cf", archive, "site"], check=True)

    guest = boot("test/files", qemu=["-initrd", archive], append="-- /site /tmp")

    assert guest.exit_status(timeout=40) == 0
    assert lines(guest.console()) == lines(expected)
    assert len(lines(expected)) > 300


def tar_of(path, name, data):
    with tarfile.open(path, "w") as archive:
        info = tarfile.TarInfo(name)
        info.size = len(data)
        archive.addfile(info, io.BytesIO(data))


def test_a_later_module_wins_and_what_is_no_archive_is_a_file(boot, tmp_path):
    tar_of(tmp_path / "1.tar", "site/plain.txt", b"first\n")
    tar_of(tmp_path / "2.tar", "site/plain.txt", b"second\n")
    (tmp_path / "raw.bin").write_bytes(b"no archive\n")
    modules = ",".join(str(tmp_path / name) for name in ("1.tar", "2.tar", "raw.bin"))

    guest = boot("test/cat", qemu=["-initrd", modules], append="-- /site/plain.txt /modules/raw.bin")

    assert guest.exit_status() == 0
    assert guest.console().splitlines()[-3:-1] == ["second", "no archive"]


@pytest.mark.parametrize("damage", ["cut", "checksum", "dots", "huge size"])
def test_a_bad_archive_is_told_and_the_rest_is_served(boot, tmp_path, damage):
    archive = tmp_path / "site.tar"
    with tarfile.open(archive, "w") as tar:
        for name in ("site/plain.txt", "site/../../escape.txt" if damage == "dots" else "site/second.txt"):
            info = tarfile.TarInfo(name)
            info.size = 5
            tar.addfile(info, io.BytesIO(b"good\n"))
    data = bytearray(archive.read_bytes())
    if damage == "cut":
        data = data[:1024 + 512]
    elif damage == "checksum":
        data[1024 + 148] ^= 1
    elif damage == "huge size":
        data[1024 + 124:1024 + 136] = b"77777777777\0"
        data[1024 + 148:1024 + 156] = b" " * 8
        data[1024 + 148:1024 + 156] = b"%06o\0 " % sum(data[1024:1536])
    archive.write_bytes(data)

    guest = boot("test/cat", qemu=["-initrd", archive], append="-- /site/plain.txt")

    assert guest.exit_status() == 0
    assert guest.console().splitlines()[-2] == "good"
    assert len(guest.lines(r"vfs: .*(damaged or cut short|left out)")) == 1


def test_a_big_archive_is_read_in_place(boot, tmp_path):
    """100 MiB in 160: it would not fit twice."""
    tar_of(tmp_path / "site.tar", "site/plain.txt", b"x" * (100 << 20))

    guest = boot("test/cat", mem=160, qemu=["-initrd", tmp_path / "site.tar"], append="-- -c /site/plain.txt")

    assert guest.exit_status(timeout=60) == 0
    assert guest.console().splitlines()[-2] == str(100 << 20)


def sized(folder, name, size):
    path = folder / name
    with open(path, "wb") as f:
        for at in range(0, size, 1 << 20):
            f.write(name[:1].encode() * min(1 << 20, size - at))
    return path


def test_many_modules_of_all_sizes_are_files(boot, tmp_path):
    """Their bytes are ours for good: nothing of them is given out as free memory."""
    sizes = {"big": 100 << 20, "eight": 8 << 20, "odd": 12345, "one": 1, "empty": 0}
    paths = [sized(tmp_path, name, size) for name, size in sizes.items()]
    tar_of(tmp_path / "site.tar", "site/plain.txt", b"in the archive\n")

    guest = boot("test/cat", mem=256, qemu=["-initrd", ",".join(map(str, [*paths, tmp_path / "site.tar"]))],
                 append="-- -c " + " ".join(f"/modules/{name}" for name in sizes) + " /site/plain.txt")

    assert guest.exit_status(timeout=60) == 0
    assert guest.console().splitlines()[-7:-1] == [*map(str, sizes.values()), "15"]
