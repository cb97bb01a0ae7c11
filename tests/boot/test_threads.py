"""Threads and signals: one program each, built for Linux and for an image, prints the same lines on both."""

import pathlib
import subprocess

import pytest

APPS = pathlib.Path(__file__).parent / "apps"


def lines(app, text):
    """In order of the alphabet: threads print in whatever order they come to it."""
    return sorted(line for line in text.replace("\r", "").split("\n") if line.startswith(f"{app}: "))


def native(app, folder):
    program = folder / app
    subprocess.run(["gcc", "-O1", "-o", program, *(APPS / app).glob("*.c"), "-lpthread"], check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True, timeout=30).stdout


@pytest.mark.parametrize("app, least", [("threads", 700), ("signals", 60)])
def test_a_program_sees_what_it_sees_on_linux(boot, tmp_path, app, least):
    expected = native(app, tmp_path)
    guest = boot(f"test/{app}")

    assert guest.exit_status(timeout=60) == 0
    assert lines(app, guest.console()) == lines(app, expected)
    assert len(lines(app, expected)) > least
