"""Shared by the tests of the build: where the tree is, and a way to run its tools."""

import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / os.environ.get("RINGLET_BUILD", "build")  # where `make test` put the images
DEPS = ROOT / os.environ.get("RINGLET_DEPS", "build")  # and the sources and newlib


def run(*command, cwd=ROOT, env=None, timeout=120):
    """The finished process; its output as text, errors merged in."""
    return subprocess.run([str(word) for word in command], cwd=cwd, env=env, timeout=timeout, check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def clean_env(**more):
    """This process's environment without what an outer make handed down."""
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES")}
    return {**env, **more}


def copy_tree(target):
    """The tree as a clone would hold it: what git knows or would add, and nothing made."""
    names = run("git", "-c", "safe.directory=*", "ls-files", "-co", "--exclude-standard", "-z").stdout.split("\0")
    for name in filter(None, names):
        if (ROOT / name).is_file():
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, target / name)


def build_alone(place):
    """hello and iperf, built in `place` with no network, from the sources fetched for this tree."""
    # Root may be in a chroot, where user namespaces are refused, and needs none.
    alone = ["unshare", "-n"] if os.getuid() == 0 else ["unshare", "-rn"]
    done = run(*alone, "make", f"DEPS={DEPS}", "build/hello.elf", "build/iperf.elf",
               cwd=place, env=clean_env(), timeout=600)
    assert done.returncode == 0, done.stdout


@pytest.fixture(scope="session")
def clean_build(tmp_path_factory):
    """A copy of the tree, built by build_alone()."""
    place = tmp_path_factory.mktemp("elsewhere") / "ringlet"
    copy_tree(place)
    build_alone(place)
    return place
