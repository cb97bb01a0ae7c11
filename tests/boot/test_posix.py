"""Sockets and threads: one program, built for Linux and for an image, prints the same lines on both."""

import pathlib
import subprocess

SOURCE = pathlib.Path(__file__).parent / "apps/posix/main.c"


def lines(text):
    return [line for line in text.replace("\r", "").split("\n") if line.startswith("posix: ")]


def test_a_program_sees_what_it_sees_on_linux(boot, tmp_path):
    native = tmp_path / "posix"
    subprocess.run(["gcc", "-O1", "-o", native, SOURCE, "-lpthread"], check=True)
    expected = subprocess.run([native], check=True, capture_output=True, text=True, timeout=30).stdout
    guest = boot("test/posix")

    assert guest.exit_status(timeout=40) == 0
    assert lines(guest.console()) == lines(expected)
    assert len(lines(expected)) > 60
