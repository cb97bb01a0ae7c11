"""One program per area, built for Linux and for an image, prints the same lines on both."""

import pathlib
import subprocess

import pytest

APPS = pathlib.Path(__file__).parent / "apps"
ROOT = APPS.parent.parent.parent
PROGRAMS = sorted(path.name for path in APPS.glob("conform_*"))


def lines(text):
    return [line for line in text.replace("\r", "").split("\n") if line.startswith("= ")]


@pytest.mark.parametrize("program", PROGRAMS)
def test_a_program_sees_what_it_sees_on_linux(program, boot, tmp_path):
    native = tmp_path / program
    sources = sorted(APPS.joinpath(program).glob("*.c"))
    subprocess.run(["gcc", "-std=gnu11", "-O1", "-I", ROOT, "-o", native, *sources, "-lpthread"], check=True)
    expected = subprocess.run([native], check=True, capture_output=True, text=True, timeout=30, cwd=tmp_path).stdout
    guest = boot(f"test/{program}")

    assert guest.exit_status(timeout=60) == 0
    assert lines(guest.console()) == lines(expected)
    assert len(lines(expected)) > 10
